"""Who is woken when a file changes by itself: epoll, poll of several open files, inotify, eventfds."""

from __future__ import annotations

from collections.abc import Iterator

from fakecgroup.conformance.case import Case

_REST = ("settle", 40)  # a kernel notifies at most every 12 ms and puts the rest off
_ALL = 0xFFF  # IN_ALL_EVENTS
_MODIFY = 2


def cases() -> Iterator[Case]:
    yield from _epoll()
    yield from _wakes()
    yield from _inotify()
    yield from _removal()
    yield from _triggers()
    yield from _eventfds()


def _opened(**files: str) -> tuple[tuple[object, ...], ...]:
    """Opens files under their names and reads them, so that nothing of them is new."""
    return tuple(op for name, path in files.items() for op in (("open", name, path), ("fread", name, 500)))


def _edge(*names: str) -> tuple[tuple[object, ...], ...]:
    """Waits for the wakes of open files."""
    return (("epoll", "e"), *(("epoll_add", "e", name, "PRI|ET") for name in names), ("ready", "e"))


_LOOK = (_REST, ("ready", "e"))


def _epoll() -> Iterator[Case]:
    yield Case("epoll tells of each wake once or until it is read", "v2", (
        ("mkdir", "a"), ("fork", "w"), ("open", "h", "a/cgroup.events"), ("open", "k", "a/cgroup.events"),
        ("open", "d", "a", "O_RDONLY|O_DIRECTORY"), ("open", "p", "a/cgroup.procs"), ("open", "o", "a", "O_PATH"),
        ("epoll", "e"), ("epoll_add", "e", "h", "PRI"), ("epoll_add", "e", "k", "PRI|ET"),
        ("epoll_add", "e", "d", "PRI"), ("epoll_add", "e", "o", "PRI"), ("epoll_add", "e", "p", "IN|PRI|ET"),
        ("epoll_add", "e", "h", "IN"), ("ready", "e"), ("ready", "e"), ("fread", "h", 100), ("fread", "k", 100),
        ("ready", "e"), ("write", "a/cgroup.procs", "$w"), *_LOOK, ("ready", "e"),
        ("write", "cgroup.procs", "$w"), *_LOOK, ("ready", "e"), ("fpread", "h", 100, 0), ("ready", "e"),
        ("fpread", "k", 100, 0), ("ready", "e")))  # fmt: skip
    yield Case("each open file has its own event to read", "v2", (
        ("mkdir", "a"), ("fork", "w"), ("open", "h", "a/cgroup.events"), ("open", "k", "a/cgroup.events"),
        ("fread", "h", 100), ("write", "a/cgroup.procs", "$w"), _REST, ("poll", "h", "IN|PRI"), ("fread", "k", 1),
        ("poll", "k", "IN|PRI"), ("poll", "h", "IN|PRI"), ("open", "l", "a/cgroup.events"), ("poll", "l", "IN|PRI"),
        ("close", "h"), ("close", "k"), ("close", "l"), ("open", "h", "a/cgroup.events"), ("poll", "h", "IN|PRI"),
        ("fread", "h", 100), ("poll", "h", "IN|PRI")))  # fmt: skip


def _wakes() -> Iterator[Case]:
    yield Case("a value that flips back wakes too", "v2", (
        ("mkdir", "a"), ("fork", "w"), *_opened(h="a/cgroup.events"), *_edge("h"),
        ("inotify", "i"), ("watch", "i", "a/cgroup.events", _MODIFY), ("write", "a/cgroup.procs", "$w"),
        ("write", "cgroup.procs", "$w"), *_LOOK, *_LOOK, ("fpread", "h", 100, 0), *_LOOK, ("events", "i"),
        ("events", "i")))  # fmt: skip
    yield Case("a move wakes what it empties and fills, and not what is above both", "v2", (
        ("mkdir", "p"), ("mkdir", "p/a"), ("mkdir", "p/b"), ("fork", "w"), ("write", "p/a/cgroup.procs", "$w"),
        *_opened(p="p/cgroup.events", a="p/a/cgroup.events", b="p/b/cgroup.events"), *_edge("p", "a", "b"), _REST,
        ("write", "p/b/cgroup.procs", "$w"), *_LOOK, ("write", "p/b/cgroup.procs", "$w"), *_LOOK))  # fmt: skip
    yield Case("the first process and the last one wake, not those between", "v2", (
        ("mkdir", "a"), ("fork", "v"), *_opened(h="a/cgroup.events"), *_edge("h"), ("clone_into", "w", "a"), *_LOOK,
        ("in", "w", "thread", "t"), ("in", "w", "fork", "x"), ("write", "a/cgroup.procs", "$v"), *_LOOK,
        ("kill", "v"), *_LOOK, ("kill", "x"), *_LOOK, ("kill", "w"), ("until", "a/cgroup.events", "populated 0"),
        *_LOOK, ("wait", "w"), *_LOOK))  # fmt: skip
    yield Case("parents wake as far up as something changes", "v2", (
        ("mkdir", "a"), ("mkdir", "a/b"), ("mkdir", "a/b/c"), ("fork", "w"), ("fork", "x"),
        *_opened(a="a/cgroup.events", b="a/b/cgroup.events", c="a/b/c/cgroup.events"), *_edge("a", "b", "c"),
        ("write", "a/b/c/cgroup.procs", "$w"), *_LOOK, ("write", "a/cgroup.procs", "$x"), *_LOOK,
        ("write", "cgroup.procs", "$w"), *_LOOK, ("kill", "x"), ("until", "a/cgroup.events", "populated 0"),
        *_LOOK))  # fmt: skip
    yield Case("freezing wakes those that freeze", "v2", (
        ("mkdir", "a"), ("mkdir", "a/b"),
        *_opened(a="a/cgroup.events", b="a/b/cgroup.events", f="a/cgroup.freeze"), *_edge("a", "b", "f"),
        *(op for name, value in (("a", "1"), ("a", "1"), ("a/b", "1"), ("a", "0"), ("a/b", "0"))
          for op in (("write", f"{name}/cgroup.freeze", value), *_LOOK))))  # fmt: skip
    yield Case("cgroup.kill wakes once", "v2", (
        ("mkdir", "a"), ("mkdir", "a/b"), ("fork", "w"), ("fork", "x"), ("fork", "y"),
        ("write", "a/cgroup.procs", "$w"), ("write", "a/b/cgroup.procs", "$x"), ("write", "a/b/cgroup.procs", "$y"),
        _REST, *_opened(a="a/cgroup.events", b="a/b/cgroup.events"), *_edge("a", "b"), ("write", "a/cgroup.kill", "1"),
        ("until", "a/cgroup.events", "populated 0"), ("settle", 100), ("ready", "e"), ("fpread", "a", 100, 0),
        ("fpread", "b", 100, 0), ("wait", "w"), ("wait", "x"), ("wait", "y"), *_LOOK))  # fmt: skip
    yield Case("threads are killed with their domain alone", "v2", (
        ("mkdir", "a"), ("mkdir", "a/t"), ("fork", "w"), ("write", "a/t/cgroup.type", "threaded"),
        ("write", "a/t/cgroup.kill", "1"), ("write", "a/t/cgroup.kill", "2"), ("write", "a/t/cgroup.kill", "x"),
        ("write", "a/cgroup.procs", "$w"), ("write", "a/t/cgroup.threads", "$w"),
        *_opened(a="a/cgroup.events", t="a/t/cgroup.events"), *_edge("a", "t"), ("write", "a/t/cgroup.kill", "1"),
        ("write", "a/cgroup.kill", "1"), ("until", "a/cgroup.events", "populated 0"), ("settle", 100), ("ready", "e"),
        ("wait", "w")))  # fmt: skip
    yield Case("pids.events wakes where a fork is refused", "v2", (
        ("write", "cgroup.subtree_control", "+pids"), ("mkdir", "a"), ("write", "a/cgroup.subtree_control", "+pids"),
        ("mkdir", "a/b"), ("fork", "w"), ("write", "a/b/cgroup.procs", "$w"), ("write", "a/b/pids.max", "1"),
        *_opened(h="a/pids.events", k="a/b/pids.events"), *_edge("h", "k"), ("inotify", "i"),
        ("watch", "i", "a/pids.events", _MODIFY), ("watch", "i", "a/b/pids.events", _MODIFY),
        ("in", "w", "fork", "x"), *_LOOK, ("events", "i"), ("write", "a/b/pids.max", "max"),
        ("write", "a/pids.max", "1"), ("in", "w", "fork", "x"), *_LOOK, ("events", "i")))  # fmt: skip
    state = "freezer/a/freezer.state"
    yield Case("freezer.state wakes nobody", "v1", (
        ("mkdir", "freezer/a"), ("fork", "w"), ("write", "freezer/a/tasks", "$w"), *_opened(h=state), *_edge("h"),
        ("inotify", "i"), ("watch", "i", state, _MODIFY), ("write", state, "FROZEN"), ("until", state, "FROZEN"),
        *_LOOK, ("events", "i"), ("write", state, "THAWED"), *_LOOK, ("events", "i")))  # fmt: skip


def _inotify() -> Iterator[Case]:
    yield Case("a watch hears of each change and of no process between", "v2", (
        ("mkdir", "a"), ("mkdir", "a/b"), ("fork", "w"), ("fork", "x"), ("inotify", "i"),
        ("watch", "i", "a/cgroup.events", _MODIFY), ("watch", "i", "a/b/cgroup.events", _MODIFY),
        ("watch", "i", "a", _MODIFY), ("watch", "i", "a/b", _MODIFY), ("write", "a/b/cgroup.procs", "$w"), _REST,
        ("events", "i"), ("write", "a/cgroup.procs", "$x"), _REST, ("events", "i"), ("write", "cgroup.procs", "$w"),
        _REST, ("events", "i"), ("kill", "x"), ("until", "a/cgroup.events", "populated 0"), _REST, ("events", "i"),
        ("wait", "x"), _REST, ("events", "i")))  # fmt: skip
    yield Case("an end in a v1 cgroup is no event of its files", "v1", (
        ("mkdir", "pids/a"), ("fork", "w"), ("inotify", "i"), ("watch", "i", "pids/a", _MODIFY),
        ("write", "pids/a/tasks", "$w"), _REST, ("events", "i"), ("kill", "w"), ("wait", "w"), _REST,
        ("events", "i")))  # fmt: skip
    yield Case("a watch hears of a new name", "v1", (
        ("mkdir", "pids/a"), ("inotify", "i"), ("watch", "i", "pids", _ALL), ("watch", "i", "pids/a", _ALL),
        ("watch", "i", "pids/a/tasks", _ALL), ("rename", "pids/a", "pids/b"), _REST, ("events", "i")))  # fmt: skip


def _removal() -> Iterator[Case]:
    yield Case("a watch of what is removed", "v2", (
        ("mkdir", "a"), ("mkdir", "a/b"), ("inotify", "i"), ("watch", "i", "a/b", _ALL),
        ("watch", "i", "a/b/cgroup.events", _ALL), ("watch", "i", "a/b/cgroup.procs", _ALL), ("rmdir", "a/b"), _REST,
        ("events", "i"), ("mkdir", "a/b"), ("events", "i")))  # fmt: skip
    yield Case("a watch above what is removed", "v2", (
        ("mkdir", "a"), ("mkdir", "a/b"), ("inotify", "i"), ("watch", "i", "a", _ALL), ("rmdir", "a/b"), _REST,
        ("events", "i"), ("mkdir", "a/b"), ("events", "i")))  # fmt: skip
    yield Case("a watch of files whose controller goes", "v2", (
        ("write", "cgroup.subtree_control", "+pids"), ("mkdir", "a"), ("inotify", "i"), ("watch", "i", "a", _ALL),
        ("watch", "i", "a/pids.events", _ALL), ("watch", "i", "a/pids.max", _ALL),
        ("write", "cgroup.subtree_control", "-pids"), _REST, ("events", "i"),
        ("write", "cgroup.subtree_control", "+pids"), _REST, ("events", "i")))  # fmt: skip
    yield Case("removal wakes nobody", "v2", (
        ("write", "cgroup.subtree_control", "+pids +memory"), ("mkdir", "a"),
        *_opened(h="a/cgroup.events", k="a/cgroup.procs", p="a/pids.events", m="a/memory.events"),
        *_edge("h", "k", "p", "m"), ("write", "cgroup.subtree_control", "-pids -memory"), *_LOOK,
        ("poll", "p", "IN|PRI"), ("ready", "e"), ("rmdir", "a"), *_LOOK, ("poll", "h", "IN|PRI"),
        ("ready", "e")))  # fmt: skip


def _triggers() -> Iterator[Case]:
    set_trigger = (("open", "h", "a/cpu.pressure", "O_RDWR"), ("fwrite", "h", "some 100000 1000000"))
    yield Case("a pressure trigger wakes at the removal", "v2", (
        ("mkdir", "a"), *set_trigger, *_edge("h"), ("rmdir", "a"), *_LOOK, ("poll", "h", "IN|PRI")))  # fmt: skip
    yield Case("a pressure trigger wakes when pressure is switched off", "v2", (
        ("mkdir", "a"), *set_trigger, ("open", "g", "a/cpu.pressure", "O_RDWR"), *_edge("h", "g"),
        ("write", "a/cgroup.pressure", "0"), *_LOOK, ("write", "a/cgroup.pressure", "1"), *_LOOK))  # fmt: skip


def _eventfds() -> Iterator[Case]:
    a, b = "memory/a", "memory/a/b"
    control = f"{b}/cgroup.event_control"
    yield Case("a removal signals each event that was registered", "v1", (
        ("mkdir", a), ("mkdir", b), ("open", "o", f"{b}/memory.oom_control"),
        ("open", "u", f"{b}/memory.usage_in_bytes"), ("open", "p", f"{b}/memory.pressure_level"),
        ("open", "q", f"{a}/memory.oom_control"),
        *(("eventfd", name) for name in ("x", "y", "z", "v")), ("write", control, "$x $o"),
        ("write", control, "$y $u 1M"), ("write", control, "$z $p low"),
        ("write", f"{a}/cgroup.event_control", "$v $q"), ("write", control, "$x $u 2M"), ("close", "o"),
        ("eventcount", "x"), ("rmdir", b), ("settle", 500), *(("eventcount", name) for name in ("x", "y", "z", "v")),
        ("close", "v"), ("rmdir", a)))  # fmt: skip
    yield Case("another process registers with its own descriptors", "v1", (
        ("mkdir", a), ("open", "o", f"{a}/memory.oom_control"), ("eventfd", "x"),
        ("open", "c", f"{a}/cgroup.event_control", "O_WRONLY"), ("fork", "w"), ("in", "w", "fwrite", "c", "$x $o"),
        ("rmdir", a), ("settle", 100), ("eventcount", "x")))  # fmt: skip
    yield Case("an eventfd that was closed takes its event with it", "v1", (
        ("mkdir", a), ("open", "o", f"{a}/memory.oom_control"), ("eventfd", "x"),
        ("write", f"{a}/cgroup.event_control", "$x $o"), ("close", "x"), ("settle", 30), ("eventfd", "x"),
        ("rmdir", a), ("settle", 100), ("eventcount", "x")))  # fmt: skip
