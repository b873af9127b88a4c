"""The tree as a FUSE file system: mounts, the daemon that answers, and unmounts.

A request comes from /dev/fuse (`native`, one method per opcode in `requests`) or from libfuse (`fusepy`), is done by
the model (`Kernel.vfs`), and its result or errno goes back. `serve` runs a mount from beginning to end.
"""
