"""The commands that take something of the machine, tried as the user would start them."""

from __future__ import annotations

import importlib.util
import os
import select
import signal
import tempfile
from collections.abc import Callable, Collection, Iterator

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.cli import machine_checks
from fakecgroup_mount.cli.check import NO, YES, Check
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host.child_call import call_in_child

MOUNT, FOR_OTHERS, FUSEPY, RUN, PYTEST = (
    "mount",
    "mount --allow-other",
    "mount --transport fusepy",
    "run",
    "pytest fixtures",
)

Main = Callable[[list[str]], int]
"""The command `fakecgroup`: takes its arguments, returns its exit status."""

_PATIENCE = 60.0  # seconds for a command, on a busy machine
_ASKED = "cgroup.controllers"
_NEEDS = {
    MOUNT: (machine_checks.DEVICE, machine_checks.FUSERMOUNT),
    FOR_OTHERS: (machine_checks.DEVICE, machine_checks.FUSERMOUNT, machine_checks.ALLOW_OTHER),
    FUSEPY: (machine_checks.DEVICE, machine_checks.FUSERMOUNT, machine_checks.LIBFUSE2),
    RUN: (
        machine_checks.SYSTEM,
        machine_checks.DEVICE,
        machine_checks.NAMESPACES,
        machine_checks.MOUNTS,
        machine_checks.SECCOMP,
    ),
    PYTEST: (machine_checks.DEVICE, machine_checks.FUSERMOUNT),
}
_WORKED = {
    MOUNT: "a tree was mounted, read and unmounted",
    FOR_OTHERS: "a tree was mounted for all users",
    FUSEPY: "a tree was mounted through libfuse 2",
    RUN: "a command found a tree at /sys/fs/cgroup",
    PYTEST: "a tree was mounted for a test",
}


def command_trials(main: Main, machine: Collection[Check]) -> Iterator[Check]:
    """Each command with what came of it; what `machine` says is missing has the remedy."""
    yield _check(MOUNT, _why_not_mounted(main), machine)
    yield _check(FOR_OTHERS, _why_not_mounted(main, "--allow-other"), machine)
    yield _check(FUSEPY, _why_not_mounted(main, "--transport=fusepy"), machine)
    yield _check(RUN, _why_not_run(main), machine)
    if importlib.util.find_spec("pytest") is None:
        yield Check(PYTEST, NO, "pytest is not installed", "pip install pytest")
    else:
        yield _check(PYTEST, _why_no_fixture(), machine)


def _check(name: str, why_not: str | None, machine: Collection[Check]) -> Check:
    if why_not is None:
        return Check(name, YES, _WORKED[name])
    for check in machine:
        if check.name in _NEEDS[name] and check.state == NO and check.remedy is not None:
            return Check(name, NO, f"needs {check.name}", check.remedy)
    return Check(name, NO, why_not, next((remedy for why, remedy in _remedies() if why in why_not), None))


def _remedies() -> list[tuple[str, str]]:
    """What mends a complaint that has these words."""
    return [
        ("could not determine username", f"as root: useradd --uid {os.getuid()} NAME"),
        ("mounting takes CAP_SYS_ADMIN", "unshare -Urm COMMAND"),
        ("fusermount: mount failed: Operation not permitted", "unshare -Urm COMMAND"),
    ]


def _why_not_mounted(main: Main, *options: str) -> str | None:
    """What is wrong with a tree that is mounted at a temporary directory; None for nothing."""
    directory = tempfile.mkdtemp(prefix="fakecgroup-doctor-")
    try:
        done = _done(main, ["mount", directory, *options])
        if done.status:
            return done.complaint.removeprefix(f"{directory}: ")
        try:
            said = call_in_child(lambda: _content(f"{directory}/{_ASKED}"), _PATIENCE)
        except OSError as error:
            said = None
            why = f"cannot be read: {error.strerror}"
        else:
            why = "the tree does not answer"
        ended = _done(main, ["umount", "--force", directory])
        if said is None:
            return why
        return ended.complaint if ended.status else None
    finally:
        os.rmdir(directory)


def _why_not_run(main: Main) -> str | None:
    done = _done(main, ["run", "--", "cat", f"/sys/fs/cgroup/{_ASKED}"])
    if done.status:
        return done.complaint
    return None if done.said else "the command found no tree at /sys/fs/cgroup"


def _why_no_fixture() -> str | None:
    """What the pytest plugin would say; it mounts with a process of its own."""
    try:
        said = call_in_child(_try_fixture, _PATIENCE)
    except OSError as error:
        return error.strerror
    return "the tree does not answer" if said is None else said.decode() or None


def _try_fixture() -> bytes:
    from fakecgroup_mount.testing.options import read
    from fakecgroup_mount.testing.trees import Trees

    try:
        with Trees() as trees:
            tree = trees.mount(read({}))
            _content(f"{tree}/{_ASKED}")
            return trees.take_down(tree).encode()
    except (MountError, RuntimeError) as error:
        return str(error).encode()


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


class _Done(NamedTuple):
    status: int
    said: str
    complaint: str


def _done(main: Main, arguments: list[str]) -> _Done:
    """Runs the command in a child process with / as its directory; the complaint is without the command's name."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.chdir("/")
                os.dup2(output.fileno(), 1)
                os.dup2(errors.fileno(), 2)
                status = main(arguments)
            finally:
                os._exit(status)
        ended = _end_of(pid)
        if ended is None:
            return _Done(1, "", f"it did not end in {_PATIENCE:.0f} s")
        output.seek(0)
        errors.seek(0)
        complaint = errors.read().decode(errors="replace").strip().removeprefix(f"fakecgroup {arguments[0]}: ")
        return _Done(ended, output.read().decode(errors="replace"), complaint or f"exit status {ended}")


def _end_of(pid: int) -> int | None:
    """The exit status of a child; None for one that takes too long, which is killed."""
    pidfd = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        in_time = bool(poller.poll(_PATIENCE * 1000))
    finally:
        os.close(pidfd)
    if not in_time:
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status if in_time else None
