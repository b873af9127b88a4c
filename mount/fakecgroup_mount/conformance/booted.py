"""`--target vm`: a booted kernel's answers beside those of a recorded one, and what has changed between the two."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict

from fakecgroup.conformance.changes import Change, changes
from fakecgroup.conformance.recording import PLAIN
from fakecgroup.conformance.report import print_tallies
from fakecgroup.conformance.report.as_changes import changes_text
from fakecgroup.conformance.tally import chosen
from fakecgroup_mount.conformance.oracle import oracle
from fakecgroup_mount.conformance.question import Question
from fakecgroup_mount.conformance.target_vm import Verified, verify
from fakecgroup_mount.conformance.vm_options import image_to_boot
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.vm.image import Image


def compare_booted(options: argparse.Namespace, asked: Question) -> int:
    """Returns 1 if something differs, else 0. Raises MountError."""
    image = image_to_boot(options, asked)
    if image is None:
        return _by_oracle(options, asked)
    booted = _asked(image, asked)
    tallies = [tally for one in booted for tally in one.tallies]
    changed = changes(result for tally in tallies for result in tally.results)
    print_tallies(
        tallies, asked.layout, asked.kernel, "vm", options.output, options.show, _more(image, booted, changed)
    )
    unsteady = [name for one in booted for name in one.unsteady]
    if unsteady and options.output == "table":
        print(f"answered otherwise when asked again, not counted: {', '.join(unsteady)}")
    if changed and options.output == "table":
        print(f"\n{image.name} ({booted[0].survey.release}) answers otherwise than {asked.kernel}:\n")
        print(changes_text(changed))
    return 1 if changed else 0


def _asked(image: Image, asked: Question) -> list[Verified]:
    """One for each recording. A machine that SIGTERM ends leaves nothing behind."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return [
            verify(image, recorded, chosen(recorded, asked.families, asked.shard), say)
            for recorded in asked.recordings()
        ]
    finally:
        signal.signal(signal.SIGTERM, before)


def _more(image: Image, booted: Sequence[Verified], changed: Sequence[Change]) -> dict[str, object]:
    """What the JSON has besides the differences."""
    return {
        "image": image.name,
        "release": booted[0].survey.release,
        "changes": [asdict(one) for one in changed],
        "unsteady": [name for one in booted for name in one.unsteady],
    }


def _by_oracle(options: argparse.Namespace, asked: Question) -> int:
    """Has scripts/oracle fetch the kernel and ask it."""
    if asked.shard:
        raise MountError(f"kernel {asked.kernel} is not in the cache: scripts/oracle fetches it, without --shard")
    words = [f"-o{options.output}", f"--machine={asked.machine or PLAIN}", f"--show={options.show}"]
    return oracle("verify", asked, *words, *(f"--family={name}" for name in asked.families))


def say(text: str) -> None:
    """Tells something beside the results."""
    print(f"fakecgroup conformance: {text}", file=sys.stderr, flush=True)
