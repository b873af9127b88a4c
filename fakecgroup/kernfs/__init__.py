"""Inodes as kernfs keeps them: attributes, extended attributes, the order of names."""
