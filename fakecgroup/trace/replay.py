"""Plays a trace on several kernels and compares what they answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..base_files.attach import PID_FILES
from ..conformance.normalise import Normaliser
from ..machine.learnt import LearntKernel
from ..machine.personality import personalities
from .call import Call
from .stage import NotPlayedError, Stage, shows_places
from .trace_file import LAYOUTS, Head

SAME = "same"
OTHER = "other"
NOT_MADE = "not made"
NOT_APPLICABLE = "not applicable"
NOT_COMPARED = "not compared"

MOST_ROWS = 10_000
"""Calls that differ and are kept. The others are counted."""

_MOST_TEXT = 1 << 20  # bytes of a file that is read in parts


def all_kernels() -> list[str]:
    """The versions that have every layout, the oldest first."""
    pairs = set(personalities())
    found = {version for _, version in pairs if all((layout, version) in pairs for layout in LAYOUTS)}
    return sorted(found, key=lambda version: tuple(map(int, version.split("."))))


@dataclass(frozen=True)
class Outcome:
    """What was answered to a call: an errno, or where a file was read the text that it had."""

    what: str
    errno: str | None = None
    text: str | None = None

    def answers_as(self, other: Outcome) -> bool:
        """Whether both answered the same."""
        return (self.errno, self.text) == (other.errno, other.text)


@dataclass
class Row:
    """A call that some kernel does not answer as it was recorded. `line` is its line; `outcomes` are by title."""

    line: int
    call: Call
    recorded: Outcome
    outcomes: dict[str, Outcome]


@dataclass
class Played:
    """One kernel that plays, under a title of its own. `stage` is None where no call applies to its layout."""

    title: str
    layout: str
    kernel: str
    stage: Stage | None
    compared: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    other: int = 0
    """Calls that it answers otherwise than recorded."""


@dataclass
class _Reading:
    """Reads of one open file that follow on each other: the text of the file, recorded and for each kernel."""

    line: int
    call: Call
    end: int
    recorded: bytearray = field(default_factory=bytearray)
    played: dict[str, bytearray] = field(default_factory=dict)


class Replay:
    """Takes the calls of a trace, one by one, and has each kernel make them.

    A call differs where a kernel answers with another errno, or where a file that was read has another text after
    conformance's normalisation, in which counters have no value.

    `baseline` is the trace's own kernel, or where nobody knows that the one that answers most calls as recorded. What
    it does not answer again depends on more than a trace has: on time, or on memory in use. There other kernels are
    compared with its answer in the model.

    Raises ValueError for a kernel that does not play a layout.
    """

    def __init__(self, head: Head, layouts: Sequence[str], kernels: Sequence[str | LearntKernel]) -> None:
        self.head = head
        self.calls = 0
        self.lost = 0
        self.played: list[Played] = []
        self.rows: dict[int, Row] = {}
        self.not_kept = 0
        self._readings: dict[int, _Reading] = {}  # by handle
        self._own: Played | None = None
        for layout in layouts:
            for kernel in kernels:
                self.played.append(self._cast(layout, kernel, many=len(layouts) > 1))
        if head.kernel is not None:
            self._own = next((p for p in self.played if (p.layout, p.kernel) == (head.layout, head.kernel)), None)
            if self._own is None:
                try:
                    self._own = self._cast(head.layout, head.kernel, many=True)
                except ValueError:
                    pass  # a learnt kernel, whose file is not here
        self._all = [*self.played, *([self._own] if self._own is not None and self._own not in self.played else [])]

    def _cast(self, layout: str, kernel: str | LearntKernel, *, many: bool) -> Played:
        name = kernel.release if isinstance(kernel, LearntKernel) else kernel
        stage = Stage(self.head, layout, kernel) if _may_apply(self.head.layout, layout) else None
        return Played(f"{layout} {name}" if many else name, layout, name, stage)

    # -- taking calls -----------------------------------------------------------------------------

    def feed(self, line: int, call: Call) -> None:
        """The next call, and its line in the trace."""
        if call.is_note:
            if call.op == "lost" and isinstance(call.result, int):
                self.lost += call.result
            for one in self._all:
                if one.stage is not None:
                    one.stage.note(call)
            return
        assumed = bool(call.more.get("assumed"))
        self.calls += not assumed
        handle = call.number("handle", -1)
        if call.op == "read" and call.errno is None:
            reading = self._reading(line, call, handle)
        else:
            reading = None
            if call.op in ("close", "write"):
                self._end_reading(handle)
        recorded = Outcome(
            SAME, call.errno, _places(call.data) if shows_places(call) and call.data is not None else None
        )
        outcomes = {one.title: self._play(one, call, reading) for one in self._all}
        if assumed:
            return
        if reading is not None:
            reading.recorded += (call.data or b"")[: _MOST_TEXT - len(reading.recorded)]
            reading.end += len(call.data or b"")
        for one in self._all:
            outcome = outcomes[one.title]
            if outcome.what in (NOT_APPLICABLE, NOT_COMPARED, NOT_MADE):
                one.left_out[outcome.what] += 1
            else:
                one.compared += 1
                one.other += outcome.what == OTHER
        if any(outcome.what == OTHER for outcome in outcomes.values()):
            self._keep(Row(line, call, recorded, outcomes))
        if reading is not None and not call.data:
            self._end_reading(handle)

    def end(self) -> None:
        """There are no more calls."""
        for handle in list(self._readings):
            self._end_reading(handle)

    def _play(self, one: Played, call: Call, reading: _Reading | None) -> Outcome:
        if one.stage is None or not applies(self.head.layout, one.layout, call):
            return Outcome(NOT_APPLICABLE)
        try:
            errno, value = one.stage.play(call)
        except NotPlayedError as reason:
            return Outcome(NOT_MADE if reason.follows else NOT_COMPARED)
        if reading is not None and errno is None and isinstance(value, str):
            so_far = reading.played.setdefault(one.title, bytearray())
            so_far += value.encode("utf-8", "surrogateescape")[: _MOST_TEXT - len(so_far)]
        if call.data is not None and shows_places(call):
            text = _places(str(value).encode())
            return Outcome(SAME if text == _places(call.data) else OTHER, errno, text)
        return Outcome(SAME if errno == call.errno else OTHER, errno)

    def _reading(self, line: int, call: Call, handle: int) -> _Reading:
        known = self._readings.get(handle)
        offset = call.number("offset")
        if known is not None and known.end == offset and offset:
            return known
        self._end_reading(handle)
        made = self._readings[handle] = _Reading(line, call, offset)
        return made

    def _end_reading(self, handle: int) -> None:
        """Compares the text that was read."""
        reading = self._readings.pop(handle, None)
        if reading is None or _is_of_the_machine(self.head.layout, reading.call):
            return
        outcomes = {}
        for one in self._all:
            if one.stage is None or one.title not in reading.played:
                continue
            normal = Normaliser(one.stage.pids).text
            recorded = normal(reading.call.file, _renumbered(reading.call, _text(reading.recorded)))
            text = normal(reading.call.file, _text(reading.played[one.title]))
            outcomes[one.title] = (recorded, text)
        if all(recorded == text for recorded, text in outcomes.values()):
            return
        row = Row(reading.line, reading.call, Outcome(SAME, None, next(iter(outcomes.values()))[0]), {})
        for one in self._all:
            if one.title not in outcomes:
                row.outcomes[one.title] = Outcome(NOT_MADE)
                continue
            recorded, text = outcomes[one.title]
            row.outcomes[one.title] = Outcome(SAME if recorded == text else OTHER, None, text)
            one.other += recorded != text
        self._keep(row)

    def _keep(self, row: Row) -> None:
        if row.line not in self.rows and len(self.rows) >= MOST_ROWS:
            self.not_kept += 1
        else:
            self.rows.setdefault(row.line, row)

    # -- what it says -----------------------------------------------------------------------------

    @property
    def baseline(self) -> Played | None:
        """The kernel that others are compared with; None where none plays."""
        if self._own is not None:
            return self._own
        able = [one for one in self.played if one.stage is not None]
        return min(able, key=lambda one: one.other, default=None)

    def differing(self) -> list[tuple[Row, list[Played]]]:
        """The calls that some kernels answer otherwise, with these kernels, in the trace's order."""
        return [(row, found) for _, row in sorted(self.rows.items()) if (found := self._differing(row))]

    def _differing(self, row: Row) -> list[Played]:
        expected = self.expected(row)
        if expected is None:
            return []
        return [
            one
            for one in self.played
            if row.outcomes[one.title].what in (SAME, OTHER) and not row.outcomes[one.title].answers_as(expected)
        ]

    def expected(self, row: Row) -> Outcome | None:
        """What the kernels are compared with: what was recorded, or what the baseline gives instead."""
        base = self.baseline
        if base is None:
            return None
        outcome = row.outcomes[base.title]
        if outcome.what == OTHER:
            return outcome
        return row.recorded if outcome.what == SAME else None

    def unreproduced(self) -> list[Row]:
        """The calls that the baseline does not answer as they were recorded."""
        base = self.baseline
        if base is None:
            return []
        return [row for _, row in sorted(self.rows.items()) if row.outcomes[base.title].what == OTHER]

    def differs(self) -> bool:
        """Whether some kernel answers a call otherwise."""
        return bool(self.differing())


def applies(recorded: str, played: str, call: Call) -> bool:
    """Whether a call on a layout can be made on another one. Paths are not translated between v1 and v2."""
    if recorded == played or (recorded, played) == ("v1", "hybrid"):
        return True
    if (recorded, played) == ("hybrid", "v1"):
        return all(path.partition("/")[0] != "unified" for path in (call.path, call.text("to")))
    return False


def _may_apply(recorded: str, played: str) -> bool:
    return recorded == played or {recorded, played} == {"v1", "hybrid"}


def _is_of_the_machine(layout: str, call: Call) -> bool:
    """Whether a list is of a root, where all processes of the machine are that are nowhere else."""
    return call.file in PID_FILES and call.path.count("/") <= (0 if layout == "v2" else 1)


def _places(data: bytes) -> str:
    """/proc/PID/cgroup as conformance compares it: without the numbers of hierarchies and without roots."""
    _, text = Normaliser({})(("proc", "self", "cgroup"), (None, data.decode("utf-8", "surrogateescape")))
    return str(text)


def _renumbered(call: Call, text: str) -> str:
    """A list of processes with their numbers in the trace, for a reader in another pid namespace."""
    pids = call.more.get("pids")
    if not isinstance(pids, dict):
        return text
    return "".join(f"{pids.get(line, line)}\n" for line in text.splitlines())


def _text(data: Iterable[int]) -> str:
    return bytes(data).decode("utf-8", "surrogateescape")
