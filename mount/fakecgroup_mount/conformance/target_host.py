"""This machine's own hierarchies as a target, in cgroups made for it.

The cgroups in place of a case's roots are made when it starts, and removed when it ends. On v1 they are below the real
roots, for a plain user below the own cgroups; operations on files of a root, and on hierarchies that are not mounted
here, are left out. In the unified hierarchy they are where `host_place` has found a place. Only the target's own
processes are moved or killed, and only its own cgroups are written.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from fakecgroup.conformance.case import Answer, Case, Op, arguments
from fakecgroup.conformance.setting import Setting
from fakecgroup.conformance.stand_in import HOME, ROOT, UNIFIED, filled, innermost, moved, paths, seen_from, to_home
from fakecgroup.conformance.target import UnsupportedError
from fakecgroup_mount.conformance import needs_root
from fakecgroup_mount.conformance.host_place import HostPlace
from fakecgroup_mount.conformance.own_cgroup import OwnCgroup, remove, remove_left_over
from fakecgroup_mount.conformance.target_directory import DirectoryTarget
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host import machine_facts
from fakecgroup_mount.host.cgroup_mounts import cgroup_mounts, hierarchies, layouts, unified

#: Files of a v1 root that any other cgroup has too.
_COMMON = frozenset({"tasks", "cgroup.procs", "notify_on_release", "cgroup.clone_children"})
#: Operations that are allowed on the cgroup in place of a v1 root.
_ON_A_ROOT = frozenset({"mkdir", "chmod", "chown", "access", "setxattr", "getxattr", "listxattr", "removexattr"})
#: Operations that end a case, as they cannot be done here and later ones depend on them.
_ENDING = frozenset({"alloc", "clone_into", "cpu", "eventfd", "releases", "set_affinity"})
#: Operations that the rest of a case does not depend on.
_NOT_HERE = {
    "statfs": "statfs is not asked here",
    "affinity": "the CPUs of a process are this machine's",
    "cpus": "the CPUs are this machine's",
}
#: Operations that are allowed on the cgroup in place of the unified hierarchy's root, which is a link beside v1.
_ON_UNIFIED = _ON_A_ROOT | {"stat", "listdir", "listraw", "open", "watch"}
_PID_FILES = frozenset({"tasks", "cgroup.procs", "cgroup.threads"})
_CPU = "cpu,cpuacct"
_ANOTHER = Case("another user", "v2", (("as", 1000, 1000),))
_CPU_SIDES = ("cpu", "cpuacct")
_NOTICE = 0.02  # seconds; events on one file are at least 10 ms apart (CGROUP_FILE_NOTIFY_MIN_INTV)
_PATIENCE = 5.0  # seconds for a value that a removed cgroup still holds


class HostTarget(DirectoryTarget):
    """See the module. What a killed run of this user has left is removed first.

    Raises MountError without a hierarchy of the layout, or without the rights to use it.
    """

    def __init__(self, layout: str = "v1") -> None:
        if layout not in layouts():
            there = ", ".join(layouts()) or "none"
            raise MountError(
                f"--target host: no cgroup hierarchy of layout {layout} is mounted on this machine, but {there}"
            )
        self._layout = layout
        self._becomes_others = os.geteuid() == 0 and needs_root.acts_as_others([_ANOTHER])
        self._has_all = self._becomes_others and needs_root.has_all_capabilities()
        for stays in [path for mount in {mount.point for mount in cgroup_mounts()} for path in remove_left_over(mount)]:
            raise MountError(f"{stays} is of a run that was killed, and cannot be removed: something still runs there")
        self._own: dict[str, Path] = {}  # hierarchy -> the cgroup in place of its root
        self._made: list[OwnCgroup] = []
        self._root_files: dict[str, frozenset[str]] = {}
        self._left_out: set[str] = set()  # handles
        self._open: dict[str, str] = {}  # handle -> path
        self._mounted = {} if layout == "v2" else self._places()
        mount = None if layout == "v1" else unified()
        self._place = None if mount is None else HostPlace(mount)
        self._links = tempfile.mkdtemp(prefix="fcg-host-")
        os.chmod(self._links, 0o755)
        super().__init__(self._links)
        if layout == "v2" and self._place is not None:
            self._root = str(self._place.path / ROOT)

    @staticmethod
    def _places() -> dict[str, Path]:
        """The cgroup of each v1 hierarchy to make one's own below."""
        found = {}
        for name, mount in hierarchies().items():
            place = mount.point if os.geteuid() == 0 else mount.own_cgroup()
            if place is not None and all(os.access(path, os.W_OK) for path in (place, place / "cgroup.procs")):
                found[name] = place
        if not found:
            raise MountError(
                f"--target host: user {os.geteuid()} may make no cgroup in this machine's v1 hierarchies: be root"
            )
        return found

    @property
    def setting(self) -> Setting:
        """Where the cases are done; what follows from that is for `Elsewhere` to leave out."""
        place = self._place
        controllers, files = ((), {}) if place is None else (place.controllers, place.files())
        return Setting(machine_facts.description(), controllers, files, os.geteuid(), os.getegid())

    def close(self) -> None:
        """Ends the use of the target. Tells on stderr of a cgroup that stays; the next run removes it."""
        shutil.rmtree(self._links, ignore_errors=True)
        if self._place is not None and not self._place.close():
            print(f"fakecgroup conformance: cannot remove {self._place.path}; the next run does", file=sys.stderr)

    def start(self, case: Case) -> None:
        self._left_out, self._open, self.pids = set(), {}, {}
        try:
            if self._place is not None:
                self._own[UNIFIED] = self._place.path / ROOT
                for name in (HOME, ROOT):
                    (self._place.path / name).mkdir()
                if self._layout == "hybrid":
                    os.symlink(self._own[UNIFIED], os.path.join(self._links, UNIFIED))
            for name in sorted({_first(path) for op in case.ops for path in paths(op)}) if self._mounted else ():
                self._make(name, case)
            super().start(case)
            for name, own in self._own.items():
                home = own.parent / HOME if name == UNIFIED else own
                (home / "cgroup.procs").write_text(str(self._runner))
            self._seen = self._places_of_the_roots()
        except BaseException:
            if self.pids:
                self.finish()
            self._remove()
            raise

    def _kept(self) -> list[str]:
        return []

    def _make(self, name: str, case: Case) -> None:
        """Makes the cgroup in place of a v1 hierarchy's root."""
        controller = _cpu_side(case) if name == _CPU else name.partition(",")[0]
        real = self._mounted.get(controller)
        if real is None or name in _CPU.split(","):  # those are links beside the one that has both
            return
        if name != _CPU and any(self._mounted.get(each) != real for each in name.split(",")):
            return
        made = OwnCgroup(real)
        self._made.append(made)
        own = self._own[name] = made.path
        os.symlink(own, os.path.join(self._links, name))
        self._root_files[name] = frozenset(e.name for d in (real, own) for e in os.scandir(d) if e.is_file()) - _COMMON
        for file in filled(case):
            if (own / file).exists():
                _give(own / file, (real / file).read_text())

    def _places_of_the_roots(self) -> dict[str, tuple[str, ...]]:
        """What /proc/PID/cgroup says of the cgroups in place of the roots, by the hierarchy's names."""
        found: dict[str, tuple[str, ...]] = {}
        for line in Path(f"/proc/{self._runner}/cgroup").read_text(errors="surrogateescape").splitlines():
            number, names, path = line.split(":", 2)
            found[names] = (path,) if number != "0" else (f"{os.path.dirname(path)}/{ROOT}", path)
        return found

    def do(self, op: Op) -> Answer:
        inner = innermost(op)
        self._check(inner)
        if inner[0] == "proc":
            return self._proc(str(inner[1]), str(inner[2]))
        if inner[0] == "poll":
            time.sleep(_NOTICE)
        answer = super().do(self._on_links(moved(op, lambda path: to_home(path, self._layout))))
        if inner[0] == "open" and answer[0] is None:
            self._open[str(inner[1])] = str(inner[2])
        if inner[0] == "close" and answer[0] is None:
            self._open.pop(str(inner[1]), None)
        return answer

    def _check(self, op: Op) -> None:
        """Raises UnsupportedError for an operation that is left out."""
        if op[0] in _ENDING:
            raise UnsupportedError(f"{op[0]} is not for a machine in use")
        if op[0] in _NOT_HERE:
            raise UnsupportedError(_NOT_HERE[op[0]], ends=False)
        if needs_root.ends(op) and not (self._has_all if op[0] != "as" else self._becomes_others):
            raise UnsupportedError(f"only root with all capabilities can {needs_root.why(op)}")
        for kind, value in arguments(op):
            if kind == "handle" and value in self._left_out and op[0] != "open":
                raise UnsupportedError("a file that was left out", ends=False)
        if op[0] in ("fpread", "fpwrite", "ftruncate") and str(op[1]) not in self._open:
            raise UnsupportedError("no descriptor, so the kernel is not asked", ends=False)
        if op[0] == "open":
            self._left_out.discard(str(op[1]))
        for path in paths(op):
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
        """Why an operation on a path is left out; "" if it is not."""
        name, parts = path.partition("/")[0], path.split("/")[1:]
        if self._layout == "v2":
            name, parts = UNIFIED, path.split("/")
        if path.startswith("/") or (name not in self._own and name not in (".", "")):
            return "no hierarchy of this machine"
        depth: list[str] = []
        for part in parts:
            if part == "..":
                if not depth:
                    return "above the hierarchy"
                depth.pop()
            elif part not in ("", "."):
                depth.append(part)
        if name == UNIFIED and self._layout == "v2":
            return ""
        return self._why_not_there(operation, path, name, depth)

    def _why_not_there(self, operation: str, path: str, name: str, depth: list[str]) -> str:
        """Why an operation is left out that names something at a depth below the directories of the hierarchies."""
        if not depth and operation not in (_ON_UNIFIED if name == UNIFIED else _ON_A_ROOT):
            return "the root itself"
        if name == UNIFIED:
            return ""
        if depth and depth[0] in self._root_files[name]:
            return "a file of the root"
        if operation == "write" and path.endswith("/cpuset.sched_relax_domain_level"):
            return "its greatest value follows from what this machine's CPUs share"
        if operation == "read" and path.endswith("/memory.failcnt"):
            return "how many attempts it counts is open on this kernel"
        two = name == _CPU and self._mounted.get("cpu") != self._mounted.get("cpuacct")
        if two and (operation in ("listdir", "listraw") or _other_side(path, self._own[_CPU])):
            return "cpu and cpuacct are two hierarchies here"
        return ""

    def _on_links(self, op: Op) -> Op:
        """The operation with the directory behind the link in place of a root."""
        if self._layout == "v2":
            return op
        allowed = _ON_A_ROOT | _ON_UNIFIED
        return moved(op, lambda path: f"{path}/." if path in self._own and innermost(op)[0] in allowed else path)

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
            text = seen_from(Path(f"/proc/{pids[-1]}/cgroup").read_text(errors="surrogateescape"), self._seen)
        except OSError:
            return ("ENOENT@open", None)
        lines = {tuple(line.split(":", 2)[1].split(",")): line.split(":", 2) for line in text.splitlines()}
        shown = ""
        for name, own in self._own.items():
            label = {UNIFIED: "", "systemd": "name=systemd"}.get(name, name.partition(",")[0])
            if name == _CPU and self._mounted.get(_CPU_SIDES[1]) == own.parent:
                label = _CPU_SIDES[1]
            number, names, path = next(line for controllers, line in lines.items() if label in controllers)
            shown += f"{number}:{name if names and name != 'systemd' else names}:{path}\n"
        return (None, shown)

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
        for name in self._own:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self._links, name))
        left = [str(made.path) for made in self._made if not made.remove()]
        if self._place is not None:
            left += [str(path) for path in (self._place.path / ROOT, self._place.path / HOME) if not remove(path)]
        self._own, self._made = {}, []
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


def _thaw(root: Path | None) -> None:
    """Thaws the own freezer cgroups: a frozen process cannot be killed."""
    for path, _, _ in os.walk(root) if root is not None else ():
        with contextlib.suppress(OSError):
            Path(path, "freezer.state").write_text("THAWED")


def _first(path: str) -> str:
    return path.partition("/")[0]


def _cpu_side(case: Case) -> str:
    """Which of the two hierarchies a case is about."""
    names = [path.rpartition("/")[2] for op in case.ops for path in paths(op)]
    return "cpuacct" if any(n.startswith("cpuacct.") for n in names) and not _any_cpu(names) else "cpu"


def _any_cpu(names: list[str]) -> bool:
    return any(name.startswith("cpu.") for name in names)


def _other_side(path: str, own: Path) -> bool:
    """Whether it is a file of the controller that has another hierarchy here."""
    return path.rpartition("/")[2].startswith("cpuacct." if own.parent.name == "cpu" else "cpu.")
