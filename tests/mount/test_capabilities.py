"""Root without capabilities, and root of another user namespace, in a tree that root has mounted."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..waiting import wait_until
from .conftest import OTHER_UID, needs_root

pytestmark = [
    needs_root,
    pytest.mark.skipif(not (shutil.which("setpriv") and shutil.which("unshare")), reason="needs setpriv and unshare"),
]

WITHOUT = ("setpriv", "--bounding-set", "-all", "--inh-caps", "-all")
ADMIN_ALONE = ("setpriv", "--bounding-set", "-all,+sys_admin", "--inh-caps", "-all")
ELSEWHERE = {
    "another mount namespace": ("unshare", "--mount"),
    "another network": ("unshare", "--net"),
    "another pid namespace": ("unshare", "--pid", "--fork"),
}


def sh(script: str, place: Path, *become: str) -> tuple[int, str]:
    """Status and standard error of a shell script that runs in `place`, started by other programs."""
    done = subprocess.run([*become, "sh", "-c", script], cwd=place, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


@pytest.fixture
def agent() -> Iterator[Path]:
    """A release agent for everybody that leaves its uid and its capabilities beside it, in a file for the cgroup."""
    with tempfile.TemporaryDirectory(prefix="fcg-agent-") as home:
        os.chmod(home, 0o777)
        program = Path(home, "agent")
        note = "(id -u; grep ^CapEff /proc/self/status) >.new"
        program.write_text(f'#!/bin/sh\ncd {home}\n{note} && mv .new "told$(echo $1 | tr / -)"\n')
        program.chmod(0o755)
        yield program


def release(pids: Path, name: str) -> None:
    (pids / name).mkdir()
    with subprocess.Popen(["sleep", "300"]) as process:
        (pids / name / "tasks").write_text(str(process.pid))
        (pids / "tasks").write_text(str(process.pid))
        process.kill()


def told(agent: Path, name: str) -> list[str]:
    """What the agent left for a cgroup, once it has."""
    file = agent.with_name(f"told-{name}")
    wait_until(file.exists, limit=20)
    return file.read_text().split()


@pytest.mark.hostile("root without capabilities sets a release agent", times=2)
def test_root_without_capabilities_sets_no_release_agent(v1: Path) -> None:
    for become in (WITHOUT, ("setpriv", "--bounding-set", "-sys_admin")):
        assert sh("echo /agent >release_agent", v1 / "pids", *become)[0] != 0
    assert (v1 / "pids" / "release_agent").read_text() == "\n"


@pytest.mark.hostile("root of a user namespace of its own sets a release agent, allows itself a device", times=2)
def test_root_of_another_user_namespace_has_no_say(v1: Path) -> None:
    (v1 / "devices" / "mine").mkdir()
    for script in ("echo /agent >pids/release_agent", "echo a >devices/mine/devices.deny"):
        assert sh(script, v1, "unshare", "--user", "--map-root-user", "--cgroup")[0] != 0
    assert (v1 / "pids" / "release_agent").read_text() == "\n"
    assert (v1 / "devices" / "mine" / "devices.list").read_text() == "a *:* rwm\n"
    (v1 / "devices" / "mine").rmdir()


def test_root_without_capabilities_is_held_by_modes(group: Path) -> None:
    (group / "pids.max").chmod(0o400)
    assert sh("echo 5 >pids.max", group, *WITHOUT)[0] != 0
    assert sh("cat pids.max", group, *WITHOUT)[0] == 0
    (group / "pids.max").write_text("5")


def test_an_agent_has_no_capability_that_its_setter_had_not(pids: Path, agent: Path) -> None:
    assert sh(f"echo {agent} >release_agent", pids, *ADMIN_ALONE) == (0, "")
    release(pids, "a")
    uid, _, capabilities = told(agent, "a")
    assert (uid, int(capabilities, 16)) == ("0", 1 << 21)


def test_an_agent_has_the_ids_of_its_setter(pids: Path, agent: Path) -> None:
    os.chown(pids / "release_agent", OTHER_UID, OTHER_UID)
    become = ("setpriv", "--reuid", str(OTHER_UID), "--regid", str(OTHER_UID), "--clear-groups")
    capable = (*become, "--inh-caps", "+sys_admin", "--ambient-caps", "+sys_admin")
    assert sh(f"echo {agent} >release_agent", pids, *become)[0] != 0
    assert sh(f"echo {agent} >release_agent", pids, *capable) == (0, "")
    release(pids, "a")
    uid, _, capabilities = told(agent, "a")
    assert (uid, int(capabilities, 16)) == (str(OTHER_UID), 0)


@pytest.mark.hostile("an agent set by who has so many groups that the last would be cut off")
def test_an_agent_whose_setter_has_too_many_groups_is_not_run(pids: Path, agent: Path, state_home: Path) -> None:
    log = state_home / "fakecgroup" / "daemon.log"
    groups = ",".join(str(100000 + number) for number in range(3000))
    assert sh(f"echo {agent} >release_agent", pids, "setpriv", "--groups", groups) == (0, "")
    release(pids, "many")
    wait_until(lambda: log.exists() and "too many groups" in log.read_text())
    (pids / "release_agent").write_text(str(agent))
    release(pids, "own")
    told(agent, "own")
    assert not agent.with_name("told-many").exists()
    log.unlink()


@pytest.mark.hostile("a container sets a release agent of the machine's", times=3)
def test_what_a_container_sets_is_not_run(pids: Path, agent: Path, state_home: Path) -> None:
    log = state_home / "fakecgroup" / "daemon.log"
    for number, (where, become) in enumerate(ELSEWHERE.items()):
        assert sh(f"echo {agent} >release_agent", pids, *become) == (0, ""), where
        release(pids, f"c{number}")
        wait_until(lambda: log.exists() and "another part of the machine" in log.read_text(), limit=20)
        (pids / "release_agent").write_text(str(agent))
        release(pids, f"own{number}")
        told(agent, f"own{number}")  # an earlier one would have run before
        assert not agent.with_name(f"told-c{number}").exists()
    log.unlink()
