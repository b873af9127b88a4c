"""The faults of a mounted tree: rules act on the requests of its session."""

from __future__ import annotations

import os
import signal
from functools import cached_property
from typing import TYPE_CHECKING

from fakecgroup import Kernel
from fakecgroup_mount.fault_options import FaultOptions
from fakecgroup_mount.fuse.native import Session

if TYPE_CHECKING:
    from fakecgroup.faults import Faults


class FaultInjection:
    """The rules of one tree. Without one, its requests are served as ever."""

    def __init__(self, session: Session, kernel: Kernel) -> None:
        self._session = session
        self._kernel = kernel
        self._wait = 0  # ns by which the reply of the present request is late
        self.begun = False
        """Whether there was a rule."""

    @cached_property
    def faults(self) -> Faults:
        """The rules, which from now on are asked. The caller holds the model's lock."""
        from fakecgroup.faults import Faults  # these take a while to load
        from fakecgroup_mount.fuse.late_replies import LateReplies

        self._late = LateReplies(self._session.send)
        faults = Faults(self._kernel, delay=self._delay, panic=_die)
        faults.on_firing = self._session.note_firing
        self._session.adopt_vfs(self._take_late)
        self.begun = True
        return faults

    def _delay(self, ns: int) -> None:
        self._wait += ns

    def _take_late(self, reply: bytes) -> bool:
        """Takes the reply to the present request if it is late; the session then sends none."""
        wait, self._wait = self._wait, 0
        if wait:
            self._late.add(reply, wait)
        return wait > 0


def injected(session: Session, kernel: Kernel, options: FaultOptions) -> FaultInjection:
    """The faults of a tree, with the rules of the command line."""
    injection = FaultInjection(session, kernel)
    if options.text:
        with session.lock:
            injection.faults.add_all(options.text, options.name, any_errno=options.any_errno)
    return injection


def _die() -> None:
    """Ends the daemon as a bug or the OOM killer would: nobody unmounts anything."""
    os.kill(os.getpid(), signal.SIGKILL)
