"""Where a daemon's log goes. Logging never fails, and repeated messages are thinned out."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

_FORMAT = "%(asctime)s %(process)d %(name)s: %(message)s"
_KINDS = 200  # different messages that are counted


def log_to(path: str) -> None:
    """Logs to the file `path`, which is made with the first message. A full or missing disk is no error."""
    _log_with(LogFile(Path(path)))


def log_to_stderr() -> None:
    """Logs to stderr, for a daemon in the foreground."""
    _log_with(_Stderr())


def _log_with(handler: logging.Handler) -> None:
    logging.raiseExceptions = False
    handler.setFormatter(logging.Formatter(_FORMAT))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


class RepeatFilter:
    """Passes a message the first, tenth, hundredth time and so on, with the count."""

    def __init__(self) -> None:
        self._times: dict[tuple[object, ...], int] = {}

    def passes(self, record: logging.LogRecord) -> bool:
        """Whether to write the message. Adds the count to it."""
        kind: tuple[object, ...] = (record.pathname, record.lineno, _cause(record))
        if kind not in self._times and len(self._times) == _KINDS:
            kind = ()
        times = self._times[kind] = self._times.get(kind, 0) + 1
        if times == 1:
            return True
        if str(times).strip("0") != "1":
            return False
        record.msg, record.args = f"{record.getMessage()} ({times} times by now)", None
        return True


def _cause(record: logging.LogRecord) -> tuple[object, ...]:
    """The kind of a record's exception and the place where it was raised."""
    if not record.exc_info or record.exc_info[1] is None:
        return ()
    error, trace = record.exc_info[1:]
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = () if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
    return (type(error), getattr(error, "errno", None), *where)


class SafeHandler(logging.Handler):
    """Drops what it cannot write: there may be no memory, no descriptor and no disk."""

    def __init__(self) -> None:
        super().__init__()
        self._repeats = RepeatFilter()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._repeats.passes(record):
                self.write(self.format(record) + "\n")
        except Exception:
            pass

    def write(self, text: str) -> None:
        raise NotImplementedError


class LogFile(SafeHandler):
    """Opens the file for each message, as some threads have descriptor tables of their own (`calls.fuse_opener`)."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def write(self, text: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)


class _Stderr(SafeHandler):
    def write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
