"""What the processes of `run` say to each other; `sandbox.enter` has the order."""

from __future__ import annotations

from struct import Struct

MOUNTED = Struct("=16s")  # the message with /dev/fuse and a root directory: the device ("0:42")
OUTER = Struct("=I")  # the message with the outer namespaces: our pid
LISTENER = b"l"  # the message with the listener and our namespaces
KILLED = b"k"  # the server's last word to the front: nobody is left in the sandbox
