"""This machine's own v1 hierarchies as a target, in cgroups made for it.

A case's hierarchies are cgroups ``fcg-<random>`` below the real roots, removed when the case ends.  As they are not
roots, operations on files of a root, on the mount point and on hierarchies that are not mounted here are left out.
Only the target's own processes are moved or killed, and only its own cgroups are written.  Needs root.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import tempfile
import time
from pathlib import Path

from fakecgroup.conformance.case import Answer, Case, Op, arguments
from fakecgroup.conformance.target import UnsupportedError
from fakecgroup_mount.conformance.target_directory import DirectoryTarget
from fakecgroup_mount.errors import MountError

#: Files of a root that any other cgroup has too.
_COMMON = frozenset({"tasks", "cgroup.procs", "notify_on_release", "cgroup.clone_children"})
#: Operations that are allowed on the cgroup in place of a root.
_ON_A_ROOT = frozenset({"mkdir", "chmod", "chown", "access", "setxattr", "getxattr", "listxattr", "removexattr"})
#: Operations that end a case, as they cannot be done here and later ones depend on them.
_ENDING = frozenset({"alloc", "clone_into", "eventfd", "releases"})
_PID_FILES = frozenset({"tasks", "cgroup.procs"})
_CPU = "cpu,cpuacct"
_NOTICE = 0.02  # seconds; events on one file are at least 10 ms apart (CGROUP_FILE_NOTIFY_MIN_INTV)
_PATIENCE = 5.0  # seconds for own cgroups to become empty


def hierarchies() -> dict[str, Path]:
    """The mount point of each v1 controller, and of the hierarchy named systemd, on this machine."""
    found: dict[str, Path] = {}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, path, kind, options = line.split()[:4]
        if kind == "cgroup":
            for option in options.split(","):
                found.setdefault(option.removeprefix("name="), Path(path))
    return {name: path for name, path in found.items() if name == "systemd" or _is_controller(name)}


def _is_controller(name: str) -> bool:
    return any(line.split()[0] == name for line in Path("/proc/cgroups").read_text().splitlines())


class HostTarget(DirectoryTarget):
    """See the module.  Raises MountError without a v1 hierarchy, or without the rights to use it."""

    def __init__(self) -> None:
        self._mounted = hierarchies()
        if not self._mounted:
            raise MountError("no cgroup v1 hierarchy is mounted on this machine: --target host has nothing to ask")
        if os.geteuid() != 0:
            raise MountError("--target host makes cgroups in this machine's hierarchies: run it as root")
        self._own: dict[str, Path] = {}  # hierarchy -> the cgroup in place of its root
        self._root_files: dict[str, frozenset[str]] = {}
        self._left_out: set[str] = set()  # handles
        self._open: dict[str, str] = {}  # handle -> path
        self._links = tempfile.mkdtemp(prefix="fcg-host-")
        os.chmod(self._links, 0o755)
        super().__init__(self._links)

    def close(self) -> None:
        """Ends the use of the target."""
        shutil.rmtree(self._links, ignore_errors=True)

    def start(self, case: Case) -> None:
        self._left_out, self._open, self.pids = set(), {}, {}
        try:
            for name in sorted({_first(path) for op in case.ops for path in _paths(op)}):
                self._make(name, case)
            super().start(case)
            for own in self._own.values():
                (own / "cgroup.procs").write_text(str(self._runner))
        except BaseException:
            if self.pids:
                self.finish()
            self._remove()
            raise

    def _make(self, name: str, case: Case) -> None:
        """Makes the cgroup in place of a hierarchy's root."""
        controller = _cpu_side(case) if name == _CPU else name
        real = self._mounted.get(controller)
        if real is None or name in _CPU.split(","):  # those are links beside the one that has both
            return
        own = real / f"fcg-{secrets.token_hex(4)}"
        own.mkdir()
        self._own[name] = own
        os.symlink(own, os.path.join(self._links, name))
        self._root_files[name] = frozenset(e.name for d in (real, own) for e in os.scandir(d) if e.is_file()) - _COMMON
        settings = {
            "cpuset": ("cpuset.cpus", "cpuset.mems", "cpuset.cpu_exclusive", "cpuset.mem_exclusive"),
            "cpu": ("cpu.rt_runtime_us",) if any("/cpu.rt_" in path for op in case.ops for path in _paths(op)) else (),
        }
        for file in settings.get(controller, ()):
            if (own / file).exists():
                _give(own / file, (real / file).read_text())

    def do(self, op: Op) -> Answer:
        inner = op
        while inner[0] == "in":
            inner = inner[2:]
        self._check(inner)
        if inner[0] == "proc":
            return self._proc(str(inner[1]), str(inner[2]))
        if inner[0] == "poll":
            time.sleep(_NOTICE)
        answer = super().do(_on_links(op, self._own))
        if inner[0] == "open" and answer[0] is None:
            self._open[str(inner[1])] = str(inner[2])
        if inner[0] == "close" and answer[0] is None:
            self._open.pop(str(inner[1]), None)
        return answer

    def _check(self, op: Op) -> None:
        """Raises UnsupportedError for an operation that is left out."""
        if op[0] in _ENDING:
            raise UnsupportedError(f"{op[0]} is not for a machine in use")
        for kind, value in arguments(op):
            if kind == "handle" and value in self._left_out and op[0] != "open":
                raise UnsupportedError("a file that was left out", ends=False)
        if op[0] in ("fpread", "fpwrite", "ftruncate") and str(op[1]) not in self._open:
            raise UnsupportedError("no descriptor, so the kernel is not asked", ends=False)
        if op[0] == "open":
            self._left_out.discard(str(op[1]))
        for path in _paths(op):
            reason = self._why_not(str(op[0]), path)
            if reason:
                if op[0] == "open":
                    self._left_out.add(str(op[1]))
                raise UnsupportedError(reason, ends=False)
        if op[0] in ("write", "fwrite", "fpwrite"):
            path = str(op[1]) if op[0] == "write" else self._open.get(str(op[1]), "")
            if path.rpartition("/")[2] in _PID_FILES and self._names_another(dict(arguments(op))["data"]):
                raise UnsupportedError("a process of the machine", ends=False)

    def _why_not(self, operation: str, path: str) -> str:
        name, *parts = path.split("/")
        if name not in self._own:
            return "no hierarchy of this machine"
        depth: list[str] = []
        for part in parts:
            if part == "..":
                if not depth:
                    return "above the hierarchy"
                depth.pop()
            elif part not in ("", "."):
                depth.append(part)
        if not depth and operation not in _ON_A_ROOT:
            return "the root itself"
        if depth and depth[0] in self._root_files[name]:
            return "a file of the root"
        if operation == "write" and path.endswith("/cpuset.sched_relax_domain_level"):
            return "its greatest value follows from what this machine's CPUs share"
        if operation == "read" and path.endswith("/memory.failcnt"):
            return "how many attempts it counts is open on this kernel"
        if name == _CPU and (operation in ("listdir", "listraw") or _other_side(path, self._own[_CPU])):
            return "cpu and cpuacct are two hierarchies here"
        return ""

    def _names_another(self, data: bytes) -> bool:
        """Whether the text is the pid of a process that is not the target's own."""
        for pid, name in sorted(self.pids.items(), key=lambda known: -len(known[1])):
            data = data.replace(b"$" + name.encode(), str(pid).encode())
        text = data.partition(b"\0")[0].strip().decode("latin-1").lstrip("+")
        base = 16 if text[:2] in ("0x", "0X") else 8 if text[:1] == "0" else 10
        try:
            pid = int(text, base)
        except ValueError:
            return False
        return pid > 0 and pid not in self.pids and os.path.exists(f"/proc/{pid}")

    def _proc(self, who: str, file: str) -> Answer:
        """/proc/PID/cgroup, with the own cgroups as roots."""
        pids = [pid for pid, name in self.pids.items() if name == who]
        if file != "cgroup" or not pids:
            raise UnsupportedError(f"/proc/PID/{file}", ends=False)
        try:
            lines = Path(f"/proc/{pids[-1]}/cgroup").read_text().splitlines()
        except OSError:
            return ("ENOENT@open", None)
        places = {controller: path for _, controller, path in (line.split(":", 2) for line in lines)}
        text = ""
        for name, own in self._own.items():
            label = "name=systemd" if name == "systemd" else own.parent.name if name == _CPU else name
            inside = re.fullmatch(rf"/{re.escape(own.name)}(/.*)?", places.get(label, "/"), re.S)
            shown = "name=systemd" if name == "systemd" else name
            text += f"1:{shown}:{(inside[1] or '/') if inside else '/'}\n"
        return (None, text)

    def finish(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            _thaw(self._own.get("freezer"))
            super().finish()
        finally:
            self._remove()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})

    def _remove(self) -> None:
        """Removes the own cgroups.  Raises MountError if one stays."""
        left = []
        for name, own in self._own.items():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self._links, name))
            with contextlib.suppress(OSError):
                (own / "cpu.rt_runtime_us").write_text("0")  # else it stays reserved until the kernel frees the cgroup
            if not _removed(own):
                left.append(str(own))
        self._own = {}
        if left:
            raise MountError(f"cannot remove {', '.join(left)}: something is still running there; remove it by hand")


def _give(file: Path, value: str) -> None:
    """Writes a value, for up to 5 s: a removed cgroup may hold exclusive CPUs or real-time bandwidth for a moment."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            file.write_text(value)
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise MountError(f"{file}: cannot write {value.strip()}: {error.strerror}") from None
            time.sleep(0.005)


def _removed(own: Path) -> bool:
    deadline = time.monotonic() + _PATIENCE
    while own.exists():
        for _, directories, _, fd in os.fwalk(own, topdown=False):  # not by path: some are too long for a call
            for name in directories:
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=fd)
        with contextlib.suppress(OSError):
            own.rmdir()
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def _thaw(root: Path | None) -> None:
    """Thaws the own freezer cgroups: a frozen process cannot be killed."""
    for path, _, _ in os.walk(root) if root is not None else ():
        with contextlib.suppress(OSError):
            Path(path, "freezer.state").write_text("THAWED")


def _paths(op: Op) -> list[str]:
    """The paths that an operation names, without the target of a symbolic link."""
    while op[0] == "in":
        op = op[2:]
    values = [os.fsdecode(value) for kind, value in arguments(op) if kind == "path"]
    return values[1:] if op[0] == "symlink" else values


def _first(path: str) -> str:
    return path.partition("/")[0]


def _on_links(op: Op, own: dict[str, Path]) -> Op:
    """The operation with the directory behind the link in place of a root."""
    return tuple(f"{value}/." if isinstance(value, str) and value in own and at == 1 and op[0] in _ON_A_ROOT else value
                 for at, value in enumerate(op))  # fmt: skip


def _cpu_side(case: Case) -> str:
    """Which of the two hierarchies a case is about."""
    names = [path.rpartition("/")[2] for op in case.ops for path in _paths(op)]
    return "cpuacct" if any(n.startswith("cpuacct.") for n in names) and not _any_cpu(names) else "cpu"


def _any_cpu(names: list[str]) -> bool:
    return any(name.startswith("cpu.") for name in names)


def _other_side(path: str, own: Path) -> bool:
    """Whether it is a file of the controller that has another hierarchy here."""
    return path.rpartition("/")[2].startswith("cpuacct." if own.parent.name == "cpu" else "cpu.")
