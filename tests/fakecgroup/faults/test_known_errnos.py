"""What kernels have answered is found by operation and file."""

from __future__ import annotations

from fakecgroup import Kernel
from fakecgroup.faults.known_errnos import answered_by


def test_an_errno_is_known_for_the_file_that_gave_it() -> None:
    known = answered_by(Kernel("v2", "6.12"))
    assert "ESRCH" in known["write"]["cgroup.procs"]
    assert "ESRCH" not in known["write"]["pids.max"]
    assert "EINVAL" in known["write"]["pids.max"]


def test_what_only_the_descriptor_refuses_is_no_answer_of_a_file() -> None:
    known = answered_by(Kernel("v1", "6.1"))
    assert not any({"EBADF", "ESPIPE"} & errnos for files in known.values() for errnos in files.values())


def test_hybrid_knows_what_both_sides_answer() -> None:
    known = answered_by(Kernel("hybrid", "6.1"))["write"]
    assert "ESRCH" in known["cgroup.procs"]
    assert "EINVAL" in known["memory.limit_in_bytes"]
