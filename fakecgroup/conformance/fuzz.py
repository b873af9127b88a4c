"""Random cases: the same seed always gives the same cases, so a difference found once can be asked again.

The files are those of the kernel's own tables.  Left out is what a real kernel does not answer twice or cannot take
back:

* what depends on memory in use: limits near it, reclaim of more than nothing;
* what depends on when: operations and deaths of processes that are frozen or short of CPU time, the state letter of a
  process, a wait for one that lives;
* the writer in a cgroup that is frozen, killed or short of CPU time;
* io.cost, once set up for a device, and the statistics of the disks in the root of blkio;
* the time of a file that was not set before, lists of pids in pieces, and the states of processes whose parent died.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from fakecgroup import Kernel
from fakecgroup.base_files.attach import PID_FILES
from fakecgroup.conformance.case import Case
from fakecgroup.conformance.fuzz_affinities import legacy_cpu_ops
from fakecgroup.conformance.fuzz_capabilities import capability_ops
from fakecgroup.conformance.fuzz_notifications import notification_ops
from fakecgroup.conformance.fuzz_partitions import partition_ops
from fakecgroup.conformance.fuzz_threads import thread_ops
from fakecgroup.conformance.fuzz_values import strange_values, values
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.core.hierarchy import Hierarchy

_Ops = list[tuple[Any, ...]]
_DIRECTORIES = ("a", "b", "a/c", "a/f", "a/c/d", "b/e")
_PROCESSES = ("p", "q", "r", "s")
_HANDLES = ("h", "i", "j")
_PIDS = ("0", "$self", "1", "2", "999999", "-1", "x", "", " 0\n", "$p $q", "4294967296")
_OPEN_FLAGS = ("O_RDONLY", "O_RDWR", "O_RDWR", "O_RDWR", "O_WRONLY", "O_RDWR|O_TRUNC", "O_RDONLY|O_DIRECTORY",
               "O_RDWR|O_CREAT", "O_PATH")  # fmt: skip
_MODES = ("0755", "0700", "0777", "0000", "0555", "1777", "2755", "4755", "0644")
_IDS = ((1000, 1000), (1000, 2000), (2000, 1000))
_NAMES = (
    "n", "cgroup.procs", "pids.max", "memory.max", "tasks", "x\ny", ".", "..", "n/", " ", ".x", "\u00e9", "nosuch/n",
    "cgroup.procs/n", {"repeat": ["n", 255]}, {"repeat": ["n", 256]}, "a", "c",
)  # fmt: skip
_ATTRIBUTES = ("user.x", "user.y", "trusted.x", "security.x", "user.", "foo", "system.posix_acl_access")


def subjects(layout: str, version: str) -> list[str]:
    """What all cases can be about, on a kernel; ``random_cases`` takes them."""
    kernel = Kernel(layout, version)
    return [name for name, (has, _, _) in _SUBJECTS.items() if has(kernel)]


def random_cases(
    seed: int, layout: str, version: str, operations: int, length: int = 60, always: str = "", about: str = ""
) -> list[Case]:
    """Cases of ``length`` operations each, about ``operations`` together; another seed gives other cases.

    ``always`` names a controller that every case uses, where the kernel has it.  ``about`` is one of ``subjects``: all
    cases are about that.  Else one in eight is about one of them.  Raises ValueError for another subject.
    """
    known = subjects(layout, version)
    if about and about not in known:
        raise ValueError(f"no cases about {about!r} for layout {layout}, kernel {version}: there is {', '.join(known)}")
    kernel = Kernel(layout, version, cpus=4, numa_nodes=2, block_devices=("259:0", "259:1"))
    result: list[Case] = []
    left = operations
    while left > 0:
        number = len(result) + 1
        chance = random.Random(f"{layout} {version} {seed} {number}")
        subject = about
        if not about and not always and known and chance.random() < 0.125:
            subject = chance.choice(known)
        if subject:
            _, least, write = _SUBJECTS[subject]
            ops = write(chance, kernel, max(length, least))[:left]
        else:
            ops = _Writer(chance, kernel, always).ops(min(left, length))
        case = Case(f"random {seed}/{number}", layout, tuple(ops))
        left -= len(case.ops)
        result.append(case)
    return result


def _partitions(chance: random.Random, kernel: Kernel, length: int) -> _Ops:
    return partition_ops(chance, length, exclusive=kernel.personality.at_least(6, 12))


def _cpus(chance: random.Random, kernel: Kernel, length: int) -> _Ops:
    if kernel.layout != "v2":
        return legacy_cpu_ops(chance, length)
    return partition_ops(chance, length, exclusive=kernel.personality.at_least(6, 12), hotplug=True)


def _has_cpusets(kernel: Kernel) -> bool:
    return any("cpuset" in hierarchy.controllers for hierarchy in kernel.hierarchies)


def _threads(chance: random.Random, kernel: Kernel, length: int) -> _Ops:
    roots = [""] if kernel.layout == "v2" else [name for name in sorted(kernel.listdir("/")) if name in _THREAD_TREES]
    return thread_ops(chance, length, chance.choice(roots))


def _capabilities(chance: random.Random, kernel: Kernel, length: int) -> _Ops:
    return capability_ops(chance, length, "" if kernel.layout == "v2" else "pids")


def _notifications(chance: random.Random, kernel: Kernel, length: int) -> _Ops:
    return notification_ops(chance, length)


#: v1 hierarchies that leave their tasks alone.
_THREAD_TREES = ("pids", "net_cls,net_prio", "net_cls", "perf_event", "devices")
_Subject = tuple[Callable[[Kernel], bool], int, Callable[[random.Random, Kernel, int], _Ops]]
#: What cases can be about: which kernels have it, how long a case is at least, and who writes it.
_SUBJECTS: dict[str, _Subject] = {
    "partitions": (lambda kernel: kernel.layout == "v2", 120, _partitions),
    "cpus": (_has_cpusets, 120, _cpus),
    "threads": (lambda kernel: kernel.layout != "hybrid", 60, _threads),
    "capabilities": (lambda kernel: kernel.layout != "hybrid", 60, _capabilities),
    "notifications": (lambda kernel: kernel.layout == "v2", 60, _notifications),
}


class _Writer:
    """Writes one case.  Of the tree it knows only which directories and handles there should be: operations that cannot
    work are wanted too, but not most of the time.

    Each case has a few files that it writes most, so that they meet, and some kinds of operations more often than
    others.
    """

    def __init__(self, chance: random.Random, kernel: Kernel, always: str) -> None:
        self._chance = chance
        self._always = always
        self._layout = kernel.layout
        self._controllers: list[str] = []  # those that the case enables in the unified hierarchy
        self._trees = self._choose_trees(kernel)
        self._unified = next((name for name, tree in self._trees.items() if tree.dfl), None)
        self._hot = self._choose_files()
        hot = {file for files in self._hot.values() for file in files}
        self._freezes = bool(hot & {"cgroup.freeze", "freezer.state"})
        self._throttles = bool(hot & {"cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"})
        self._kills = "cgroup.kill" in hot
        self._late = any(file.startswith(_ANSWERS_LATE) for file in hot)
        self._directories: list[str] = []  # what was made, with the hierarchy's own in front
        self._opened: dict[str, str] = {}  # handle: name of its file
        self._user = False  # whether the writer is one just now
        self._made: list[str] = []
        self._threads: list[str] = []

    # -- what the case is about -------------------------------------------------------------------

    def _choose_trees(self, kernel: Kernel) -> dict[str, Hierarchy]:
        """The hierarchies that the case uses, by their directory ("" for the unified one)."""
        if self._layout == "v2":
            return {"": kernel.hierarchies[0]}
        roots = {name: kernel.walk(name, follow=False) for name in sorted(kernel.listdir("/"))}
        every = {name: root.hierarchy for name, root in roots.items() if isinstance(root, Cgroup)}
        weights = [30 if tree.dfl else 2 + min(6, len(_written(tree))) for tree in every.values()]
        names = set(self._chance.choices(list(every), weights, k=self._chance.choice((1, 1, 2))))
        names |= {name for name, tree in every.items() if self._always in tree.controllers}
        return {name: every[name] for name in sorted(names)}

    def _choose_files(self) -> dict[str, list[str]]:
        chance = self._chance
        result = {}
        threaded = self._unified is not None and chance.random() < 0.2 and not self._always
        for name, tree in self._trees.items():
            owners = [*tree.controllers]
            if tree.dfl:
                names = sorted(name for name, one in tree.controllers.items() if one.threaded or not threaded)
                self._controllers = _some(chance, names, chance.choice((0, 0, 1) if self._always else (0, 1, 1, 2, 3)))
                if self._always in tree.controllers.keys() - self._controllers:
                    self._controllers.append(self._always)
                owners = self._controllers or owners
            own = [file for file, entry in tree.child_table.items() if entry.controller in owners]
            core = [file for file, entry in tree.child_table.items() if entry.controller is None]
            written = [file for file in _written(tree) if file in own]
            shown = [file for file in own if file not in written]
            picked = [*_some(chance, written, 6), *_some(chance, shown, 2), *_some(chance, core, 2 if own else 4)]
            if not tree.dfl and chance.random() < 0.3:
                picked += ["tasks", "cgroup.procs"]
            if "cpuset" in owners:
                picked += [file for file in _CPUSET_RULES if file in tree.child_table]
            if threaded and tree.dfl:
                picked += ["cgroup.type", "cgroup.type", "cgroup.threads", "cgroup.procs"]
            result[name] = picked
        return result

    def ops(self, length: int) -> _Ops:
        """``length`` operations."""
        chance = self._chance
        result = self._begin()
        kinds: list[tuple[float, Callable[[], _Ops]]] = [
            (30, self._set),
            (8, self._set_strangely),
            (5, self._read),
            (8, self._make),
            (5, self._remove),
            (8, self._move),
            (3, self._name),
            (5, self._attributes),
            (4, self._open),
            (10, self._use),
            (3, self._as_user),
            (4, self._act),
            (3, self._die),
            (1, self._xattr),
        ]
        weights = [weight * chance.choice((0, 0.5, 1, 1, 3)) for weight, _ in kinds]
        weights[0] += 10
        if self._unified is not None:
            kinds.append((0, self._control))
            weights.append(chance.choice((1, 4, 20)))
        while len(result) < length:
            ((_, write),) = chance.choices(kinds, weights)
            result += write()
        return result[:length]

    def _all_on(self) -> str:
        return " ".join(f"+{name}" for name in self._controllers)

    def _begin(self) -> _Ops:
        result: _Ops = []
        control = self._all_on()
        if control:
            result.append(("write", _join(self._unified or "", "cgroup.subtree_control"), control))
        for directory in _DIRECTORIES[: self._chance.randint(1, len(_DIRECTORIES))]:
            for tree in self._trees:
                path = _join(tree, directory)
                result.append(self._mkdir(path))
                if control and tree == self._unified and "/d" not in directory and self._chance.random() < 0.7:
                    result.append(("write", _join(path, "cgroup.subtree_control"), control))
        return result

    # -- places -----------------------------------------------------------------------------------

    def _tree(self) -> str:
        return self._chance.choice(sorted(self._trees))

    def _place(self) -> str:
        """A cgroup that may be there; seldom the root."""
        return self._tree() or "." if self._chance.random() < 0.05 else self._below()

    def _below(self) -> str:
        """A cgroup below the root: mostly one that was made."""
        if self._directories and self._chance.random() < 0.93:
            return self._chance.choice(self._directories)
        return _join(self._tree(), self._chance.choice(_DIRECTORIES))

    def _tree_of(self, path: str) -> str:
        return "" if self._layout == "v2" else path.partition("/")[0]

    def _mkdir(self, path: str) -> tuple[Any, ...]:
        parent = path.rpartition("/")[0]
        if path not in self._directories and (parent in self._directories or parent in self._trees):
            self._directories.append(path)
        return ("mkdir", path)

    def _path_of_file(self) -> tuple[str, str]:
        """A file's name and path: mostly one of the case's own, sometimes any that the kernel has."""
        chance = self._chance
        tree = self._tree()
        if chance.random() < 0.1:
            file = chance.choice([name for name in self._trees[tree].root_table if name not in _OF_THE_MACHINE])
            return file, _join(tree, file)
        place = self._below()
        tree = self._tree_of(place)
        file = chance.choice(self._hot[tree] if chance.random() < 0.88 else sorted(self._trees[tree].child_table))
        return file, _join(place, file)

    def _any_path(self) -> str:
        return self._path_of_file()[1] if self._chance.random() < 0.4 else self._below()

    # -- files ------------------------------------------------------------------------------------

    def _value(self, file: str, *, strangely: bool = False) -> Any:
        chance = self._chance
        if file in PID_FILES:
            return self._pid()
        if file == "cgroup.subtree_control":
            return self._control_value()
        texts = strange_values(file) if strangely else values(file)
        return chance.choice(texts or values(file))

    def _writes(self, file: str) -> bool:
        """Whether the case may write this file at all."""
        if file in ("cgroup.freeze", "freezer.state"):
            return self._freezes
        if file in ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"):
            return self._throttles
        return (
            file != "cgroup.event_control" and not file.startswith("io.cost") and (file != "cgroup.kill" or self._kills)
        )

    def _set(self, strangely: bool = False) -> _Ops:
        file, path = self._path_of_file()
        tree = self._trees[self._tree_of(path)]
        shown = file in tree.child_table and not tree.child_table[file].row.permissions & 0o222
        if not self._writes(file) or (shown and not strangely and self._chance.random() < 0.7):
            return [("read", path)]
        result: _Ops = [("write", path, self._value(file, strangely=strangely))]
        if file in _TAKES_TIME or (file == "cgroup.subtree_control" and self._late):
            result.append(("settle", 30))
        directory = path.removesuffix(file)
        result.append(("read", path))
        if file.startswith("cpuset.") and self._chance.random() < 0.5:
            result.append(("read", directory + self._chance.choice(_CPUSET_STATE[tree.dfl])))
        if file in ("cgroup.freeze", "cgroup.kill"):
            result.append(("read", directory + "cgroup.events"))
        if file == "freezer.state":
            result.append(("read", directory + "freezer.self_freezing"))
        if file in ("devices.allow", "devices.deny"):
            result[-1] = ("read", directory + "devices.list")
        return result

    def _set_strangely(self) -> _Ops:
        return self._set(strangely=True)

    def _read(self) -> _Ops:
        return [("read", self._path_of_file()[1])]

    def _control_value(self) -> str:
        chance = self._chance
        names = [
            *self._controllers,
            *self._controllers,
            *self._trees[self._unified or ""].controllers,
            "perf_event",
            "nosuch",
        ]
        return " ".join(chance.choice("++++-") + chance.choice(names) for _ in range(chance.choice((1, 1, 1, 2, 3))))

    def _control(self) -> _Ops:
        place = self._place()
        if self._tree_of(place) != self._unified:
            return []
        path = _join(place, "cgroup.subtree_control")
        return [
            ("write", path, self._control_value()),
            *([("settle", 30)] if self._late else []),
            ("read", path),
            ("read", _join(self._below(), "cgroup.controllers")),
        ]

    # -- directories and names --------------------------------------------------------------------

    def _make(self) -> _Ops:
        if self._chance.random() < 0.15:
            return [("mkdir", self._odd_name(), self._chance.choice(_MODES))]
        directory = self._chance.choice(_DIRECTORIES)
        result = [self._mkdir(_join(tree, directory)) for tree in self._trees]
        if self._controllers and self._chance.random() < 0.5:
            place = _join(self._unified or "", directory)
            result.append(("write", _join(place, "cgroup.subtree_control"), self._all_on()))
        return result

    def _remove(self) -> _Ops:
        if self._chance.random() < 0.1:
            return [("rmdir", self._odd_name() if self._chance.random() < 0.5 else self._any_path())]
        place = self._place()
        if self._chance.random() < 0.6:  # the innermost below it
            place = max((path for path in self._directories if path.startswith(place)), key=len, default=place)
        if place in self._directories and not any(path.startswith(place + "/") for path in self._directories):
            self._directories.remove(place)
        removal = ("rmdir", place)
        return [removal, ("settle", 60)] if self._late else [removal]  # a removed cgroup still counts for a while

    def _odd_name(self) -> Any:
        name = self._chance.choice(_NAMES)
        place = self._place()
        return _join(place, name) if isinstance(name, str) else {"join": [place, "/", name]}

    def _name(self) -> _Ops:
        chance = self._chance
        path, other = self._any_path(), self._odd_name() if chance.random() < 0.5 else self._any_path()
        if self._layout != "v2" and chance.random() < 0.5:
            parent, _, _name = self._below().rpartition("/")
            return [("rename", self._below(), f"{parent}/{chance.choice(('n', 'c', 'a', 'f'))}")]
        return [
            chance.choice(
                [
                    ("rename", path, other),
                    ("rename", path, other, chance.choice((1, 2, 4, 8))),
                    ("unlink", path),
                    ("symlink", "t", other),
                    ("link", path, other),
                    ("readlink", path),
                    ("mknod", other, chance.choice(("0100644", "010644", "0140644"))),
                    ("creat", other),
                    ("truncate", path, chance.choice((0, 5, -1, 1 << 40))),
                ]
            )
        ]

    def _attributes(self) -> _Ops:
        chance = self._chance
        path = self._any_path()
        uid, gid = chance.choice(_IDS)
        kinds: list[_Ops] = [
            [("chmod", path, chance.choice(_MODES)), ("stat", path)],
            [("chown", path, chance.choice((uid, -1, 0)), chance.choice((gid, -1, 0))), ("stat", path)],
            [("stat", path), ("listdir", self._place())],
            [("listraw", self._place())],
            [("access", path, chance.choice(("F", "R", "W", "X", "R|W")))],
            [("utimens", path, 5, 7), *([] if self._user else [("mtime", path)])],
            [("umask", chance.choice(("022", "0", "077")))],
            [("statfs", path)],
        ]
        return chance.choice(kinds)

    def _xattr(self) -> _Ops:
        chance = self._chance
        path, name = self._any_path(), chance.choice(_ATTRIBUTES)
        return [
            chance.choice(
                [
                    ("setxattr", path, name, chance.choice(("", "v", "w" * 300)), chance.choice((0, 0, 1, 2))),
                    ("setxattr", path, "user.x", "v"),
                    ("getxattr", path, name, chance.choice((65536, 0, 1))),
                    ("listxattr", path),
                    ("removexattr", path, name),
                ]
            )
        ]

    # -- open files -------------------------------------------------------------------------------

    def _open(self) -> _Ops:
        chance = self._chance
        file, path = self._path_of_file()
        flags = chance.choice(_OPEN_FLAGS)
        if not self._writes(file):
            flags = "O_RDONLY"
        if file in PID_FILES:
            flags = "O_WRONLY"
        if chance.random() < 0.1:
            path = self._below()
        handle = chance.choice(_HANDLES)
        self._opened[handle] = file
        return [("open", handle, path, flags)]

    def _use(self) -> _Ops:
        chance = self._chance
        if not self._opened:
            return self._open()
        handle = chance.choice(sorted(self._opened))
        value = self._value(self._opened[handle], strangely=chance.random() < 0.2)
        kinds: list[_Ops] = [
            [("fread", handle, chance.choice((1, 3, 4096)))],
            [("fread", handle, chance.choice((1, 3, 4096)))],
            [("fpread", handle, 4096, chance.choice((0, 0, 1, 5000)))],
            [("fwrite", handle, value), ("settle", 30), ("fpread", handle, 4096, 0)],
            [("fpwrite", handle, value, chance.choice((0, 3, -1)))],
            [("lseek", handle, chance.choice((0, 0, 1, -1, 1 << 62)), chance.choice((0, 0, 1, 2, 3)))],
            [("settle", 30), ("poll", handle, chance.choice(("IN", "IN|PRI|OUT")))],
            [("fstat", handle)],
            [("ftruncate", handle, chance.choice((0, 5, -1)))],
            [("fsync", handle)],
        ]
        if chance.random() < 0.03:
            del self._opened[handle]
            return [("close", handle)]
        return chance.choice(kinds)

    # -- who does it ------------------------------------------------------------------------------

    def _as_user(self) -> _Ops:
        chance = self._chance
        place = self._below()
        uid, gid = chance.choice(_IDS)
        result: _Ops = []
        if chance.random() < 0.7:
            result.append(("chown", place, uid, gid))
            for file in ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads", "tasks"):
                if chance.random() < 0.7 and file in self._trees[self._tree()].child_table:
                    result.append(("chown", _join(place, file), uid, gid))
        result.append(("as", uid, gid))
        self._user = True
        kinds = (self._set, self._make, self._remove, self._move, self._name, self._attributes, self._open, self._use,
                 self._xattr)  # fmt: skip
        for _ in range(chance.randint(1, 5)):
            if chance.random() < 0.4:
                result.append(self._mkdir(_join(place, chance.choice(("c", "d", "e", "f")))))
            result += chance.choice(kinds)()
        result.append(("as", 0, 0))
        self._user = False
        return result

    # -- processes --------------------------------------------------------------------------------

    def _pid(self) -> str:
        chance = self._chance
        if chance.random() < 0.12:
            text = chance.choice(_PIDS)
            return "x" if self._stays() and (text.strip() in ("0", "$self")) else text
        names = [*self._made, *self._threads]
        if not self._stays() and chance.random() < 0.15:
            return "$self"
        return f"${chance.choice(names)}" if names else "999999"

    def _stays(self) -> bool:
        """Whether the writer itself may not move: what the case does would stop it."""
        return self._freezes or self._throttles or self._kills

    def _sleeps(self) -> bool:
        """Whether the case's processes do nothing: they may be frozen, or short of CPU time."""
        return self._freezes or self._throttles

    def _fork(self) -> _Ops:
        left = [name for name in _PROCESSES if name not in self._made]
        if not left:
            return []
        self._made.append(left[0])
        if self._chance.random() < 0.3:
            return [("clone_into", left[0], self._place()), ("read", _join(self._below(), "cgroup.procs"))]
        return [("fork", left[0])]

    def _move(self) -> _Ops:
        chance = self._chance
        result = self._fork() if not self._made or chance.random() < 0.15 else []
        place = self._place()
        unified = self._tree_of(place) == self._unified
        files = ("cgroup.procs", "cgroup.procs", "cgroup.threads") if unified else ("cgroup.procs", "tasks")
        path = _join(place, chance.choice(files))
        result += [("write", path, self._pid())]
        if self._freezes:
            result.append(("settle", 30))
        result.append(("read", path))
        more = ("cgroup.type", "cgroup.events", "pids.current", "cgroup.threads", "cgroup.stat") if unified else (
            "tasks", "pids.current", "freezer.state")  # fmt: skip
        result.append(("read", _join(self._below(), chance.choice(more))))
        return result

    def _act(self) -> _Ops:
        """A process does something, or is asked about."""
        chance = self._chance
        if not self._made:
            return self._fork()
        name = chance.choice([*self._made, *self._threads])
        if self._sleeps() or chance.random() < 0.3:
            return [("proc", name, "cgroup")]
        if chance.random() < 0.4 and len(self._threads) < 4:
            thread = f"t{len(self._threads)}"
            leader = chance.choice(self._made)
            self._threads.append(thread)
            return [("in", leader, "thread", thread), ("read", _join(self._below(), "cgroup.threads"))]
        if chance.random() < 0.15:
            uid, gid = chance.choice(((0, 0), (1000, 1000)))
            return [("in", name, "as", uid, gid)]
        operation = chance.choice((self._set, self._make, self._move, self._attributes))()[0]
        if operation[0] in ("fork", "umask"):
            return []
        return [("in", name, *operation)]

    def _die(self) -> _Ops:
        chance = self._chance
        if not self._made or self._sleeps():
            return []
        read = ("read", _join(self._below(), chance.choice(("cgroup.procs", "pids.current", "cgroup.events"))))
        if self._threads and chance.random() < 0.3:
            return [("in", chance.choice(self._threads), "exit"), ("settle", 20), read]
        name = chance.choice(self._made)
        result: _Ops = [("kill", name) if chance.random() < 0.6 else ("in", name, "exit", 3), ("settle", 20), read]
        if chance.random() < 0.7:
            result += [("wait", name), ("settle", 20), read]
            self._made.remove(name)
            self._threads.clear()
        return result


#: After these files changed, what the kernel shows may follow a little later.
_TAKES_TIME = ("cpuset.cpus.partition", "cpuset.cpus", "cpuset.cpus.exclusive", "cgroup.kill", "cgroup.freeze",
               "freezer.state")  # fmt: skip
#: Removed cgroups with these files count for a while longer.
_ANSWERS_LATE = ("cpuset.", "cgroup.stat", "devices.", "freezer.", "memory.use_hierarchy", "cgroup.freeze")
#: What other cpusets are checked against.
_CPUSET_RULES = ("cpuset.cpus", "cpuset.mems", "cpuset.cpus.partition", "cpuset.cpus.exclusive", "cpuset.cpu_exclusive")
#: In the root, what cases before have done to the disks shows up in them.
_OF_THE_MACHINE = tuple(
    f"blkio.throttle.{name}{suffix}" for name in ("io_service_bytes", "io_serviced") for suffix in ("", "_recursive")
)
_CPUSET_STATE = {
    True: ("cpuset.cpus.effective", "cpuset.mems.effective", "cpuset.cpus.partition",
           "cpuset.cpus.exclusive.effective"),
    False: ("cpuset.effective_cpus", "cpuset.effective_mems", "cpuset.cpus", "cpuset.mems"),
}  # fmt: skip


def _written(tree: Hierarchy) -> list[str]:
    """The files of the hierarchy's controllers that can be written, in a cgroup below the root."""
    return [name for name, entry in tree.child_table.items() if entry.controller and entry.row.permissions & 0o222]


def _some(chance: random.Random, names: list[str], count: int) -> list[str]:
    return chance.sample(names, min(len(names), count))


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}".strip("/") if directory and name else directory or name
