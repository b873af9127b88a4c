"""What the command line asks: of which layout and kernel, and which cases."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass

from fakecgroup import personalities
from fakecgroup.conformance import recording
from fakecgroup.conformance.learnt_answers import answers_of
from fakecgroup.conformance.recording import MACHINES, PLAIN, Recording, RecordingError
from fakecgroup.conformance.shard import Shard
from fakecgroup.machine.learnt import LearntError, LearntKernel
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host.cgroup_mounts import layouts


@dataclass(frozen=True)
class Question:
    """Whose answers a target is compared with, and which; what is None or empty leaves the choice open."""

    target: str
    layout: str
    kernel: str
    machine: str | None
    families: Sequence[str]
    shard: Shard | None
    learnt: LearntKernel | None = None

    def recordings(self) -> list[Recording]:
        """The recordings that are asked again. Raises MountError if there is none, or an unknown family is named."""
        found = self._of_learnt(self.learnt) if self.learnt is not None else self._of_ours()
        known = list(dict.fromkeys(family for recorded in found for family in recorded.families))
        unknown = set(self.families) - set(known)
        if unknown:
            raise MountError(f"no family {', '.join(sorted(unknown))}; there is {', '.join(known)}")
        return found

    def _of_learnt(self, learnt: LearntKernel) -> list[Recording]:
        if self.machine not in (None, PLAIN):
            raise MountError(f"{learnt} was learnt on one machine: leave --machine out")
        try:
            return [answers_of(learnt, self.layout)]
        except LearntError as error:
            raise MountError(str(error)) from None

    def _of_ours(self) -> list[Recording]:
        machines = [self.machine or PLAIN]
        if self.machine is None and self.target == "model":
            machines = [one for one in MACHINES if (self.layout, self.kernel) in recording.available(one)] or [PLAIN]
        try:
            return [recording.load(self.layout, self.kernel, machine) for machine in machines]
        except RecordingError as error:
            raise MountError(str(error)) from None


def question_of(options: argparse.Namespace) -> Question:
    """The options with their defaults filled in. Raises MountError for a layout or kernel that nobody asked."""
    host = options.target == "host"
    layout = options.layout or (layout_here() if host else "v2")
    named = options.baseline or options.kernel
    if isinstance(named, LearntKernel):
        return _about_learnt(options, named)
    kernel = named or (".".join(os.uname().release.split(".")[:2]) if host else None)
    kernel = kernel or next(version for of, version in personalities() if of == layout)
    if (layout, kernel) not in personalities():
        known = ", ".join(version for of, version in personalities() if of == layout)
        raise MountError(f"no kernel {kernel!r} for layout {layout}: there is {known}")
    return Question(options.target, layout, kernel, options.machine, options.family or (), options.shard)


def _about_learnt(options: argparse.Namespace, learnt: LearntKernel) -> Question:
    """A learnt kernel's first layout is its default, for host the one that is here. Raises MountError."""
    if options.fuzz is not None:
        raise MountError("--fuzz asks Debian's kernels: leave the learnt kernel out")
    if options.target == "vm" and options.image is None and not isinstance(options.kernel, str):
        raise MountError(f"{learnt} has answers alone: name the kernel to boot with --image FILE")
    layout = options.layout or (layout_here() if options.target == "host" else next(iter(learnt.layouts)))
    shard, families = options.shard, options.family or ()
    return Question(options.target, layout, learnt.release, options.machine, families, shard, learnt)


def layout_here() -> str:
    """The layout of this machine's hierarchies. Raises MountError if none is mounted."""
    found = layouts()
    if not found:
        raise MountError("--target host: no cgroup hierarchy is mounted on this machine")
    return found[0]
