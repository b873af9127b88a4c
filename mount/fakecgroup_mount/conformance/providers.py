"""The targets that mount, boot or use this machine, as entry points of `fakecgroup.conformance.targets`."""

from __future__ import annotations

import argparse
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from fakecgroup.conformance.case import Answer, Case, Op
from fakecgroup.conformance.recording import RecordedCase, Recording
from fakecgroup.conformance.target import Target, TargetError
from fakecgroup.conformance.targets import Wanted
from fakecgroup_mount.conformance.open_target import open_target
from fakecgroup_mount.conformance.options import add_options
from fakecgroup_mount.conformance.question import question_of
from fakecgroup_mount.conformance.target_guest import GuestTarget
from fakecgroup_mount.conformance.vm_options import check_vm_options, image_to_boot, take_nearest_kernel
from fakecgroup_mount.errors import MountError


class Shared:
    """The provider of targets that several processes have: a mounted tree, and this machine. They take turns."""

    def recordings(self, wanted: Wanted) -> Sequence[Recording]:
        """As `fakecgroup conformance` chooses them."""
        return _recordings(wanted)

    @contextmanager
    def open(self, wanted: Wanted, recorded: Recording, cases: Sequence[RecordedCase]) -> Iterator[Target]:
        """Takes a directory's lock, or for this machine that of the package."""
        path = os.path.dirname(__file__) if wanted.name == "host" else wanted.name
        with _told():
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            opening = open_target(wanted.name, recorded, [one.case for one in cases], wanted.learnt())
            with _told():
                target = opening.__enter__()
            fcntl.flock(lock, fcntl.LOCK_UN)
            try:
                yield InTurn(target, lock)
            finally:
                opening.__exit__(None, None, None)
        finally:
            os.close(lock)


class InTurn:
    """A target whose cases hold a lock."""

    def __init__(self, target: Target, lock: int) -> None:
        self._target = target
        self._lock = lock

    @property
    def pids(self) -> Mapping[int, str]:
        return self._target.pids

    def start(self, case: Case) -> None:
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            self._target.start(case)
        except BaseException:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            raise

    def do(self, op: Op) -> Answer:
        return self._target.do(op)

    def finish(self) -> None:
        try:
            self._target.finish()
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)


class Booted:
    """The provider of kernels that are booted, by each process for itself."""

    def recordings(self, wanted: Wanted) -> Sequence[Recording]:
        """As `fakecgroup conformance` chooses them."""
        return _recordings(wanted)

    @contextmanager
    def open(self, wanted: Wanted, recorded: Recording, cases: Sequence[RecordedCase]) -> Iterator[Target]:
        """The kernel of the image, or Debian's as scripts/oracle has fetched it."""
        with _told():
            options = _options(wanted)
            image = image_to_boot(options, question_of(options))
        if image is None:
            raise TargetError(f"kernel {recorded.kernel} is not here: scripts/oracle fetch {recorded.kernel}")
        yield GuestTarget(image, recorded.machine, [one.case for one in cases])


def _options(wanted: Wanted) -> argparse.Namespace:
    """What was asked for, and the command's defaults. Raises MountError, TargetError."""
    parser = argparse.ArgumentParser()
    add_options(parser)
    options = parser.parse_args([])
    options.target, options.layout, options.kernel = wanted.name, wanted.layout, wanted.learnt() or wanted.kernel
    options.image, options.initrd = wanted.image, wanted.initrd
    check_vm_options(options)
    take_nearest_kernel(options, lambda text: None)
    return options


def _recordings(wanted: Wanted) -> Sequence[Recording]:
    with _told():
        return question_of(_options(wanted)).recordings()


@contextmanager
def _told() -> Iterator[None]:
    """What cannot be had is one line."""
    try:
        yield
    except MountError as error:
        raise TargetError(str(error)) from None
    except OSError as error:
        raise TargetError(f"{error.filename}: {error.strerror}") from None


shared = Shared()
booted = Booted()
