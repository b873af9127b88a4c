"""The options that the unified hierarchy is mounted with, and nsdelegate in effect."""

from __future__ import annotations

import os
from errno import ENOENT, EPERM

import pytest

from fakecgroup import Caller, Kernel
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.machine import mount_options

# /sys/kernel/cgroup/features of booted kernels.
FEATURES = {
    "5.10": ["nsdelegate", "memory_localevents", "memory_recursiveprot"],
    "6.1": ["nsdelegate", "favordynmods", "memory_localevents", "memory_recursiveprot"],
    "6.12": [*mount_options.SINCE],
    "7.2": [*mount_options.SINCE],
}
# /sys/kernel/cgroup/delegate, as far as it names files.
DELEGATABLE = {"cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "memory.oom.group", "memory.reclaim"}


@pytest.mark.parametrize("kernel", FEATURES)
def test_a_kernel_has_the_options_that_it_lists(kernel: str) -> None:
    assert list(mount_options.of_kernel(Kernel(kernel=kernel).personality)) == FEATURES[kernel]


@pytest.mark.parametrize("kernel", FEATURES)
def test_a_kernel_delegates_the_files_that_it_lists(kernel: str) -> None:
    model = Kernel(kernel=kernel)
    rows = [entry.row for hierarchy in model.hierarchies for entry in hierarchy.child_table.values()]
    absent = {"memory.reclaim"} if kernel == "5.10" else set()
    assert {row.name for row in rows if row.delegatable} == DELEGATABLE - absent


def test_the_default_is_as_systemd_mounts_it() -> None:
    assert Kernel().mount_options == ("nsdelegate", "memory_recursiveprot")


def test_options_are_in_the_kernels_order() -> None:
    assert Kernel(mount_options="memory_localevents,nsdelegate").mount_options == ("nsdelegate", "memory_localevents")


@pytest.mark.parametrize(
    ("kernel", "options", "said"),
    [
        ("6.12", "nonsense", "mount_options: a unified hierarchy has no mount option 'nonsense'"),
        ("6.1", "pids_localevents", "mount_options: kernel 6.1 has no 'pids_localevents'"),
        ("5.10", ["favordynmods"], "mount_options: kernel 5.10 has no 'favordynmods'"),
    ],
)
def test_an_option_that_the_kernel_has_not_is_refused(kernel: str, options: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Kernel(kernel=kernel, mount_options=options)  # type: ignore[arg-type]


def _in_a_namespace_of_a(kernel: Kernel) -> Caller:
    kernel.mkdir("a")
    root = kernel.walk("a")
    assert isinstance(root, Cgroup)
    pid = kernel.processes.add()  # type: ignore[attr-defined]
    kernel.write("a/cgroup.procs", str(pid))
    return Caller(pid=pid, cgroup_root=lambda: root)


def test_the_root_of_ones_own_namespace_refuses_what_is_not_delegated() -> None:
    kernel = Kernel()
    caller = _in_a_namespace_of_a(kernel)
    with pytest.raises(OSError, match=os.strerror(EPERM)):
        kernel.write("a/cgroup.max.depth", "1", caller)


def test_nobody_moves_out_of_his_namespace() -> None:
    kernel = Kernel()
    caller = _in_a_namespace_of_a(kernel)
    with pytest.raises(OSError, match=os.strerror(ENOENT)):
        kernel.write("cgroup.procs", "0", caller)


def test_without_nsdelegate_a_namespace_is_no_boundary() -> None:
    kernel = Kernel(mount_options="")
    caller = _in_a_namespace_of_a(kernel)
    kernel.write("a/cgroup.max.depth", "1", caller)
    kernel.write("cgroup.procs", "0", caller)
    assert kernel.read("a/cgroup.max.depth") == "1\n"
