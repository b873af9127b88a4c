"""How fast the mounted fake is, beside a file system in C that does nothing. The command ``scripts/bench``."""
