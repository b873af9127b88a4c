"""System calls that programs do without, as on kernels that do not have them."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

from .conftest import Sandboxed, said

PROBE = f"'{sys.executable}' '{Path(__file__).with_name('syscall_probe.py')}'"


def test_io_uring_is_not_there(sandboxed: Sandboxed) -> None:
    assert said(sandboxed(f"{PROBE} uring")) == f"-{errno.ENOSYS}\n"
