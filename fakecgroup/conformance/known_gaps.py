"""Where a target is known to answer otherwise than the kernel, by (layout, case), each with its reason.

The one list: tests take these cases as expected failures, `fakecgroup conformance` counts them apart, docs/parity.md
shows them.
"""

from __future__ import annotations

from collections.abc import Mapping

from fakecgroup.machine.learnt import LearntKernel

Gaps = Mapping[tuple[str, str], str]

MODEL: Gaps = {}

_FORKS = "a real process may fork whatever pids.max says"
_SIGKILL = "a real process that is stopped can be killed at once; v1's freezer keeps it until the thaw"
_DEVICES = "real processes may open any device"
_ONE = "one mount is one file system: its kernel asks for no other hierarchy"
_WATCHED = (
    "the mount's kernel tells of the end of a directory that is watched, and never of that of its files; of the real "
    "ones 7.2 tells of both, the others of neither"
)
_DOTS = "the mount's kernel follows . and .. itself, and looks a name up before it asks for permission"

MOUNT: Gaps = {
    **MODEL,
    **{
        (layout, name): _FORKS
        for layout in ("v2", "v1")
        for name in (
            "moving in is never refused",
            "a limit holds for all below it",
            "pids.events counts every refused fork",
            "pids.events can be polled",
            "pids.events wakes where a fork is refused",
        )
    },
    ("hybrid", "the pids limit holds, whatever the place in unified"): _FORKS,
    ("v1", "killing a frozen task waits for the thaw"): _SIGKILL,
    ("v1", "opening a device that is denied"): _DEVICES,
    ("v1", "nothing moves between hierarchies"): _ONE,
    ("v1", "renames between hierarchies and to no name"): _ONE,
    ("v2", "a watch of what is removed"): _WATCHED,
    ("v2", "a file that is gone"): "the mount's kernel reads whole pages for a copy, so what was made is not at hand",
    ("v2", "no way through a closed directory"): _DOTS,
    **{("v1", f"no way through a closed directory ({h})"): _DOTS for h in ("pids", "cpu,cpuacct")},
}


def of(target: str, layout: str, learnt: LearntKernel | None = None) -> Mapping[str, str]:
    """The reasons by case for a target of `fakecgroup conformance`: "model", a mount, "vm" or "host" (kernels: none).

    `learnt`: the model or the mount plays a learnt kernel, which has gaps of its own.
    """
    gaps = {"model": MODEL, "vm": {}, "host": {}}.get(target, MOUNT)
    found = {name: why for (where, name), why in gaps.items() if where == layout}
    if learnt is None or layout not in learnt.layouts or target in ("vm", "host"):
        return found
    one = learnt.layouts[layout]
    why = "{} does not answer by the rules of {}.{}".format(learnt.release, *one.rules)
    return {**dict.fromkeys(one.gaps, why), **found}
