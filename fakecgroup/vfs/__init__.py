"""System calls: the checks of the VFS, and open files."""
