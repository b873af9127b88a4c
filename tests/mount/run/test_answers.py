"""Small things that programs do (`answers`), answered by `fakecgroup run` as by booted kernels.

The kernels' answers are recorded by `answers/record.py`, never by hand.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import Sandboxed, said

ANSWERS = Path(__file__).with_name("answers")

# The answers that differ: which, as a regular expression, and why.
GAPS = {
    r"open_through_links > file": "a link with a name of its own is not looked at",
    r"open_with_flags > .* O_PATH.*": "the descriptor is of what can be read, as no other can be handed over",
    r"open_with_flags > .* (O_NOATIME|O_NOFOLLOW|O_APPEND).*": "fcntl(2) does not tell of these flags",
    r"read_what_was_opened > fsync": "a file in memory has one",
    r"stat_what_was_opened > .*\[1\]": "a file in memory has no link",
    r"inotify_events > removed": "FUSE tells that a watched directory is gone",
    r"freeze_and_kill > SIGTERM": "what is stopped by SIGSTOP does not die of SIGTERM",
    r"files > mmap private": "FUSE maps what can be read",
    r"pidfd_information": "refused as 6.1 does it (ENOTTY), whatever is played",
}
SIMULATED = ("directory_of_a_process", "access_to_a_process", "oom_score_adj", "triggers_of_the_machine")
"""The operations that are done with simulated processes: real ones are as the machine has them."""
GAPS_OF_SIMULATED = {
    r"directory_of_a_process > removed": "unlink(2) finds nothing there",
    r"access_to_a_process > .* > /stat/x .*": "what is below a file is as if the process were not there",
}
SUBJECTS = """
machine: {cpus: 2, memory: 1Gi}
cgroups: {fcg-simulated: }
workloads: [{name: subject, cgroup: fcg-simulated, instances: 4, loop: forever, phases: [{for: 1h, cpu: 0}]}]
"""
ONLY_V2 = {r"inotify_events > removed", r"freeze_and_kill > SIGTERM", r"pidfd_information"}
NOT_IN_TIME = "no answer"  # by a machine that is emulated


def differences(recorded: Any, found: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two answers are not the same, and what they are there."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        for name in recorded | found:
            inside = f"{where} > {name}" if where else name
            yield from differences(recorded.get(name), found.get(name), inside)
    elif isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        for number, both in enumerate(zip(recorded, found, strict=True)):
            yield from differences(*both, f"{where}[{number}]")
    elif recorded != found:
        yield where, recorded, found


@pytest.mark.parametrize("recording", ["v2-6.12", "v1-6.1"])
def test_programs_are_told_what_a_kernel_tells_them(sandboxed: Sandboxed, recording: str) -> None:
    if os.geteuid():
        pytest.skip("some answers are root's")
    layout, kernel = recording.split("-")
    recorded = recording_of(recording)
    recorded = {name: said for name, said in recorded.items() if said != NOT_IN_TIME and name not in SIMULATED}
    gaps = set(GAPS) if layout == "v2" else set(GAPS) - ONLY_V2
    assert_same(recorded, answered(sandboxed, recorded, layout, kernel=kernel), gaps)


def test_programs_are_told_of_a_simulated_process_what_a_kernel_tells_of_one(
    sandboxed: Sandboxed, tmp_path: Path
) -> None:
    if os.geteuid():
        pytest.skip("some answers are root's")
    (tmp_path / "subjects.yaml").write_text(SUBJECTS)
    recorded = {name: said for name, said in recording_of("v2-6.12").items() if name in SIMULATED}
    found = answered(sandboxed, recorded, kernel="6.12", workload=str(tmp_path / "subjects.yaml"))
    assert_same(recorded, found, set(GAPS_OF_SIMULATED))


def recording_of(name: str) -> dict[str, Any]:
    """What a kernel said, by operation."""
    found: dict[str, Any] = json.loads((ANSWERS / f"{name}.json").read_text())
    return found


def answered(sandboxed: Sandboxed, names: Iterable[str], layout: str = "v2", **options: str) -> Any:
    """What operations find out in a sandbox."""
    script = f"exec '{sys.executable}' -W ignore '{ANSWERS}' {layout} {' '.join(names)}"
    return json.loads(said(sandboxed(script, layout=layout, **options)))


def assert_same(recorded: Any, found: Any, gaps: set[str]) -> None:
    """Each answer is the kernel's, but for those of the gaps, which all differ."""
    seen = set()
    wrong = []
    for where, theirs, ours in differences(recorded, found):
        gap = next((gap for gap in gaps if re.fullmatch(gap, where)), None)
        if gap is None:
            wrong.append(f"{where}: {ours}, where the kernel says {theirs}")
        seen.add(gap)
    assert wrong == []
    assert gaps - seen == set()  # else one has closed
