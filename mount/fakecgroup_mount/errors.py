"""What goes wrong with a mount.

MountError(Exception)    one line for the user: what, where, why, and what to do about it
"""


class MountError(Exception):
    """The text is the whole message; it needs no traceback."""
