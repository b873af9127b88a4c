"""The log of ``run``: one line per event, as text for people or as JSON.

A reconcile that changed nothing gives no line (with ``verbose`` one at level debug), and so does one that only repaired
drift at paths where drift was told before: ``cgroup_engine.run.repeats`` counts that. Names and texts of others are
escaped and cut, so that nobody forges a line or fills a disk with one.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal, TextIO

from cgroup_engine.errors import StepFailedError, errno_name
from cgroup_engine.run.events import Complaint, Drift, Event, Listening, Reconciled, Started, Stopping
from cgroup_engine.run.repeats import Repeated, Repeats

Form = Literal["text", "json"]
#: The most characters of a field, and entries of a list, in a line.
_LONGEST, _MOST = 1000, 50
_COLOUR = {"debug": "\x1b[2m", "info": "\x1b[32m", "warning": "\x1b[33m", "error": "\x1b[31m"}
_PLAIN = "\x1b[0m"
#: Priorities of syslog(3); systemd reads them at the beginning of a line.
_PRIORITY = {"debug": 7, "info": 6, "warning": 4, "error": 3}


class Log:
    """Writes events to a stream. Text lines have no time if systemd's journal adds it.

    ``clock``: seconds, never going back.
    """

    def __init__(
        self,
        stream: TextIO,
        form: Form = "text",
        *,
        verbose: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        handler = _Handler(stream)
        handler.setFormatter(_Json() if form == "json" else _text_for(stream))
        self._logger = logging.Logger("cgroup-engine", logging.DEBUG if verbose else logging.INFO)
        self._logger.addHandler(handler)
        self._kept: tuple[str, ...] = ()
        self._planned = 0
        self._repeats = Repeats(clock)

    def hear(self, event: Event) -> None:
        if isinstance(event, Started):
            mode = " (dry run: nothing is written)" if event.dry_run else ""
            self._say(
                logging.INFO,
                "started",
                f"keeps {event.kubepods} below {event.root}, cgroup {event.layout}{mode}",
                root=event.root,
                kubepods=event.kubepods,
                layout=event.layout,
                dry_run=event.dry_run,
            )
        elif isinstance(event, Listening):
            level, open_to = (logging.INFO, "") if event.loopback else (logging.WARNING, ", to other machines too")
            self._say(level, "listening", f"metrics and health are at {event.url}{open_to}", url=event.url)
        elif isinstance(event, Reconciled):
            self._reconciled(event)
        elif isinstance(event, Complaint):
            self._say(logging.WARNING, "complaint", event.text, about=event.about, text=event.text)
        elif isinstance(event, Stopping):
            self._repeated(self._repeats.rest())
            self._say(logging.INFO, "stopping", f"{event.signal}: the tree stays as it is", signal=event.signal)
        self._repeated(self._repeats.due())

    def _reconciled(self, event: Reconciled) -> None:
        new = [self._repeats.is_new(drift) for drift in event.drift]
        for drift, is_new in zip(event.drift, new, strict=True):
            self._drift(drift, logging.WARNING if is_new else logging.DEBUG)
        for path, pids in event.killed.items():
            text = f"{path}: ended {', '.join(map(str, pids[:_MOST]))}; its pod is gone"
            self._say(logging.WARNING, "killed", text, path=path, pids=list(pids))
        for failure in event.outcome.failed:
            self._failed(failure)
        for note in event.kept:
            if note not in self._kept:
                self._say(logging.WARNING, "kept", note, text=note)
        again = {drift.cgroup for drift, is_new in zip(event.drift, new, strict=True) if not is_new}
        done = [step for step in event.outcome.done if not again or not _is_in(step.cgroup, again)]
        changed = bool(done or event.outcome.failed or event.killed) or event.planned != self._planned
        counts = {
            action: sum(step.action in actions for step in event.outcome.done)
            for action, actions in (
                ("made", ("mkdir", "start")),
                ("wrote", ("write", "set")),
                ("removed", ("rmdir", "stop")),
            )
        }
        fields = {
            **counts,
            "failed": len(event.outcome.failed),
            "skipped": len(event.outcome.skipped),
            "backed_off": event.backed_off,
            "planned": event.planned,
        }
        shown = [f"{name.replace('_', ' ')} {number}" for name, number in fields.items() if number]
        pods = sum(event.pods.values())
        self._say(
            logging.INFO if changed or event.reason == "start" else logging.DEBUG,
            "reconciled",
            f"{pods} pods in {event.duration * 1000:.0f} ms ({event.reason}): {', '.join(shown) or 'nothing to do'}",
            reason=event.reason,
            seconds=round(event.duration, 6),
            pods=pods,
            dry_run=event.dry_run,
            **fields,
        )
        self._kept, self._planned = event.kept, event.planned

    def _drift(self, drift: Drift, level: int) -> None:
        by = f", by {drift.by}" if drift.by else ""
        of = f"; of {drift.owner}" if drift.owner else ""
        text = f"{drift.path}: wanted {drift.wanted or 'none'}, found {drift.found or 'none'}{by}{of}"
        self._say(
            level, "drift", text,
            path=drift.path, owner=drift.owner, wanted=drift.wanted, found=drift.found, by=drift.by,
        )  # fmt: skip

    def _repeated(self, told: Repeated | None) -> None:
        if told is None:
            return
        by = f", by {told.by}" if told.by else ""
        text = f"{told.path}: drift {told.most} times more in {told.seconds:.0f} s{by}"
        if told.paths > 1:
            text += f"; {told.count} times at {told.paths} paths"
        fields = asdict(told)
        fields["seconds"] = round(told.seconds, 3)
        self._say(logging.WARNING, "repeated", text, **fields)

    def _failed(self, failure: StepFailedError) -> None:
        self._say(
            logging.ERROR,
            "failed",
            str(failure),
            path=failure.path or "",
            value=failure.value,
            errno=None if failure.errno is None else errno_name(failure.errno),
            text=failure.message,
            todo=failure.todo,
        )

    def _say(self, level: int, event: str, line: str, **fields: Any) -> None:
        self._logger.log(level, "%s", line, extra={"event": event, "fields": fields})


if TYPE_CHECKING:
    _StreamHandler = logging.StreamHandler[TextIO]
else:
    _StreamHandler = logging.StreamHandler  # takes a type since Python 3.11


class _Handler(_StreamHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's name)
        """Ignores a reader that is gone and a full disk: the tree is kept all the same."""


def _is_in(cgroup: str, others: Iterable[str]) -> bool:
    """Is it one of these cgroups, or below one?"""
    return any(f"{cgroup}/".startswith(f"{other}/") for other in others)


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        first = {"time": _now(record), "level": record.levelname.lower(), "event": _event(record)}
        return json.dumps({**first, **{name: _bounded(value) for name, value in _fields(record).items()}})


class _Text(logging.Formatter):
    """Text lines; ``stamp`` gives the beginning of each."""

    def __init__(self, stamp: Callable[[logging.LogRecord], str], *, aligned: bool, colour: bool) -> None:
        super().__init__()
        self._stamp, self._aligned, self._colour = stamp, aligned, colour

    def format(self, record: logging.LogRecord) -> str:
        level, event = record.levelname.lower(), _event(record)
        if self._aligned:
            level, event = level.ljust(7), event.ljust(10)
        if self._colour:
            level = f"{_COLOUR[level.strip()]}{level}{_PLAIN}"
        return f"{self._stamp(record)}{level} {event} {printable(record.getMessage())}"


def _text_for(stream: TextIO) -> _Text:
    if _is_journal(stream):
        return _Text(lambda record: f"<{_PRIORITY[record.levelname.lower()]}>", aligned=False, colour=False)
    terminal = stream.isatty()
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return _Text(lambda record: f"{_now(record)} ", aligned=terminal, colour=colour)


def _is_journal(stream: TextIO) -> bool:
    """Is the stream that of systemd's journal (systemd.exec(5), JOURNAL_STREAM)?"""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def printable(text: str, longest: int = _LONGEST) -> str:
    """An untrusted text on one line: unprintable characters escaped, cut after ``longest`` characters."""
    cut = text if len(text) <= longest else text[:longest] + "…"
    if cut.isprintable():
        return cut
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in cut)


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else value[:_LONGEST] + "…"
    return value[:_MOST] if isinstance(value, list) else value


def _now(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _event(record: logging.LogRecord) -> str:
    return str(record.__dict__["event"])


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = record.__dict__["fields"]
    return fields
