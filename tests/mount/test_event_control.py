"""v1's cgroup.event_control through a mount: the descriptors are those of the program that writes."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import Mount


@pytest.fixture(scope="session")
def tree(transport: str, mount_in_session: Mount) -> Path:
    return mount_in_session(transport=transport, layout="v1", kernel="6.1")


@pytest.fixture
def memory_group(tree: Path) -> Iterator[Path]:
    directory = tree / "memory" / f"test-{uuid.uuid4().hex[:12]}"
    directory.mkdir()
    yield directory
    if directory.exists():
        directory.rmdir()


@pytest.fixture
def event() -> Iterator[int]:
    fd = os.eventfd(0, os.EFD_NONBLOCK)
    yield fd
    os.close(fd)


def register(group: Path, event: int, control: int, arguments: str = "") -> None:
    (group / "cgroup.event_control").write_text(f"{event} {control}{arguments}")


def test_an_eventfd_hears_of_the_removal(memory_group: Path, event: int) -> None:
    with (memory_group / "memory.oom_control").open() as control:
        register(memory_group, event, control.fileno())
    memory_group.rmdir()
    assert os.eventfd_read(event) == 1


def test_it_hears_nothing_before(memory_group: Path, event: int) -> None:
    with (memory_group / "memory.usage_in_bytes").open() as control:
        register(memory_group, event, control.fileno(), " 1M")
    with pytest.raises(BlockingIOError):
        os.eventfd_read(event)


def test_a_closed_descriptor_is_refused(memory_group: Path, event: int) -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        register(memory_group, event, 1_000_000)


def test_what_is_no_eventfd_is_refused(memory_group: Path) -> None:
    with (
        (memory_group / "memory.oom_control").open() as control,
        Path(os.devnull).open() as null,
        pytest.raises(OSError, match="Invalid argument"),
    ):
        register(memory_group, null.fileno(), control.fileno())


def test_a_file_of_another_cgroup_is_refused(memory_group: Path, event: int) -> None:
    other = memory_group / "other"
    other.mkdir()
    with (other / "memory.oom_control").open() as control, pytest.raises(OSError, match="Invalid argument"):
        register(memory_group, event, control.fileno())
    other.rmdir()


def test_a_file_of_another_file_system_is_refused(memory_group: Path, event: int, tmp_path: Path) -> None:
    (tmp_path / "memory.oom_control").touch()
    with (tmp_path / "memory.oom_control").open() as control, pytest.raises(OSError, match="Invalid argument"):
        register(memory_group, event, control.fileno())


def test_a_file_of_the_same_number_in_another_mount_is_refused(memory_group: Path, event: int, mount: Mount) -> None:
    twin = mount(layout="v1", kernel="6.1") / "memory" / "a"
    twin.mkdir()
    with (twin / "memory.oom_control").open() as control, pytest.raises(OSError, match="Invalid argument"):
        register(memory_group, event, control.fileno())
