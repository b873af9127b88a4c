"""The target that the command line names, made ready."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.elsewhere import Elsewhere
from fakecgroup.conformance.recording import Recording
from fakecgroup.conformance.target import Target
from fakecgroup.conformance.target_learnt import LearntTarget
from fakecgroup.conformance.target_model import ModelTarget
from fakecgroup.machine.learnt import LearntKernel
from fakecgroup_mount.conformance.target_host import HostTarget
from fakecgroup_mount.conformance.target_mount import mounted_target


@contextmanager
def open_target(
    name: str, recorded: Recording, cases: Sequence[Case], learnt: LearntKernel | None = None
) -> Iterator[Target]:
    """The target for some cases of a recording: "model", "host", or a directory. Raises MountError.

    `learnt`: the recording is of a learnt kernel.
    """
    if name == "model":
        if learnt is not None:
            yield LearntTarget(recorded.layout, learnt)
        else:
            yield ModelTarget(recorded.layout, recorded.kernel, recorded.machine)
    elif name == "host":
        with closing(HostTarget(recorded.layout)) as target:
            yield Elsewhere(target, target.setting, recorded.layout, learnt or recorded.kernel, recorded.machine)
    else:
        yield mounted_target(name, recorded, cases)
