"""Who may do what is a question of capabilities: how a `Caller` names them, and when they are asked for."""

from __future__ import annotations

import os
from errno import EACCES, EPERM
from typing import Any, NoReturn

import pytest

from fakecgroup import Caller, Capability, Kernel, Privileges


@pytest.fixture
def v1() -> Kernel:
    return Kernel(layout="v1")


@pytest.fixture
def v2() -> Kernel:
    kernel = Kernel()
    kernel.mkdir("/a")
    return kernel


def refused(errno: int) -> pytest.RaisesExc[OSError]:
    return pytest.raises(OSError, check=lambda error: error.errno == errno)


def not_to_be_asked() -> NoReturn:
    raise AssertionError("the capabilities were asked for")


def test_root_has_all_capabilities_by_default(v1: Kernel) -> None:
    v1.write("pids/release_agent", "/agent", Caller())


def test_root_without_capabilities_sets_no_release_agent(v1: Kernel) -> None:
    with refused(EPERM):
        v1.write("pids/release_agent", "/agent", Caller(capabilities=Capability(0)))


def test_a_user_with_a_capability_does_what_it_is_for(v2: Kernel) -> None:
    v2.mkdir("/b", caller=Caller(1000, 1000, capabilities=Capability.DAC_OVERRIDE))
    with refused(EACCES):
        v2.mkdir("/c", caller=Caller(1000, 1000, capabilities=Capability.SYS_ADMIN))


def test_a_capability_of_another_user_namespace_is_none_of_the_machine(v1: Kernel) -> None:
    everything = Privileges(~Capability(0), ~Capability(0), namespace="another", uids=(0,), gids=(0,))
    with refused(EPERM):
        v1.write("pids/release_agent", "/agent", Caller(capabilities=lambda: everything))


def test_a_capability_of_another_user_namespace_counts_for_what_is_of_its_ids(v2: Kernel) -> None:
    everything = Privileges(~Capability(0), ~Capability(0), namespace="another", uids=(1000,), gids=(1000,))
    caller = Caller(1000, 1000, capabilities=lambda: everything)
    with refused(EACCES):
        v2.mkdir("/a/b", caller=caller)
    v2.chown("/a", 1000, 1000)
    v2.chmod("/a", 0)
    v2.mkdir("/a/b", caller=caller)


def test_capabilities_are_not_asked_for_where_the_mode_allows(v2: Kernel) -> None:
    for uid in (0, 1000):
        caller = Caller(uid, uid, capabilities=not_to_be_asked)
        v2.listdir("/a", caller)
        v2.stat("/a/cgroup.procs", caller)
        v2.read("/a/cgroup.procs", caller)
    v2.write("/a/cgroup.max.depth", "3", Caller(capabilities=not_to_be_asked))


def test_what_whoever_opened_a_file_was_privileged_to_counts_for_good(v1: Kernel) -> None:
    held = [Privileges(Capability.SYS_ADMIN)]
    file = v1.open("pids/release_agent", os.O_WRONLY, Caller(capabilities=lambda: held[0]))
    held[0] = Privileges()
    file.write(b"/agent", Caller(1000, 1000))
    assert v1.read("pids/release_agent") == "/agent\n"


def test_the_groups_of_whoever_opened_cgroup_procs_count_for_good(v2: Kernel) -> None:
    v2.mkdir("/b")
    pid = v2.processes.add(uid=1000)  # type: ignore[attr-defined]
    v2.write("/a/cgroup.procs", str(pid))
    for path in ("/cgroup.procs", "/b/cgroup.procs"):
        v2.chown(path, 0, 7)
        v2.chmod(path, 0o664)
    groups = {7}
    file = v2.open("/b/cgroup.procs", os.O_WRONLY, Caller(1000, 1000, groups=lambda: groups))
    groups.clear()
    file.write(str(pid).encode(), Caller(1000, 1000))
    assert v2.read("/b/cgroup.procs") == f"{pid}\n"


def test_whoever_is_no_user_at_all_is_not_root(v2: Kernel) -> None:
    with refused(EACCES):
        v2.mkdir("/b", caller=Caller(uid=None))  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["SYS_ADMIN", 1, True, {Capability.CHOWN}, Privileges(), lambda: Capability.CHOWN])
def test_capabilities_of_another_kind_are_a_value_error(v2: Kernel, given: Any) -> None:
    with pytest.raises(ValueError, match=r"^capabilities: .* is no Capability and no function that gives Privileges$"):
        v2.mkdir("/b", caller=Caller(1000, 1000, capabilities=given))


def test_what_is_not_all_allowed_leaves_the_setuid_bit(v2: Kernel) -> None:
    inode = v2.walk("/a/cgroup.procs")
    v2.chown("/a/cgroup.procs", 1000, 1000)
    v2.chmod("/a/cgroup.procs", 0o4644)
    with refused(EPERM):
        v2.vfs.setattr(inode, Caller(1000, 1000), size=0, uid=0)
    assert v2.stat("/a/cgroup.procs").mode & 0o7777 == 0o4644


def test_a_release_is_told_with_who_set_the_agent(v1: Kernel) -> None:
    told = []
    v1.on_release = lambda agent, path, setter: told.append((setter.uid, setter.privileges().effective))
    v1.write("pids/release_agent", "/agent", Caller(capabilities=Capability.SYS_ADMIN))
    v1.mkdir("pids/a")
    v1.write("pids/a/notify_on_release", "1")
    v1.mkdir("pids/a/b")
    v1.rmdir("pids/a/b")
    assert told == [(0, Capability.SYS_ADMIN)]
