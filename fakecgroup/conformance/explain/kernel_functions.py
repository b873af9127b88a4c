"""The kernel's functions behind the files of a case.

The kernel's tables of files name those that read and write (`cftypes`). The docstrings of the model's readers and
writers tell the rule, and name in brackets what else it is from.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fakecgroup import ROOT, Kernel
from fakecgroup.conformance.case import OPERATIONS, Case, Op
from fakecgroup.conformance.explain.cftypes import Handlers, handlers_of
from fakecgroup.conformance.explain.operations import handler_of
from fakecgroup.core.cftype import CFType
from fakecgroup.core.cgroup import Cgroup
from fakecgroup.machine.learnt import LearntKernel

_READING = ("read", "until", "fread", "fpread", "sendfile", "splice")
_WRITING = ("write", "fwrite", "fpwrite", "sendfile_to", "splice_to")
_NAMED = re.compile(r"\(((?:_*[a-z]\w*_\w+)(?:, (?:_*[a-z]\w*_\w+))*)\)")
_SOURCE = re.compile(r"[\w./{},-]+/[\w.{},-]+\.[ch]\b")


@dataclass(frozen=True)
class KernelFunction:
    """What reads or writes a file, or does another operation: names and source as in the kernel, empty where nobody
    tells; the rule.
    """

    file: str  # "" for an operation that reads and writes none
    does: str  # "read", "write", or an operation's name
    names: tuple[str, ...]
    source: str
    rule: str


def functions_of(case: Case, kernels: Sequence[str | LearntKernel]) -> tuple[KernelFunction, ...]:
    """Of the operations of a case, in its order; of files on the last of some kernels that has the file."""
    found: dict[tuple[str, str], KernelFunction] = {}
    tables = [Kernel(case.layout, kernel) for kernel in reversed(kernels)]
    for does, path in _uses(case):
        if does not in ("read", "write"):
            dfl = case.layout == "v2" or path.startswith("unified")
            handler = handler_of(does, dfl=dfl)
            if handler is not None:
                found.setdefault(("", does), KernelFunction("", does, handler.names, handler.source, ""))
            continue
        file = path.rpartition("/")[2]
        for row, dfl in _rows(tables, path):
            function = _function(row, does)
            if function is not None:
                found.setdefault((file, does), _told(function, file, does, handlers_of(file, dfl=dfl)))
                break
    return tuple(found.values())


def _uses(case: Case) -> Iterator[tuple[str, str]]:
    """What is read and written, by path, and other operations by their name, with their path if they have one."""
    opened: dict[str, str] = {}
    for op in case.ops:
        inner: Op = op
        while inner[0] == "in":
            inner = inner[2:]
        kind = OPERATIONS[inner[0]]
        if inner[0] == "open":
            opened[str(inner[1])] = str(inner[2])
        does = "read" if inner[0] in _READING else "write" if inner[0] in _WRITING else ""
        path = str(inner[1]) if kind and kind[0] == "path" else opened.get(str(inner[1]), "") if len(inner) > 1 else ""
        if does and path:
            yield does, path
        elif not does:
            yield str(inner[0]), path


def _rows(kernels: Sequence[Kernel], path: str) -> Iterator[tuple[CFType, bool]]:
    """The rows of a file in the hierarchy that a path is in, and whether that is the unified one."""
    directory, _, name = path.rpartition("/")
    top = directory.partition("/")[0]
    for kernel in kernels:
        below = bool(directory) if kernel.layout == "v2" else "/" in directory
        try:
            root = kernel.walk("." if kernel.layout == "v2" else f"{top}/", ROOT)
        except OSError:
            continue  # a hierarchy that this kernel does not have
        if isinstance(root, Cgroup):
            table = root.hierarchy.child_table if below else root.hierarchy.root_table
            if name in table:
                yield table[name].row, root.hierarchy.dfl


def _function(row: CFType, does: str) -> Callable[..., Any] | None:
    if does == "read":
        return row.show or row.show_records or row.seq_start or row.read_u64 or row.read_s64
    return row.write or row.write_u64 or row.write_s64 or row.write_of


def _told(function: Callable[..., Any], file: str, does: str, handlers: Handlers | None) -> KernelFunction:
    """What the kernel's tables and the docstrings say."""
    text = inspect.cleandoc(function.__doc__ or "")
    named = _NAMED.search(text)
    names = named[1].split(", ") if named else []
    sources = _SOURCE.findall(sys.modules[function.__module__].__doc__ or "")
    if handlers is not None:
        names = [name for name in (handlers.read if does == "read" else handlers.write, *names) if name]
        sources = [handlers.source]
    return KernelFunction(
        file, does, tuple(dict.fromkeys(names)), sources[0] if sources else "", " ".join(text.split())
    )
