"""Conformance on a mount or on this machine.

`command` reads the options and the recorded cases, runs each operation on a target (`target_mount`, `target_host`; the
model's is in `fakecgroup`), and prints where its answers differ from the kernel's.
"""
