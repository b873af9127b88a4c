"""`fakecgroup doctor`: what works here, and what to do about the rest."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
from collections.abc import Callable
from errno import EACCES, ENOENT, EPERM
from pathlib import Path
from typing import Any

import pytest

from fakecgroup_mount.cli import command_trials, doctor, machine_checks, namespace_trial
from fakecgroup_mount.cli.check import NO, PARTLY, YES, Check
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host.mountinfo import mounts

from .conftest import COMMAND, REPOSITORY, needs_fuse, run

needs_user_namespaces = pytest.mark.skipif(
    subprocess.run(["unshare", "-Ur", "true"], capture_output=True, check=False).returncode != 0,
    reason="no user namespaces",
)

COMMANDS = ["mount", "mount --allow-other", "mount --transport fusepy", "run", "pytest fixtures"]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Says what the doctor shall find."""

    def say(commands: list[Check], machine: list[Check] | None = None) -> None:
        monkeypatch.setattr(doctor, "machine_checks", lambda: iter(machine or []))
        monkeypatch.setattr(doctor, "command_trials", lambda main, machine: iter(commands))

    return say


def told(output: str) -> int:
    return doctor.run(argparse.Namespace(output=output), lambda arguments: 1)


@pytest.mark.parametrize(("mount", "run", "status"), [(YES, YES, 0), (NO, YES, 1), (YES, NO, 1), (PARTLY, YES, 1)])
def test_the_exit_status_is_0_if_mount_and_run_work(
    mount: str, run: str, status: int, found: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    found([Check("mount", mount, ""), Check("run", run, ""), Check("pytest fixtures", NO, "")])
    assert told("table") == status
    assert told("json") == status
    assert '"ready": ' + ("true" if status == 0 else "false") in capsys.readouterr().out


def test_a_remedy_stands_below_what_it_mends(found: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    found([Check("mount", YES, "fine")], [Check("/dev/fuse", NO, "gone", "modprobe fuse"), Check("a", YES, "well")])
    told("table")
    assert capsys.readouterr().out.splitlines() == [
        f"what works for uid {os.geteuid()}",
        "  mount  yes  fine",
        "",
        "what this machine allows",
        "  /dev/fuse  no   gone",
        "    -> modprobe fuse",
        "  a          yes  well",
    ]


def test_json_has_both_tables(found: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    found([Check("mount", YES, "fine")], [Check("/dev/fuse", NO, "gone", "modprobe fuse")])
    told("json")
    assert json.loads(capsys.readouterr().out) == {
        "uid": os.geteuid(),
        "linux": os.uname().release,
        "ready": True,
        "commands": [{"name": "mount", "state": "yes", "found": "fine", "remedy": None}],
        "machine": [{"name": "/dev/fuse", "state": "no", "found": "gone", "remedy": "modprobe fuse"}],
    }


def refusing(errno: int) -> Callable[..., int]:
    def refuse(*_: Any) -> int:
        raise OSError(errno, os.strerror(errno))

    return refuse


@pytest.mark.parametrize(
    ("errno", "in_container", "remedy"),
    [
        (EACCES, False, "as root: chmod 666 /dev/fuse"),
        (EACCES, True, "as root: chmod 666 /dev/fuse"),
        (ENOENT, False, "as root: modprobe fuse"),
        (ENOENT, True, "Docker: --device /dev/fuse"),
        (EPERM, True, "Docker: --device /dev/fuse"),
        (EPERM, False, "systemd: DeviceAllow=/dev/fuse rw"),
    ],
)
def test_a_device_that_cannot_be_opened_has_a_remedy(
    errno: int, in_container: bool, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_checks, "_in_container", lambda: in_container)
    monkeypatch.setattr(os, "open", refusing(errno))
    check = machine_checks._device()
    monkeypatch.undo()
    assert check == Check("/dev/fuse", NO, os.strerror(errno), remedy)


def namespaces(monkeypatch: pytest.MonkeyPatch, trial: namespace_trial.Trial, device: str = YES) -> list[Check]:
    monkeypatch.setattr(namespace_trial, "try_namespace", lambda directory: trial)
    return list(machine_checks._namespaces(Check("/dev/fuse", device, "", "modprobe fuse")))


def test_a_sysctl_that_forbids_namespaces_is_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    remedy = "as root: sysctl kernel.unprivileged_userns_clone=1"
    trial = namespace_trial.Trial(refused_to_make=f"cannot make a user namespace: Operation not permitted: {remedy}")
    made, mounted, users = namespaces(monkeypatch, trial)
    assert made.found.startswith("cannot make a user namespace: Operation not permitted (")
    assert [(check.state, check.remedy) for check in (made, mounted, users)] == [(NO, remedy)] * 3


@needs_user_namespaces
def test_namespaces_that_are_used_up_are_told_with_the_sysctl() -> None:
    """The sysctl of a user namespace of its own is set, which the machine does not have."""
    script = f"echo 0 >/proc/sys/user/max_user_namespaces; {shlex.join([*COMMAND, 'doctor', '-o', 'json'])}"
    done = subprocess.run(["unshare", "-Ur", "sh", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    (check,) = (check for check in json.loads(done.stdout)["machine"] if check["name"] == "user namespaces")
    assert check["remedy"] == "as root: sysctl user.max_user_namespaces=10000"


def test_a_profile_of_a_container_that_forbids_namespaces_is_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    why = "cannot make a user namespace: a seccomp profile may forbid it (Docker: --security-opt seccomp=unconfined)"
    made, *_ = namespaces(monkeypatch, namespace_trial.Trial(refused_to_map=why))
    assert made.remedy == "Docker: --security-opt seccomp=unconfined"


def test_a_mount_that_needs_the_device_has_the_devices_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    _, mounted, _ = namespaces(monkeypatch, namespace_trial.Trial(refused_to_mount="no", ids=9), device=NO)
    assert mounted == Check("mounts in them", NO, "needs /dev/fuse", "modprobe fuse")


def test_other_users_need_a_range_that_nobody_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uids, gids = tmp_path / "subuid", tmp_path / "subgid"
    uids.write_text("a:100000:65536\nbroken\nc::7\nb:165536:1000\n")
    monkeypatch.setattr(machine_checks, "_SUBIDS", (uids, gids))
    monkeypatch.setattr("shutil.which", lambda program: program)
    *_, users = namespaces(monkeypatch, namespace_trial.Trial(ids=1))
    row = f"{os.geteuid()}:166536:65536"
    assert (users.state, users.remedy) == (PARTLY, f"as root: echo {row} | tee -a {uids} {gids}")


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("a process above has a seccomp listener already, and there can be only one", "start it outside of"),
        ("Operation not permitted: a container's seccomp profile may forbid seccomp(2) itself", "Docker: "),
        ("this kernel has no seccomp (CONFIG_SECCOMP_FILTER)", "a kernel with CONFIG_SECCOMP_FILTER"),
    ],
)
def test_a_refused_filter_has_a_remedy(text: str, remedy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(code: bytes) -> int:
        raise MountError(f"cannot trap system calls: {text}")

    monkeypatch.setattr("fakecgroup_mount.seccomp.filter.install", refuse)
    check = machine_checks._seccomp()
    assert (check.state, check.found) == (NO, text)
    assert check.remedy is not None
    assert check.remedy.startswith(remedy)


def trials(main: command_trials.Main, machine: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in command_trials.command_trials(main, machine)}


def test_a_command_that_fails_for_want_of_something_has_its_remedy() -> None:
    machine = [Check("/dev/fuse", NO, "gone", "modprobe fuse"), Check("fusermount3", NO, "not needed")]
    for name, check in trials(lambda arguments: 1, machine).items():
        if name != "pytest fixtures":  # which mounts by itself
            assert check == Check(name, NO, "needs /dev/fuse", "modprobe fuse")


def test_a_command_that_fails_otherwise_has_its_own_complaint() -> None:
    def main(arguments: list[str]) -> int:
        os.write(2, f"fakecgroup {arguments[0]}: out of luck\n".encode())
        return 1

    found = trials(main, [Check("/dev/fuse", YES, "")])
    assert [found[name] for name in ("mount", "run")] == [
        Check("mount", NO, "out of luck"),
        Check("run", NO, "out of luck"),
    ]


def test_a_user_whom_fusermount_does_not_know_is_told_how_to_be_known() -> None:
    def main(arguments: list[str]) -> int:
        os.write(2, b"cannot mount: could not determine username\n")
        return 1

    assert trials(main, [])["mount"].remedy == f"as root: useradd --uid {os.getuid()} NAME"


def test_a_command_that_crashes_is_a_failure() -> None:
    def main(arguments: list[str]) -> int:
        raise RuntimeError("a bug")

    assert trials(main, [])["run"].state == NO


@needs_fuse
def test_it_says_what_works_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = run("doctor", "-o", "json", timeout=200, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.stderr == ""
    said = json.loads(done.stdout)
    states = {check["name"]: check["state"] for check in said["commands"]}
    assert list(states) == COMMANDS
    assert states["mount"] == "yes"
    assert said["ready"] == (states["run"] == "yes") == (done.returncode == 0)
    assert {check["state"] for check in said["machine"]} <= {YES, PARTLY, NO}
    assert list(tmp_path.iterdir()) == []
    assert not [mount.point for mount in mounts() if Path(mount.point).is_relative_to(tmp_path)]


def test_the_guide_says_what_each_line_is_for() -> None:
    guide = (REPOSITORY / "docs" / "guides" / "doctor.md").read_text()
    machine = [
        machine_checks.DEVICE,
        machine_checks.FUSERMOUNT,
        machine_checks.LIBFUSE2,
        machine_checks.ALLOW_OTHER,
        machine_checks.SYSTEM,
        machine_checks.NAMESPACES,
        machine_checks.MOUNTS,
        machine_checks.SECCOMP,
        machine_checks.USERS,
        machine_checks.FORKS,
        machine_checks.ENDS,
    ]
    assert [name for name in [*COMMANDS, *machine] if name not in guide] == []
