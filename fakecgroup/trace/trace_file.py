"""Whole traces: the head, then a line for each call (JSON Lines)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from ..kernel import Kernel
from ..machine import options
from .call import Call, CallError, call_of

FORMAT = 1
MOST_LINE = 1 << 20
"""Bytes of the longest line. The longest value that a call can have takes less."""

LAYOUTS = ("v2", "v1", "hybrid")
_MACHINE = ("cpus", "numa_nodes", "memory", "swap", "hugepages", "block_devices", "mount_options")


class TraceError(ValueError):
    """A file is no trace, or a line of it is none; the text is one line that names the file."""


@dataclass(frozen=True)
class Head:
    """The tree that the calls were made on. `kernel` is None where nobody knows it, as of a real node.

    `machine` has values as `fakecgroup.Kernel` takes them. `source` says what recorded the calls.
    """

    layout: str = "v2"
    kernel: str | None = None
    machine: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    began: str = ""

    def as_call(self) -> Call:
        """The first line of a trace."""
        found: dict[str, Any] = {"format": FORMAT, "layout": self.layout, "kernel": self.kernel, **self.machine}
        if self.began:
            found["began"] = self.began
        return Call(0.0, 0, self.source, "trace", result=found)


def head_of(kernel: Kernel, source: str, began: str = "") -> Head:
    """The head of a trace of a kernel's tree."""
    machine = kernel.machine
    return Head(
        kernel.layout,
        kernel.personality.name,
        {
            "cpus": machine.cpus,
            "numa_nodes": machine.numa_nodes,
            "memory": machine.memory,
            "swap": machine.swap,
            "hugepages": {str(size): machine.huge_page_count(size) for size in sorted(machine.huge_pages)},
            "block_devices": list(machine.block_devices),
            "mount_options": list(kernel.mount_options),
        },
        source,
        began,
    )


class TraceReader:
    """The calls of a file, one by one, so that long traces need no memory.

    `name` is the file's in messages. `head` is the tree's. `cut_off` is True, after all was read, for a file whose last
    line has no end: it is left out. Raises TraceError for what is no trace.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self.cut_off = False
        self.number = 0
        """Of the line that was read last, from 1."""
        self._file = file
        self._begin()

    def _begin(self) -> None:
        first = self._next()
        if first is None or first.op != "trace":
            raise TraceError(f"{self.name}: this is no trace: its first line is no head of one (op is not trace)")
        self.head = self._head(first)

    def rewind(self) -> None:
        """Begins again, in a file that can be read again."""
        self._file.seek(0)
        self.number, self.cut_off = 0, False
        self._begin()

    def __iter__(self) -> Iterator[Call]:
        while (call := self._next()) is not None:
            yield call

    def _next(self) -> Call | None:
        try:
            line = self._file.readline(MOST_LINE + 1)
        except OSError as error:
            raise TraceError(f"{self.name}: {error.strerror}") from None
        if not line:
            return None
        self.number += 1
        if len(line) > MOST_LINE:
            raise TraceError(f"{self.name}, line {self.number}: it is longer than {MOST_LINE:,} bytes")
        if not line.endswith(b"\n") and self.number > 1:
            self.cut_off = True
            return None
        try:
            return call_of(line)
        except CallError as error:
            raise TraceError(f"{self.name}, line {self.number}: this is no call of a trace: {error}") from None

    def _head(self, first: Call) -> Head:
        told = first.result
        if not isinstance(told, dict) or told.get("format") != FORMAT:
            found = told.get("format") if isinstance(told, dict) else None
            raise TraceError(f"{self.name}: its format is {found!r}, and {FORMAT} is the only one that is known")
        layout, kernel, began = told.get("layout"), told.get("kernel"), told.get("began", "")
        if layout not in LAYOUTS:
            raise TraceError(f"{self.name}: its layout {layout!r} is none of {', '.join(LAYOUTS)}")
        if not (kernel is None or isinstance(kernel, str)) or not isinstance(began, str):
            raise TraceError(f"{self.name}: its kernel is no text")
        machine = {}
        for option in _MACHINE:
            if option in told:
                try:
                    options.read(option, told[option])
                except ValueError as error:
                    raise TraceError(f"{self.name}: {error}") from None
                machine[option] = told[option]
        return Head(layout, kernel, machine, first.comm, began)
