"""A root as it is: its layout, its files, the knobs that a value is written to, what was found."""
