"""What goes wrong with a virtual machine."""

from __future__ import annotations

from fakecgroup_mount.errors import MountError


class MachineError(MountError):
    """A machine, or what it takes to boot one, is missing or did not work; the text is one line for the user."""
