"""The core's files on the unified hierarchy (kernel/cgroup/cgroup.c, cgroup_base_files and cgroup_psi_files)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from errno import EACCES, EBUSY, EEXIST, EINVAL, ENOENT, EOPNOTSUPP, ERANGE
from functools import partial
from typing import TYPE_CHECKING

from ..core.cftype import CFType, Where
from ..core.cgroup import INT_MAX, Cgroup
from ..credentials.permission import MAY_WRITE, permitted
from ..parse import kstrtoint, strstrip
from ..refuse import refuse
from ..tasks.task_iterator import TaskIterator
from . import threadmode
from .attach import attach, find_task
from .pressure import (
    poll_pressure,
    recall_pressure,
    show_cpu_pressure,
    show_io_pressure,
    show_memory_pressure,
    write_cpu_pressure,
    write_io_pressure,
    write_memory_pressure,
)

if TYPE_CHECKING:
    from ..core.file_context import FileContext
    from ..credentials.caller import Caller
    from ..kernfs.inode import Directory

# Every controller of the unified hierarchy in the kernel's order. perf_event is always on, if bound, and never listed.
_SUBSYSTEMS = ("cpuset", "cpu", "io", "memory", "perf_event", "hugetlb", "pids", "rdma", "misc")
_SETS: dict[frozenset[str], frozenset[str]] = {}  # of controllers, for cgroups to share: each to itself


def _known(cgroup: Cgroup) -> list[str]:
    """The controllers of this kernel, whether or not they can be enabled."""
    here = {"perf_event", *cgroup.hierarchy.controllers, *cgroup.hierarchy.taken}
    return [name for name in _SUBSYSTEMS if name in here]


def _bound(cgroup: Cgroup) -> list[str]:
    """The controllers of the unified hierarchy: those that no v1 hierarchy has."""
    return [name for name in _known(cgroup) if name not in cgroup.hierarchy.taken]


def available(cgroup: Cgroup) -> list[str]:
    """The controllers that may be enabled for the children (cgroup_control), in the kernel's order."""
    controllers = cgroup.hierarchy.controllers
    if cgroup.parent is None:
        names: set[str] | frozenset[str] = set(controllers)
    else:
        names = cgroup.parent.subtree_control
        if cgroup.threaded:
            names = {name for name in names if controllers[name].threaded}
    return [name for name in _known(cgroup) if name in names]


def _line(names: list[str]) -> str:
    return " ".join(names) + "\n" if names else ""


def show_controllers(cgroup: Cgroup) -> str:
    return _line(available(cgroup))


def show_subtree_control(cgroup: Cgroup) -> str:
    return _line([name for name in _known(cgroup) if name in cgroup.subtree_control])


def write_subtree_control(cgroup: Cgroup, text: str, of: FileContext, writer: Caller) -> None:
    """Take `+name` and `-name`, separated by spaces, all or nothing (cgroup_subtree_control_write).

    Raises EINVAL for a token that names no controller, ENOENT for one that the parent does not give, EBUSY to disable
    what a child uses and to enable beside processes, EOPNOTSUPP in a thread subtree, EEXIST if a child directory has
    the name of a file that would appear, then what `Css.online` raises.
    """
    known = _known(cgroup)
    wish: dict[str, bool] = {}
    for token in strstrip(text).split(" "):
        if not token:
            continue
        sign, name = token[0], token[1:]
        if name not in known or sign not in "+-":
            raise refuse(EINVAL)
        wish[name] = sign == "+"
    enable: list[str] = []
    disable: list[str] = []
    usable = available(cgroup)
    for name in known:
        if name not in wish or wish[name] == (name in cgroup.subtree_control):
            continue
        if wish[name]:
            if name not in usable:
                raise refuse(ENOENT)
            enable.append(name)
        else:
            if any(name in child.subtree_control for child in cgroup.children.values()):
                raise refuse(EBUSY)
            disable.append(name)
    hierarchy = cgroup.hierarchy
    if enable:
        hierarchy.prune(cgroup)
        threadmode.vet_enable(cgroup, any(not hierarchy.controllers[name].threaded for name in enable))
    children = list(cgroup.children.values())
    for name in enable:
        for file in hierarchy.files_of(hierarchy.controllers[name]):
            if any(file in child.children for child in children):
                raise refuse(EEXIST)
    before = [child.subsystems() for child in children]
    enabled = []
    try:
        for child in children:
            for controller in map(hierarchy.controllers.__getitem__, enable):
                if not child.threaded or controller.threaded:
                    hierarchy.enable(child, controller, writer)
                    enabled.append((child, controller))
    except OSError:
        for child, controller in enabled:
            hierarchy.disable(child, controller)
        raise
    names = (cgroup.subtree_control | set(enable)) - set(disable)
    cgroup.subtree_control = _SETS.setdefault(names, names)
    for name in enable:
        hierarchy.tell_of_tasks(name, [child for child, controller in enabled if controller.name == name], enabled=True)
    for name in disable:
        hierarchy.tell_of_tasks(name, [child for child in children if name in child.csses], enabled=False)
    for child in children:
        for name in disable:
            if name in child.csses:
                hierarchy.disable(child, hierarchy.controllers[name])
    changed = [child for child, had in zip(children, before, strict=True) if child.subsystems() != had]
    hierarchy.membership.css_sets.remake(changed)


def _subtree_control_again(text: str) -> list[str]:
    return [" ".join(f"+{name}" for name in text.split())] if text.split() else []


def show_type(cgroup: Cgroup) -> str:
    cgroup.hierarchy.prune(cgroup)
    return threadmode.kind(cgroup) + "\n"


def write_type(cgroup: Cgroup, text: str) -> None:
    """Take `threaded` (cgroup_type_write). Raises EINVAL for anything else, EOPNOTSUPP."""
    if strstrip(text) != "threaded":
        raise refuse(EINVAL)
    if cgroup.threaded:
        return
    cgroup.hierarchy.prune(cgroup)
    threadmode.vet_threaded(cgroup)
    assert cgroup.parent is not None
    domain = threadmode.domain_of(cgroup.parent)
    for member in (cgroup, *cgroup.descendants()):  # threaded cgroups below change their domain too
        if member is cgroup or member.threaded:
            member.domain = domain
    cgroup.parent.nr_threaded_children += 1
    for controller in cgroup.hierarchy.controllers.values():
        if controller.name in cgroup.csses and not controller.threaded:
            cgroup.hierarchy.disable(cgroup, controller)


def _type_again(text: str) -> list[str]:
    return ["threaded"] if text == "threaded\n" else []  # the other types follow from this


def _attach_allowed(cgroup: Cgroup, source: Cgroup, opener: Caller) -> bool:
    """True if the opener may write cgroup.procs of the common ancestor (cgroup_procs_write_permission)."""
    above = set(map(id, cgroup.lineage()))
    common = next(ancestor for ancestor in source.lineage() if id(ancestor) in above)
    procs = common.file("cgroup.procs")
    return procs is None or permitted(procs, MAY_WRITE, opener)


def _vet_attach(cgroup: Cgroup, source: Cgroup, caller: Caller, namespace: Directory | None) -> None:
    """Check that a task of `source` may move to `cgroup` (cgroup_attach_permissions).

    `namespace` is the root of the caller's cgroup namespace, None if it does not matter. Raises EACCES, ENOENT for a
    cgroup outside of the namespace, EOPNOTSUPP, EBUSY.
    """
    if not _attach_allowed(cgroup, source, caller):
        raise refuse(EACCES)
    if namespace is not None and not (_is_below(source, namespace) and _is_below(cgroup, namespace)):
        raise refuse(ENOENT)
    threadmode.vet_migration(cgroup)


def _is_below(cgroup: Cgroup, root: Directory) -> bool:
    """True for `root` itself and every cgroup below it."""
    return any(above is root for above in cgroup.lineage())


def vet_clone_into(cgroup: Cgroup, source: Cgroup, caller: Caller, *, threadgroup: bool = True) -> None:
    """Check that a task of `source` may start a process, or without `threadgroup` a thread, in `cgroup`
    (cgroup_css_set_fork).

    Raises ENOENT for a removed cgroup, EACCES, EOPNOTSUPP, EBUSY.
    """
    if cgroup.dead:
        raise refuse(ENOENT)
    procs = cgroup.file("cgroup.procs")
    if procs is not None and not permitted(procs, MAY_WRITE, caller):
        raise refuse(EACCES)
    _vet_attach(cgroup, source, caller, caller.cgroup_root() if cgroup.hierarchy.nsdelegate else None)
    _vet_threads(cgroup, source, threadgroup)


def _vet_threads(cgroup: Cgroup, source: Cgroup, threadgroup: bool) -> None:
    """Check that a single thread stays in its domain (cgroup_attach_permissions). Raises EOPNOTSUPP."""
    if not threadgroup and threadmode.domain_of(source) is not threadmode.domain_of(cgroup):
        raise refuse(EOPNOTSUPP)


def _write_pid(cgroup: Cgroup, text: str, of: FileContext, writer: Caller, threadgroup: bool) -> None:
    task = find_task(cgroup, text, writer, threadgroup)
    source = cgroup.hierarchy.locate(task)
    _vet_attach(cgroup, source, of.opener, of.namespace)
    _vet_threads(cgroup, source, threadgroup)
    attach(cgroup, task, threadgroup, writer)


def write_procs(cgroup: Cgroup, text: str, of: FileContext, writer: Caller) -> None:
    """Move the process that `text` names; 0 is the writer (__cgroup_procs_write).

    Raises in this order EINVAL, ESRCH, EACCES (by the opener's credentials), ENOENT outside of the opener's cgroup
    namespace (under nsdelegate), EOPNOTSUPP, EBUSY.
    """
    _write_pid(cgroup, text, of, writer, threadgroup=True)


def write_threads(cgroup: Cgroup, text: str, of: FileContext, writer: Caller) -> None:
    """Move one thread within its threaded domain. Raises what `write_procs` does, and EOPNOTSUPP across domains."""
    _write_pid(cgroup, text, of, writer, threadgroup=False)


def start_procs(cgroup: Cgroup, of: FileContext) -> Iterator[str]:
    """The processes here; in a thread root also those of its threaded subtree (cgroup_procs_start).

    A process that is not visible in the reader's pid namespace is a 0, and so is one that has gone since the last read
    (cgroup_procs_show). Raises EOPNOTSUPP in a threaded cgroup.
    """
    if cgroup.threaded:
        raise refuse(EOPNOTSUPP)
    return _listed(cgroup, of, cgroup.hierarchy.leaders)


def start_threads(cgroup: Cgroup, of: FileContext) -> Iterator[str]:
    """The threads here (cgroup_threads_start)."""
    return _listed(cgroup, of, lambda cgroup: [tid for tid, _ in cgroup.hierarchy.members(cgroup)])


def _listed(cgroup: Cgroup, of: FileContext, members: Callable[[Cgroup], list[int]]) -> Iterator[str]:
    walk = of.tasks
    taken = None if walk is None else walk.taken
    if walk is not None and taken is None:
        return
    hierarchy = cgroup.hierarchy
    set_of = hierarchy.membership.css_sets.set_of
    tasks = [(set_of(tid), tid) for tid in members(cgroup)]
    if walk is None:
        walk = of.tasks = TaskIterator(tasks)
    else:
        walk.go_on_in(tasks)
    if taken is not None and hierarchy.processes.find(taken) is None:
        walk.taken = 0
    number = of.reader.numbers().number
    for tid in walk:
        yield f"{number(tid) if tid else 0}\n"


def show_events(cgroup: Cgroup) -> str:
    cgroup.hierarchy.prune(cgroup)
    return f"populated {int(cgroup.populated)}\nfrozen {int(cgroup.frozen)}\n"


def _limit(value: int) -> str:
    return "max\n" if value == INT_MAX else f"{value}\n"


def _parse_limit(text: str) -> int:
    """A limit of `max` or 0..INT_MAX (cgroup_max_depth_write). Raises EINVAL, ERANGE for a negative number."""
    text = strstrip(text)
    value = INT_MAX if text == "max" else kstrtoint(text)
    if value < 0:
        raise refuse(ERANGE)
    return value


def show_max_depth(cgroup: Cgroup) -> str:
    return _limit(cgroup.max_depth)


def write_max_depth(cgroup: Cgroup, text: str) -> None:
    cgroup.max_depth = _parse_limit(text)


def show_max_descendants(cgroup: Cgroup) -> str:
    return _limit(cgroup.max_descendants)


def write_max_descendants(cgroup: Cgroup, text: str) -> None:
    cgroup.max_descendants = _parse_limit(text)


def show_stat(cgroup: Cgroup) -> str:
    """The number of descendants; from 6.12 on also of csses per subsystem, this cgroup's included."""
    lines = [f"nr_descendants {cgroup.nr_descendants}"]
    per_subsystem = cgroup.hierarchy.personality.at_least(6, 12)
    if per_subsystem:
        count = {**cgroup.hierarchy.count_csses(cgroup), "perf_event": cgroup.nr_descendants + 1}
        lines += [f"nr_subsys_{name} {count.get(name, 0)}" for name in _bound(cgroup)]
    lines.append("nr_dying_descendants 0")
    if per_subsystem:
        lines += [f"nr_dying_subsys_{name} 0" for name in _bound(cgroup)]
    return "\n".join(lines) + "\n"


def show_stat_local(cgroup: Cgroup) -> str:
    """Time spent frozen in µs, always 0."""
    return "frozen_usec 0\n"


def show_freeze(cgroup: Cgroup) -> str:
    return f"{int(cgroup.freeze)}\n"


def write_freeze(cgroup: Cgroup, text: str) -> None:
    """Take 0 or 1 (cgroup_freeze_write). Raises EINVAL for text that is no number, ERANGE for any other number.

    Below a frozen ancestor a write may change nothing. It is an event all the same (cgroup_freeze).
    """
    value = kstrtoint(strstrip(text))
    if value not in (0, 1):
        raise refuse(ERANGE)
    if bool(value) == cgroup.freeze:
        return
    subtree = (cgroup, *cgroup.descendants())
    before = [member.frozen for member in subtree]
    cgroup.freeze = bool(value)
    changed = [member for member, was in zip(subtree, before, strict=True) if member.frozen != was]
    for member in changed or [cgroup]:
        member.notify("cgroup.events")
    cgroup.hierarchy.freeze_tasks(cgroup)


def write_kill(cgroup: Cgroup, text: str) -> None:
    """Take 1, and kill every process here and below (cgroup_kill_write).

    Raises EINVAL, ERANGE for any other number, EOPNOTSUPP in a threaded cgroup.
    """
    if kstrtoint(strstrip(text)) != 1:
        raise refuse(ERANGE)
    if cgroup.threaded:
        raise refuse(EOPNOTSUPP)
    hierarchy = cgroup.hierarchy
    subtree = (cgroup, *cgroup.descendants())
    killed: set[int] = set()
    while True:  # again for processes forked meanwhile
        hierarchy.prune(*subtree)
        alive = {tgid for member in subtree for tgid in member.tasks.values()} - killed
        if not alive:
            return
        for tgid in alive:
            hierarchy.processes.kill(tgid)
        killed |= alive


def show_psi_switch(cgroup: Cgroup) -> str:
    return f"{int('psi' not in cgroup.hidden_marks)}\n"


def write_psi_switch(cgroup: Cgroup, text: str) -> None:
    """Hide (0) or bring back (1) the three pressure files of this directory (cgroup_pressure_write).

    Raises EINVAL, ERANGE for any other number.
    """
    value = kstrtoint(strstrip(text))
    if value not in (0, 1):
        raise refuse(ERANGE)
    cgroup.show_marked("psi", [row.name for row in FILES if row.mark == "psi"], bool(value))


def _pressure(
    name: str, show: Callable[[Cgroup], str], write: Callable[[Cgroup, str, FileContext, Caller], None]
) -> CFType:
    return CFType(
        name,
        mark="psi",
        show=show,
        write_of=write,
        poll=poll_pressure,
        by_opener=True,
        again=None,
        recall=partial(recall_pressure, name.partition(".")[0]),
        counts=True,
    )


FILES = (
    CFType("cgroup.type", Where.CHILD, show=show_type, write=write_type, again=_type_again),
    CFType("cgroup.procs", seq_start=start_procs, write_of=write_procs, by_opener=True, delegatable=True, again=None),
    CFType(
        "cgroup.threads",
        seq_start=start_threads,
        write_of=write_threads,
        by_opener=True,
        delegatable=True,
        again=None,
    ),
    CFType("cgroup.controllers", show=show_controllers),
    CFType(
        "cgroup.subtree_control",
        delegatable=True,
        show=show_subtree_control,
        write_of=write_subtree_control,
        again=_subtree_control_again,
    ),
    CFType("cgroup.events", Where.CHILD, show=show_events),
    CFType("cgroup.max.descendants", show=show_max_descendants, write=write_max_descendants),
    CFType("cgroup.max.depth", show=show_max_depth, write=write_max_depth),
    CFType("cgroup.stat", show=show_stat, counts=True),
    CFType("cgroup.stat.local", Where.CHILD, since=(7, 2), show=show_stat_local, counts=True),
    CFType("cgroup.freeze", Where.CHILD, show=show_freeze, write=write_freeze),
    CFType("cgroup.kill", Where.CHILD, since=(6, 1), write=write_kill),
    CFType("cgroup.pressure", since=(6, 1), show=show_psi_switch, write=write_psi_switch),
    _pressure("io.pressure", show_io_pressure, write_io_pressure),
    _pressure("memory.pressure", show_memory_pressure, write_memory_pressure),
    _pressure("cpu.pressure", show_cpu_pressure, write_cpu_pressure),
)
