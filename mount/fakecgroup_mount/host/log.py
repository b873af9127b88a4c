"""What modules log with. Python's logging takes a while to load, and most daemons have nothing to say."""

from __future__ import annotations

import threading
from collections.abc import Callable

_begin: Callable[[], None] | None = None  # what is done before the first message


class Log:
    """A logger of Python's, which is loaded with the first message. Where it cannot be loaded, the message is lost."""

    def __init__(self, name: str) -> None:
        self._name = name

    def warning(self, message: str, *values: object) -> None:
        self._tell("WARNING", message, values)

    def error(self, message: str, *values: object, exc_info: BaseException | None = None) -> None:
        self._tell("ERROR", message, values, exc_info)

    def exception(self, message: str, *values: object) -> None:
        """An error with the exception that is handled."""
        self._tell("ERROR", message, values, True)

    def _tell(
        self, level: str, message: str, values: tuple[object, ...], exc_info: BaseException | bool | None = None
    ) -> None:
        try:
            begin()
            import logging
        except (ImportError, MemoryError, OSError):
            return  # there may be no memory and no descriptor
        logger = logging.getLogger(self._name)
        logger.log(getattr(logging, level), message, *values, exc_info=exc_info, stacklevel=3)


def begin() -> None:
    """Loads Python's logging, for libraries that log by themselves."""
    global _begin
    if _begin is not None:
        _begin()
        _begin = None


def log_to(path: str) -> None:
    """Logs to the file `path` from the first message on, also exceptions that end a thread."""

    def file() -> None:
        from fakecgroup_mount.host import log_handlers

        log_handlers.log_to(path)

    _log_with(file)


def log_to_stderr() -> None:
    """Logs to stderr, for a daemon in the foreground."""

    def stderr() -> None:
        from fakecgroup_mount.host import log_handlers

        log_handlers.log_to_stderr()

    _log_with(stderr)


def _log_with(handler: Callable[[], None]) -> None:
    global _begin
    _begin = handler
    threading.excepthook = lambda bug: Log(__name__).error("a thread ends", exc_info=bug.exc_value)
