"""The drawing of threads and locks in `fakecgroup_mount.run` against the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import fakecgroup_mount
from fakecgroup_mount import run

PACKAGE = Path(fakecgroup_mount.__file__).parent
DRAWING = run.__doc__ or ""
THREADS, LOCKS = DRAWING.partition("\nThreads\n")[2].split("\nLocks\n")
ROOMS = ("host", "seccomp", "release", "enforce", "live", "record", "control", "fuse", "calls", "run")
A_LOCK = ("Lock", "RLock", "Condition")


def trees() -> Iterator[tuple[str, ast.Module]]:
    for room in ROOMS:
        for path in sorted((PACKAGE / room).glob("*.py")):
            yield path.stem, ast.parse(path.read_text())


def scopes(module: str, tree: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    """Each node with its class or module, and the outermost function of it."""

    def walk(node: ast.AST, owner: str, function: str) -> Iterator[tuple[str, str, ast.AST]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                yield from walk(child, child.name, "")
            elif isinstance(child, ast.FunctionDef):
                yield from walk(child, owner, function or child.name)
            else:
                yield owner, function, child
                yield from walk(child, owner, function)

    yield from walk(tree, module, "")


def is_call(node: ast.AST, names: tuple[str, ...]) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "threading"
        and node.func.attr in names
    )


def locks_in_the_code() -> set[str]:
    return {
        f"{owner}.{target.attr}"
        for module, tree in trees()
        for owner, _, node in scopes(module, tree)
        if isinstance(node, ast.Assign) and is_call(node.value, A_LOCK)
        for target in node.targets
        if isinstance(target, ast.Attribute)
    }


def threads_in_the_code() -> set[str]:
    """`Class.method` of each thread's target, where that is a method of its class; else whoever starts it."""
    found = set()
    for module, tree in trees():
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        for owner, function, node in scopes(module, tree):
            if not is_call(node, ("Thread",)):
                continue
            assert isinstance(node, ast.Call)
            target = next(keyword.value for keyword in node.keywords if keyword.arg == "target")
            name = ast.unparse(target)
            if re.fullmatch(r"self\.\w+", name):
                found.add(f"{owner}.{name.removeprefix('self.')}")
            elif name == "session.serve":
                found.add("Session.serve")
            elif name == "mountinfo.serve":
                found.add("MountinfoFiles.serve")
            elif name == "_serve" and name in functions:
                found.add(f"{module}._serve")
            else:
                found.add(f"{owner}.{function}")
    return found


def names_of(text: str, indented: str) -> set[str]:
    return set(re.findall(rf"^{indented}(\w+\.\w+)  ", text, re.M))


def test_each_lock_is_drawn_and_each_drawn_lock_is_there() -> None:
    assert names_of(LOCKS, r"    [ |'-]*") == locks_in_the_code()


def test_each_thread_is_listed_and_each_listed_thread_is_there() -> None:
    assert names_of(THREADS, "    ") == threads_in_the_code()
