"""Flags of clone(2) and clone3(2), as Linux 6.18 answered root in a cgroup whose pids.max was reached.

There it refused what `exclude_each_other` with EINVAL, and all else with EAGAIN.
"""

from __future__ import annotations

from errno import EAGAIN, EINVAL

import pytest

from fakecgroup.outside.clone_flags import exclude_each_other

FLAGS = {
    "VM": 0x100,
    "FS": 0x200,
    "FILES": 0x400,
    "SIGHAND": 0x800,
    "PIDFD": 0x1000,
    "PARENT": 0x8000,
    "THREAD": 0x10000,
    "NEWNS": 0x20000,
    "SYSVSEM": 0x40000,
    "DETACHED": 0x400000,
    "NEWCGROUP": 0x2000000,
    "NEWUTS": 0x4000000,
    "NEWIPC": 0x8000000,
    "NEWUSER": 0x10000000,
    "NEWPID": 0x20000000,
}
ANSWERS = {
    "": EAGAIN,
    "FS NEWNS": EINVAL,
    "FS NEWUSER": EINVAL,
    "NEWNS": EAGAIN,
    "NEWUSER": EAGAIN,
    "THREAD": EINVAL,
    "THREAD VM": EINVAL,
    "SIGHAND": EINVAL,
    "THREAD SIGHAND": EINVAL,
    "VM SIGHAND": EAGAIN,
    "VM SIGHAND THREAD": EAGAIN,
    "VM SIGHAND THREAD NEWUSER": EINVAL,
    "VM SIGHAND THREAD NEWPID": EINVAL,
    "VM SIGHAND THREAD NEWNS": EAGAIN,
    "VM FS FILES SIGHAND THREAD SYSVSEM": EAGAIN,
    "NEWPID": EAGAIN,
    "NEWCGROUP": EAGAIN,
    "SYSVSEM NEWIPC": EINVAL,
    "NEWIPC": EAGAIN,
    "NEWUTS": EAGAIN,
    "PIDFD DETACHED": EINVAL,
    "DETACHED": EAGAIN,  # by clone(2); clone3(2) does not know the flag
    "FS FILES": EAGAIN,
    "PARENT": EAGAIN,
    "VM": EAGAIN,
    "VM PARENT": EAGAIN,
    "FS NEWCGROUP": EAGAIN,
    "FS NEWPID": EAGAIN,
    "NEWUSER PARENT": EAGAIN,
    "NEWPID PARENT": EAGAIN,
    "VM NEWUSER": EAGAIN,
    "VM NEWPID": EAGAIN,
}


@pytest.mark.parametrize("names", ANSWERS)
def test_flags_that_exclude_each_other_are_refused_before_the_fork_is_counted(names: str) -> None:
    flags = sum(FLAGS[name] for name in names.split())
    assert exclude_each_other(flags) is (ANSWERS[names] == EINVAL)
