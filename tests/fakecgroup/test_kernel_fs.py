"""The kernel's files as other programs take them."""

from __future__ import annotations

from errno import EBUSY, ENOENT

import pytest

from cgroup_engine.tree.fs import CgroupFs
from fakecgroup import Kernel, KernelFs


@pytest.fixture
def fs() -> CgroupFs:
    """mypy checks that it has the engine's calls."""
    return KernelFs(Kernel(layout="v1"))


def test_it_has_every_call_that_the_engine_makes() -> None:
    calls = {name for name in vars(CgroupFs) if not name.startswith("_")}
    assert {"mkdir", "write_and_read", "subdirectories"} <= calls <= set(vars(KernelFs))


def test_cgroups_are_made_listed_and_removed(fs: CgroupFs) -> None:
    fs.mkdir("memory/app")
    assert (fs.subdirectories("memory"), fs.is_dir("memory/app"), fs.is_dir("memory/tasks")) == (["app"], True, False)
    fs.rmdir("memory/app")
    assert (fs.subdirectories("memory"), fs.is_dir("memory/app")) == ([], False)


def test_links_and_hierarchies_are_directories_of_the_root(fs: CgroupFs) -> None:
    assert {"cpu,cpuacct", "memory"} <= set(fs.subdirectories(""))


def test_values_are_written_and_read_back(fs: CgroupFs) -> None:
    fs.mkdir("cpu,cpuacct/app")
    assert fs.write_and_read("cpu,cpuacct/app/cpu.shares", "1") == fs.read("cpu,cpuacct/app/cpu.shares") == "2\n"


def test_the_kernels_errno_is_raised(fs: CgroupFs) -> None:
    with pytest.raises(OSError) as missing:
        fs.read("memory/none/tasks")
    assert missing.value.errno == ENOENT
    fs.mkdir("memory/app")
    fs.mkdir("memory/app/inner")
    with pytest.raises(OSError) as busy:
        fs.rmdir("memory/app")
    assert busy.value.errno == EBUSY
