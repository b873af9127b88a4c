"""Faults: rules that have operations fail, wait, or meet a change that comes between two calls.

`rule` reads a rule such as ``write */memory.max = 1*error(EBUSY)->off``, `terms` its right side. `vetting` refuses what
the kernel cannot do and tells of a rule that can never match: `known_errnos` has what kernels have answered, and
`source_errnos` what only their source shows. `faults` holds the rules of one tree and decides which of them fire;
`faulty_vfs` lets them act on the system calls, `late_files` on names that appear late.
"""

from .errors import FaultError
from .faults import Faults, Firing

__all__ = ["FaultError", "Faults", "Firing"]
