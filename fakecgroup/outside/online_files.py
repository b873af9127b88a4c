"""The file `online` of a CPU in sysfs: who may write it, and what it takes (drivers/base/core.c, online_store)."""

from __future__ import annotations

from errno import EACCES, ENOENT

from ..credentials.caller import Caller
from ..credentials.capability import Capability
from ..machine.online_cpus import OnlineCpus
from ..machine.personality import Personality
from ..parse import kstrtobool
from ..refuse import refuse


def check_writer(cpu: int, cpus: OnlineCpus, caller: Caller) -> None:
    """Raises ENOENT for a CPU that is not there and for the first one, which has no such file; EACCES unless the caller
    is root or may write any file.
    """
    if cpu < 1 or not cpus.possible >> cpu & 1:
        raise refuse(ENOENT)
    if caller.uid and not caller.privileges().over_machine(Capability.DAC_OVERRIDE):
        raise refuse(EACCES)


def parse(text: str, kernel: Personality, *, now: bool) -> bool:
    """Whether a CPU is to be online, which is so `now`: an empty write does nothing. Raises EINVAL."""
    return kstrtobool(text, true_and_false=kernel.at_least(6, 1)) if text else now
