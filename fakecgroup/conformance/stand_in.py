"""Cgroups in place of the roots of hierarchies, for cases on a kernel whose roots are in use.

The cgroup ``root`` stands for the root of the unified hierarchy. As it may hold no processes once controllers are
enabled for its children (cgroup-v2, "No Internal Process Constraint"), the cgroup ``home`` beside it has those that a
case has in the root. On v1 one cgroup stands for the whole root.
"""

from __future__ import annotations

from collections.abc import Callable

from fakecgroup.conformance.case import OPERATIONS, Case, Op, data_bytes

ROOT = "root"
HOME = "home"
UNIFIED = "unified"

_CPUSET = ("cpuset.cpus", "cpuset.mems", "cpuset.cpu_exclusive", "cpuset.mem_exclusive")
#: Files of the root's own processes, which are in `HOME`.
_OF_PROCESSES = ("cgroup.procs", "cgroup.threads")


def innermost(op: Op) -> Op:
    """The operation itself, where a helper process does it."""
    while op[0] == "in":
        op = op[2:]
    return op


def paths(op: Op) -> list[str]:
    """The paths that an operation names, without the target of a symbolic link."""
    op = innermost(op)
    return [_text(op[at]) for at in _positions(op)]


def moved(op: Op, move: Callable[[str], str]) -> Op:
    """The operation with other paths in place of those that it names."""
    if op[0] == "in":
        return (op[0], op[1], *moved(op[2:], move))
    positions = _positions(op)
    return tuple(move(_text(value)) if at in positions else value for at, value in enumerate(op))


def filled(case: Case) -> list[str]:
    """The files of a v1 cgroup that get the root's values, as a new one has none, before it stands for the root."""
    real_time = any("/cpu.rt_" in path for op in case.ops for path in paths(op))
    return [*_CPUSET, *(["cpu.rt_runtime_us"] if real_time else [])]


def to_home(path: str, layout: str) -> str:
    """A path below the layout's root; a file of the unified root's own processes is the one of `HOME`."""
    if layout == "v2" and path in _OF_PROCESSES:
        return f"../{HOME}/{path}"
    name, _, file = path.partition("/")
    if layout == "hybrid" and name == UNIFIED and file in _OF_PROCESSES:
        return f"{UNIFIED}/../{HOME}/{file}"
    return path


def seen_from(text: str, roots: dict[str, tuple[str, ...]]) -> str:
    """/proc/PID/cgroup as it would be if cgroups were the roots: their paths by the names in the second column."""
    lines = []
    for line in text.splitlines():
        number, names, path = line.split(":", 2)
        for root in roots.get(names, ()):
            if path == root or path.startswith((f"{root}/", f"{root} (deleted)")):
                path = path.removeprefix(root)
                path = path if path.startswith("/") else f"/{path}"
                break
        lines.append(f"{number}:{names}:{path}\n")
    return "".join(lines)


def _positions(op: Op) -> list[int]:
    kinds = [kind.partition("=")[0] for kind in OPERATIONS[op[0]]]
    found = [at for at, kind in enumerate(kinds, start=1) if kind == "path" and at < len(op)]
    return found[1:] if op[0] == "symlink" else found


def _text(path: object) -> str:
    return data_bytes(path).decode("utf-8", "surrogateescape")
