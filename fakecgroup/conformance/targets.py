"""Where targets come from: the model is here, other packages name theirs as entry points.

An entry point of the group ``fakecgroup.conformance.targets`` is a `Provider`. It has the name that is asked for, such
as ``host``; the one named ``directory`` has all names that nobody else has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol

from fakecgroup import personalities
from fakecgroup.conformance import recording
from fakecgroup.conformance.learnt_answers import answers_of
from fakecgroup.conformance.recording import MACHINES, RecordedCase, Recording
from fakecgroup.conformance.target import Target, TargetError
from fakecgroup.conformance.target_model import ModelTarget
from fakecgroup.machine.learnt import LearntError, LearntKernel
from fakecgroup.machine.learnt_files import names_a_file, read_learnt

GROUP = "fakecgroup.conformance.targets"
DIRECTORY = "directory"


@dataclass(frozen=True)
class Wanted:
    """The target's name, and the layout and kernel to compare with; None is for the provider to choose.

    `kernel` may name a learnt kernel's file. `image` and `initrd` are files of the kernel to boot, for `vm`.
    """

    name: str
    layout: str | None = None
    kernel: str | None = None
    image: str | None = None
    initrd: str | None = None

    def learnt(self) -> LearntKernel | None:
        """The learnt kernel of the file that `kernel` names, if it names one. Raises TargetError."""
        if self.kernel is None or not names_a_file(self.kernel):
            return None
        try:
            return read_learnt(self.kernel)
        except LearntError as error:
            raise TargetError(str(error)) from None


class Provider(Protocol):
    """Makes targets of one kind ready."""

    def recordings(self, wanted: Wanted) -> Sequence[Recording]:
        """What the target is compared with. Raises TargetError where there is nothing of the kind."""

    def open(
        self, wanted: Wanted, recorded: Recording, cases: Sequence[RecordedCase]
    ) -> AbstractContextManager[Target]:
        """The target, for some or all of these cases of one recording, in any order. Raises TargetError.

        Several processes may have the same target open, and do cases at once.
        """


class Model:
    """The provider of the model in this process."""

    def recordings(self, wanted: Wanted) -> Sequence[Recording]:
        """Those of all machines, or what a learnt kernel answered."""
        learnt = wanted.learnt()
        if learnt is not None:
            try:
                return [answers_of(learnt, wanted.layout or next(iter(learnt.layouts)))]
            except LearntError as error:
                raise TargetError(str(error)) from None
        layout = wanted.layout or "v2"
        known = [version for of, version in personalities() if of == layout]
        kernel = wanted.kernel or known[0]
        if kernel not in known:
            raise TargetError(f"no kernel {kernel} for layout {layout}: there is {', '.join(known)}")
        machines = [machine for machine in MACHINES if (layout, kernel) in recording.available(machine)]
        if not machines:
            raise TargetError(f"nobody recorded kernel {kernel} on {layout}")
        return [recording.load(layout, kernel, machine) for machine in machines]

    @contextmanager
    def open(self, wanted: Wanted, recorded: Recording, cases: Sequence[RecordedCase]) -> Iterator[Target]:
        """A fresh one for each process."""
        yield ModelTarget(recorded.layout, wanted.learnt() or recorded.kernel, recorded.machine)


def provider(name: str) -> Provider:
    """Who makes a target of this name. Raises TargetError where no installed package does."""
    if name == "model":
        return Model()
    found = {point.name: point for point in entry_points(group=GROUP)}
    point = found.get(name) or found.get(DIRECTORY)
    if point is None:
        raise TargetError(f"no target {name}: there is {', '.join(('model', *found))}")
    made: Provider = point.load()
    return made
