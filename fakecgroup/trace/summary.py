"""What a trace says as a whole: what was refused, who wrote what, and what was written in vain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..base_files.attach import PID_FILES
from ..core.cgroup_file import CgroupFile
from .assumed import read_text
from .call import Call, written_data
from .stage import NotPlayedError, Stage, pid_written
from .strace_line import printable, quoted
from .trace_file import Head

_MOST = 100_000  # files, and kinds of refused calls
_SHOWN = 20  # lines of a part for people


@dataclass(slots=True)
class Refused:
    """Calls that had the same errno, on one file with the same data."""

    op: str
    path: str
    data: bytes | None
    errno: str
    comms: dict[str, None]
    times: int = 1


@dataclass(slots=True)
class Written:
    """A file that was written. `in_vain` are the writes that changed nothing, `unread` says nobody read it since."""

    path: str
    value: bytes
    by: dict[str, int] = field(default_factory=dict)
    in_vain: dict[bytes, int] = field(default_factory=dict)
    unread: bool = True


class Summary:
    """Takes the calls of a trace, one by one. Which writes changed nothing is seen on the trace's own kernel."""

    def __init__(self, head: Head) -> None:
        self.calls = 0
        self.lost = 0
        self.refused: dict[tuple[str, str, bytes | None, str], Refused] = {}
        self.written: dict[str, Written] = {}
        self.stage: Stage | None = None
        if head.kernel is not None:
            try:
                self.stage = Stage(head, head.layout, head.kernel)
            except ValueError:
                pass  # a learnt kernel, whose file is not here

    def feed(self, call: Call, *, wanted: bool = True) -> None:
        """The next call. One that is not `wanted` has its effect, and is not told of."""
        if call.is_note:
            if call.op == "lost" and isinstance(call.result, int):
                self.lost += call.result
            if self.stage is not None:
                self.stage.note(call)
            return
        writes = call.op == "write" and call.errno is None and call.data is not None
        before = self._seen(call) if writes else None
        self._play(call)
        if call.op == "read" and call.errno is None and call.path in self.written:
            self.written[call.path].unread = False
        if not wanted or call.more.get("assumed"):
            return
        self.calls += 1
        if call.errno is not None:
            self._refuse(call)
        elif writes:
            self._write(call, before is not None and before == self._seen(call))

    def _play(self, call: Call) -> None:
        if self.stage is not None:
            try:
                self.stage.play(call)
            except NotPlayedError:
                pass

    def _seen(self, call: Call) -> object:
        """What a write may change; None where that cannot be seen."""
        if self.stage is None:
            return None
        kernel = self.stage.kernel
        try:
            if call.file in PID_FILES:
                return kernel.cgroup_of(pid_written(call) or call.pid)
            file = kernel.walk(call.path)
            return read_text(file) if isinstance(file, CgroupFile) and file.row.is_setting else None
        except OSError:
            return None

    def _refuse(self, call: Call) -> None:
        assert call.errno is not None
        key = (call.op, call.path, call.data, call.errno)
        known = self.refused.get(key)
        if known is not None:
            known.times += 1
            known.comms[call.comm] = None
        elif len(self.refused) < _MOST:
            self.refused[key] = Refused(call.op, call.path, call.data, call.errno, {call.comm: None})

    def _write(self, call: Call, in_vain: bool) -> None:
        data = call.data or b""
        known = self.written.get(call.path)
        if known is None:
            if len(self.written) >= _MOST:
                return
            known = self.written[call.path] = Written(call.path, data)
        known.value = data
        known.by[call.comm] = known.by.get(call.comm, 0) + 1
        known.unread = True
        if in_vain:
            known.in_vain[data] = known.in_vain.get(data, 0) + 1

    # -- what it says -----------------------------------------------------------------------------

    def refusals(self) -> list[Refused]:
        """The refused calls, the most frequent first."""
        return sorted(self.refused.values(), key=lambda one: -one.times)

    def unread(self) -> list[Written]:
        """The files whose last value nobody read. Lists of processes are none of them: they are written to move."""
        return [one for one in self.written.values() if one.unread and one.path.rpartition("/")[2] not in PID_FILES]

    def writers(self) -> dict[str, list[Written]]:
        """The files by who wrote them."""
        found: dict[str, list[Written]] = {}
        for one in self.written.values():
            for comm in one.by:
                found.setdefault(comm, []).append(one)
        return found


def summary_lines(summary: Summary) -> list[str]:
    """For people; the refused calls are first."""
    lines = [f"{summary.calls:,} calls"]
    if summary.lost:
        lines[0] += f", and {summary.lost:,} that are lost"
    lines += _part("refused", [_refused_line(one) for one in summary.refusals()])
    for comm, files in sorted(summary.writers().items()):
        lines += _part(f"written by {printable(comm)}", [_written_line(one, comm) for one in files])
    unread = [f"{printable(one.path)} {quoted(one.value)}" for one in summary.unread()]
    lines += _part("written, and read by nobody since", unread)
    if summary.stage is None:
        lines += ["", "which writes changed nothing is not known, as the kernel is not"]
    else:
        lines += _part(
            "writes that changed nothing",
            [
                f"{printable(one.path)} {quoted(data)}{_times(number)}"
                for one in summary.written.values()
                for data, number in one.in_vain.items()
            ],
        )
    return lines


def _part(title: str, found: list[str]) -> list[str]:
    if not found:
        return []
    more = [f"  and {len(found) - _SHOWN:,} more (see -o json)"] if len(found) > _SHOWN else []
    return ["", f"{title}:", *(f"  {line}" for line in found[:_SHOWN]), *more]


def _refused_line(one: Refused) -> str:
    data = "" if one.data is None else f" {quoted(one.data)}"
    who = ", ".join(map(printable, one.comms))
    return f"{one.errno} {printable(one.op)} {printable(one.path)}{data}{_times(one.times)} by {who}"


def _written_line(one: Written, comm: str) -> str:
    return f"{printable(one.path)} {quoted(one.value)}{_times(one.by[comm])}"


def _times(number: int) -> str:
    return "" if number == 1 else f" ({number:,} times)"


def summary_json(summary: Summary) -> dict[str, Any]:
    """For programs; each part has all that there is."""
    return {
        "calls": summary.calls,
        "lost": summary.lost,
        "refused": [
            {"op": one.op, "path": one.path, "data": _shown(one.data), "errno": one.errno, "times": one.times,
             "by": list(one.comms)}
            for one in summary.refusals()
        ],
        "written": [
            {"path": one.path, "value": _shown(one.value), "by": dict(one.by), "unread": one.unread}
            for one in summary.written.values()
        ],
        "unread": [one.path for one in summary.unread()],
        "unchanged": None if summary.stage is None else [
            {"path": one.path, "data": _shown(data), "times": number}
            for one in summary.written.values() for data, number in one.in_vain.items()
        ],
    }  # fmt: skip


def _shown(data: bytes | None) -> str | dict[str, str] | None:
    return None if data is None else written_data(data)
