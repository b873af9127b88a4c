"""The errors of mounts and sandboxes.

MountError(Exception)    one line for the user: what failed, where, why, and what to do about it
"""


class MountError(Exception):
    """The text is the whole message for the user. It is shown without a traceback."""
