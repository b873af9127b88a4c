"""The recorded cases as tests of pytest: ``pytest --pyargs fakecgroup.conformance``.

pytest collects this file with the plugin that declares the options, `fakecgroup_mount.testing.conformance_plugin`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from fakecgroup.conformance import known_gaps
from fakecgroup.conformance.recording import PLAIN, RecordedCase, Recording
from fakecgroup.conformance.replay import Difference, Result, replay
from fakecgroup.conformance.shard import Shard
from fakecgroup.conformance.tally import chosen
from fakecgroup.conformance.target import Target, TargetError
from fakecgroup.conformance.targets import Provider, Wanted, provider
from fakecgroup.conformance.titles import title


class DifferentError(Exception):
    """A case is answered otherwise than the kernel answered it."""

    def __init__(self, differences: Sequence[Difference]) -> None:
        super().__init__("\n".join(map(str, differences)))


class RecordedCases(pytest.File):
    """All recorded cases that the options choose."""

    def collect(self) -> Iterable[pytest.Collector]:
        """A collector for each recording, named by its layout, kernel and machine."""
        option = self.config.getoption
        names = ("target", "layout", "kernel", "image", "initrd")
        wanted = Wanted(*(option(f"cgroup_{name}") for name in names))
        families = option("cgroup_family")
        if (wanted.image or wanted.initrd) and wanted.name != "vm":
            raise self.CollectError(
                "fakecgroup conformance: --cgroup-image is about a booted kernel: say --cgroup-target vm too"
            )
        try:
            shard = Shard.parse(option("cgroup_shard") or "1/1")
            made = provider(wanted.name)
            recordings = made.recordings(wanted)
        except (TargetError, ValueError) as error:
            raise self.CollectError(f"fakecgroup conformance: {error}") from None
        known = dict.fromkeys(family for recorded in recordings for family in recorded.families)
        unknown = [family for family in families if family not in known]
        if unknown:
            raise self.CollectError(f"fakecgroup conformance: no family {unknown[0]}; there is {', '.join(known)}")
        for recorded in recordings:
            cases = chosen(recorded, families, shard)
            yield OneRecording.from_parent(self, opened=Opened(made, wanted, recorded, cases))


class Opened:
    """A target that is opened for the first case that needs it, and closed at the end of the session."""

    def __init__(self, provider: Provider, wanted: Wanted, recorded: Recording, cases: Sequence[RecordedCase]) -> None:
        self.wanted = wanted
        self.recorded = recorded
        self.cases = cases
        self.gaps = known_gaps.of(wanted.name, recorded.layout, wanted.learnt())
        self._provider = provider
        self._target: Target | None = None
        self._stack = ExitStack()

    def target(self, config: pytest.Config) -> Target:
        """Raises TargetError."""
        if self._target is None:
            opening = self._provider.open(self.wanted, self.recorded, self.cases)
            self._target = self._stack.enter_context(opening)
            config.add_cleanup(self._stack.close)
        return self._target


class OneRecording(pytest.Collector):
    """What one kernel answered on one machine."""

    def __init__(self, opened: Opened, **about: Any) -> None:
        super().__init__(**about)
        self._opened = opened

    @classmethod
    def from_parent(cls, parent: pytest.Collector, *, opened: Opened) -> OneRecording:  # type: ignore[override]
        recorded = opened.recorded
        name = f"{recorded.layout} {recorded.kernel}"
        name += "" if recorded.machine == PLAIN else f" with {recorded.machine}"
        made: OneRecording = super().from_parent(parent, name=name, opened=opened)
        return made

    def collect(self) -> Iterable[pytest.Collector]:
        """A collector for each family."""
        for family in dict.fromkeys(case.family for case in self._opened.cases):
            yield Family.from_parent(self, name=family, opened=self._opened)


class Family(pytest.Collector):
    """The cases of one family."""

    def __init__(self, opened: Opened, **about: Any) -> None:
        super().__init__(**about)
        self._opened = opened

    def collect(self) -> Iterable[pytest.Item]:
        for case in self._opened.cases:
            if case.family == self.name:
                yield CaseItem.from_parent(self, name=title(case.case.name), case=case, opened=self._opened)


class CaseItem(pytest.Item):
    """One case: it passes if each answer is the kernel's."""

    def __init__(self, case: RecordedCase, opened: Opened, **about: Any) -> None:
        super().__init__(**about)
        self._case = case
        self._opened = opened

    def runtest(self) -> None:
        try:
            target = self._opened.target(self.config)
        except TargetError as error:
            self.session.shouldfail = str(error)  # no other case has one either
            raise
        result = replay(self._case, target)
        if result.differences and self._opened.wanted.name != "model":
            result = _again(result, replay(self._case, target))
        gap = self._opened.gaps.get(self._case.case.name)
        if result.differences:
            if gap is not None:
                pytest.xfail(gap)
            raise DifferentError(result.differences)
        if not result.compared:
            pytest.skip("no operation could be compared on this target")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The differences, or why there is no target, without a traceback."""
        if isinstance(excinfo.value, (DifferentError, TargetError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, f"{self._case.family}: {self.name}"


def _again(first: Result, second: Result) -> Result:
    """What differs on a real kernel is asked once more: what it does not answer twice is no difference."""
    kept = tuple(difference for difference in first.differences if difference in second.differences)
    return Result(first.case, first.compared, first.left_out, kept)
