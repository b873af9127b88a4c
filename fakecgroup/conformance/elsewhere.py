"""Cases on another machine than the recorded one, in cgroups in place of its roots.

Some answers follow from that: a root has other files than a cgroup, a list of CPUs is refused where there are fewer.
Two models go along to tell which: one is where the recorded kernel was, one is where the target is. An operation that
both answer in one way is compared with the recording. One that they answer in two ways is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from fakecgroup.conformance import recording
from fakecgroup.conformance.case import Answer, Case, Op, data_bytes
from fakecgroup.conformance.normalise import Normaliser
from fakecgroup.conformance.placed_model import PlacedModel
from fakecgroup.conformance.setting import Setting
from fakecgroup.conformance.stand_in import innermost, paths
from fakecgroup.conformance.target import Target, UnsupportedError
from fakecgroup.conformance.target_model import ModelTarget, machine_of
from fakecgroup.machine.learnt import LearntKernel

_MACHINE = "the answer follows from the CPUs, NUMA nodes, memory or devices of the machine"
_PLACE = "the answer is another below a root, or to another owner"
_CONTROLLERS = "the answer follows from controllers that are not delegated"
#: It has parts for each CPU (mm/percpu.c), so a limit holds more or fewer; what comes after differs too.
_KERNEL_MEMORY = "how much kernel memory a cgroup takes follows from the CPUs of the machine"
_LEFT_OUT = "the answer follows from an operation that was left out"


class _Follower:
    """A model that goes along, and its answers in the form in which answers are compared."""

    def __init__(self, model: ModelTarget) -> None:
        self._model = model

    def start(self, case: Case) -> None:
        self._model.start(case)
        self._normalise = Normaliser(self._model.pids)

    def answer(self, op: Op) -> Answer | None:
        """None for what the model does not tell."""
        try:
            return self._normalise(op, self._model.do(op))
        except UnsupportedError:
            return None


class _Late:
    """A follower that is asked seldom: it goes through a case so far when it is asked."""

    def __init__(self, follower: _Follower) -> None:
        self._follower = follower

    def start(self, case: Case) -> None:
        self._case = case
        self._to_do: list[Op] = []
        self._started = False

    def note(self, op: Op) -> None:
        self._to_do.append(op)

    def answer(self) -> Answer | None:
        """The answer to the operation that was noted last."""
        if not self._started:
            self._follower.start(self._case)
            self._started = True
        found = None
        for op in self._to_do:
            found = self._follower.answer(op)
        self._to_do = []
        return found


class Elsewhere:
    """A target in some setting, for cases that a kernel was asked on one of ``recording.MACHINES``, or a learnt one.

    What follows from the setting is done, and left out with an UnsupportedError. Raises RecordingError where there is
    no recording.
    """

    def __init__(
        self,
        target: Target,
        setting: Setting,
        layout: str,
        kernel: str | LearntKernel,
        machine: str = recording.PLAIN,
    ) -> None:
        self._target = target
        recorded = machine_of(layout, kernel, machine)
        in_place = Setting(recorded, setting.controllers, {}, setting.uid, setting.gid)
        self._recorded = _Follower(ModelTarget(layout, kernel, machine))
        self._in_place = _Late(_Follower(PlacedModel(layout, kernel, in_place)))
        self._here = _Follower(PlacedModel(layout, kernel, setting))
        self._missing = set(PlacedModel.controllers_of(layout, kernel)) - set(setting.controllers)

    @property
    def pids(self) -> Mapping[int, str]:
        return self._target.pids

    def start(self, case: Case) -> None:
        self._anything_left_out = self._missing_named = False
        for follower in (self._recorded, self._in_place, self._here):
            follower.start(case)
        self._target.start(case)

    def do(self, op: Op) -> Answer:
        self._missing_named |= self._names_missing(op)
        try:
            answer = self._target.do(op)
        except UnsupportedError:
            self._anything_left_out = True
            self._recorded.answer(op)
            raise
        recorded = self._recorded.answer(op)
        reason = self._follows_from(op, recorded)
        if recorded is not None and answer[0] != recorded[0] and _any_is_enomem(answer[0], recorded[0]):
            raise UnsupportedError(_KERNEL_MEMORY)
        if reason:
            raise UnsupportedError(reason, ends=False)
        return answer

    def finish(self) -> None:
        self._target.finish()

    def _follows_from(self, op: Op, recorded: Answer | None) -> str:
        """What in the setting the answer follows from, "" for nothing."""
        here = self._here.answer(op)
        self._in_place.note(op)
        if recorded == here:
            return ""
        if recorded == self._in_place.answer():
            return _MACHINE
        if self._missing_named:
            return _CONTROLLERS
        return _LEFT_OUT if self._anything_left_out else _PLACE

    def _names_missing(self, op: Op) -> bool:
        """Whether an operation is about a controller that is not there."""
        op = innermost(op)
        words = {file.rpartition("/")[2].partition(".")[0] for file in paths(op)}
        if op[0] in ("write", "fwrite") and isinstance(op[2], str):
            words |= {word.lstrip("+-") for word in data_bytes(op[2]).decode("latin-1").split()}
        return bool(words & self._missing)


def _any_is_enomem(*errors: str | None) -> bool:
    """True for ENOMEM and ENOMEM@write."""
    return any(error is not None and error.partition("@")[0] == "ENOMEM" for error in errors)
