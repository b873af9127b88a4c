"""The requests of ptrace(2) that begin to trace (linux/ptrace.h)."""

TRACEME, ATTACH, SEIZE = 0, 16, 0x4206
