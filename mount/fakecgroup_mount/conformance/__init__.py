"""Conformance on a mount or on this machine.

`command` runs each operation of the recorded cases on a target, and prints where its answers differ from the kernel's.
`options` and `question` say which cases and whose answers, `open_target` makes the target ready (`target_mount`,
`target_host`; the model's is in `fakecgroup`), `target_vm` has a kernel booted.
"""
