"""Where a target is known to answer otherwise than the kernel, by (layout, case), each with its reason.

The one list: tests take these cases as expected failures, `fakecgroup conformance` counts them apart, docs/parity.md
shows them.
"""

from __future__ import annotations

from collections.abc import Mapping

Gaps = Mapping[tuple[str, str], str]

MODEL: Gaps = {}

_FORKS = "a real process may fork whatever pids.max says"
_FROZEN = "real processes are not frozen"
_CHILDREN = "a mount does not hear of forks"

MOUNT: Gaps = {
    ("v2", "moving in is never refused"): _FORKS,
    ("v2", "a limit holds for all below it"): _FORKS,
    ("v2", "pids.events counts every refused fork"): _FORKS,
    ("v2", "pids.events can be polled"): _FORKS,
    ("v2", "freezing a process"): _FROZEN,
    ("v2", "the order of pids"): _CHILDREN,
    ("v2", "pids starts over after the controller was off"): _CHILDREN,
}
