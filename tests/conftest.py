"""What a test needs of the machine: fixtures that skip it where that is missing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator

import pytest

from cgroup_engine.change.record import VARIABLE


def pytest_configure() -> None:
    """What tests start can be interrupted, also if the run itself was started in the background of a script."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _state_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing that the engine does in a test is recorded among this machine's records."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(VARIABLE, str(tmp_path_factory.mktemp("records")))
        yield


@pytest.fixture(scope="session")
def fuse() -> None:
    """FUSE file systems can be mounted."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        pytest.skip(f"cannot mount: /dev/fuse: {error.strerror}")
    if os.geteuid() != 0:
        if not shutil.which("fusermount3"):
            pytest.skip("cannot mount: not root, and no fusermount3")
    elif subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("cannot mount: no CAP_SYS_ADMIN")


@pytest.fixture(scope="session")
def root() -> None:
    """The tests run as root."""
    if os.geteuid() != 0:
        pytest.skip("takes root, to act as several users")
