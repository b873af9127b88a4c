"""The answers to the system calls that `fakecgroup run` traps."""
