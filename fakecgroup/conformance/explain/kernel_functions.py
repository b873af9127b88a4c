"""The kernel's functions behind the files of a case, from the rows of the model's tables.

The docstrings of the model's readers and writers name them in brackets, those of their modules the kernel's source.
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
from fakecgroup.core.cftype import CFType
from fakecgroup.core.cgroup import Cgroup

_READING = ("read", "until", "fread", "fpread", "sendfile", "splice")
_WRITING = ("write", "fwrite", "fpwrite", "sendfile_to", "splice_to")
_NAMED = re.compile(r"\(((?:_*[a-z]\w*_\w+)(?:, (?:_*[a-z]\w*_\w+))*)\)")
_SOURCE = re.compile(r"[\w./{},-]+/[\w.{},-]+\.[ch]\b")


@dataclass(frozen=True)
class KernelFunction:
    """What reads or writes a file: names and source as in the kernel, empty where the model does not tell; the rule."""

    file: str
    does: str  # "read" or "write"
    names: tuple[str, ...]
    source: str
    rule: str


def functions_of(case: Case, kernels: Sequence[str]) -> tuple[KernelFunction, ...]:
    """Of the files that a case reads and writes, in its order, on the last of some kernels that has the file."""
    found: dict[tuple[str, str], KernelFunction] = {}
    tables = [Kernel(case.layout, kernel) for kernel in reversed(kernels)]
    for does, path in _uses(case):
        file = path.rpartition("/")[2]
        for row in _rows(tables, path):
            function = _function(row, does)
            if function is not None:
                found.setdefault((file, does), KernelFunction(file, does, *_told(function)))
                break
    return tuple(found.values())


def _uses(case: Case) -> Iterator[tuple[str, str]]:
    """What is read and written, by path."""
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


def _rows(kernels: Sequence[Kernel], path: str) -> Iterator[CFType]:
    """The rows of a file in the hierarchy that a path is in."""
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
                yield table[name].row


def _function(row: CFType, does: str) -> Callable[..., Any] | None:
    if does == "read":
        return row.show or row.show_records or row.read_u64 or row.read_s64
    return row.write or row.write_u64 or row.write_s64 or row.write_of


def _told(function: Callable[..., Any]) -> tuple[tuple[str, ...], str, str]:
    """Names, source and rule, from the docstrings."""
    text = inspect.cleandoc(function.__doc__ or "")
    named = _NAMED.search(text)
    names = tuple(named[1].split(", ")) if named else ()
    module = sys.modules[function.__module__]
    sources = _SOURCE.findall(module.__doc__ or "")
    return names, sources[0] if sources else "", " ".join(text.split())
