"""Lets time pass for the simulated processes of a mounted tree."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from fakecgroup import JoinedProcesses, Kernel
from fakecgroup_mount.host.log import Log

if TYPE_CHECKING:
    from fakecgroup.scenario import Scenario
    from fakecgroup.scenario.live import LiveScenarios
    from fakecgroup.scenario.scenario import Placed

log = Log(__name__)

_TOGETHER = 0.01  # seconds in which changes are taken together
_AGAIN = 1.0  # seconds until the next attempt after a failure


class PassingTime:
    """Time passes before each request, and in a thread of its own for events that come between two requests.

    The thread starts with the first scenario or workload. `lock` is the model's lock. `listen` gets what is to be
    called before requests, and after those that change the tree (`Session.before_requests`).
    """

    def __init__(
        self,
        kernel: Kernel,
        processes: JoinedProcesses,
        lock: threading.Lock,
        listen: Callable[[Callable[[], None], Callable[[], None]], None],
        speed: float,
    ) -> None:
        self.lock = lock
        self.scenarios: LiveScenarios | None = None
        """None before the first scenario or workload."""
        self._kernel = kernel
        self._processes = processes
        self._speed = speed
        self._changed = threading.Condition(lock)
        self._listen = listen
        self._watchers: list[Callable[[], None]] = []

    def begin(self) -> None:
        """`LiveScenarios.begin`. The caller holds the lock. Raises RuntimeError as `add`."""
        self._begun().begin()

    def add(self, scenario: Scenario) -> list[str]:
        """`LiveScenarios.add`. The caller holds the lock. Raises ScenarioError, RuntimeError without a thread."""
        try:
            return self._begun().add(scenario)
        finally:
            self.changed()

    def spawn(self, placed: Placed) -> list[int]:
        """`LiveScenarios.spawn`. The caller holds the lock. Raises what `Kernel.spawn` does, RuntimeError as `add`."""
        try:
            return self._begun().spawn(placed)
        finally:
            self.changed()

    def advance(self, time: int) -> None:
        """`LiveScenarios.advance`. The caller holds the lock. Raises RuntimeError as `add`."""
        try:
            self._begun().advance(time)
        finally:
            self.changed()

    def _begun(self) -> LiveScenarios:
        if self.scenarios is None:
            from fakecgroup.scenario.live import LiveScenarios  # takes a while to load

            scenarios = LiveScenarios(self._kernel, self._processes, time.monotonic_ns, self._speed, log.warning)
            threading.Thread(target=self._pass, args=(scenarios,), daemon=True).start()
            self._listen(self.catch_up, self.changed)
            self.scenarios = scenarios
        return self.scenarios

    def watch(self, watcher: Callable[[], None]) -> None:
        """Calls `watcher` with the lock held each time that time has passed."""
        self._watchers.append(watcher)

    def catch_up(self, *, at_once: bool = False) -> None:
        """`LiveScenarios.catch_up`. The caller holds the lock. A failure is logged: the tree goes on without."""
        try:
            if self.scenarios is not None:
                self.scenarios.catch_up(at_once=at_once)
                for watcher in self._watchers:
                    watcher()
        except Exception:
            log.exception("time does not pass for simulated processes")

    def changed(self) -> None:
        """Notes that the next event may come sooner. The caller holds the lock."""
        self._changed.notify()

    def _pass(self, scenarios: LiveScenarios) -> None:
        with self._changed:
            while True:
                left: float | None = _AGAIN
                try:
                    left = scenarios.next_call()
                except Exception:
                    log.exception("the next event of simulated processes is not known")
                changed = self._changed.wait(left)
                until = time.monotonic() + _TOGETHER
                while changed and (left := until - time.monotonic()) > 0:  # changes often come together
                    self._changed.wait(left)
                self.catch_up(at_once=changed)
