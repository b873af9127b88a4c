"""`ctl DIR workload ...`: simulated processes of a mounted tree are added, listed, removed, paused and resumed."""

from __future__ import annotations

from collections.abc import Mapping

from fakecgroup_mount.control.errors import CommandError
from fakecgroup_mount.hints import shown
from fakecgroup_mount.live.passing_time import PassingTime


def add(time: PassingTime, arguments: Mapping[str, str]) -> dict[str, object]:
    """Begins a scenario, of which `text` is the YAML and `name` the file's name. Returns the names of its workloads."""
    from fakecgroup.scenario import ScenarioError, read_scenario  # these take a while to load

    try:
        scenario = read_scenario(arguments["text"], arguments["name"])
        left_out = [key for key in ("machine", "expect") if getattr(scenario, key)]
        return {"added": time.add(scenario), "left_out": left_out}
    except ScenarioError as error:
        raise CommandError(str(error), 2) from None


def list_all(time: PassingTime, arguments: Mapping[str, str]) -> dict[str, object]:
    """All workloads, with the processes that are left of each."""
    if time.scenarios is None:
        return {"workloads": []}
    return {
        "workloads": [
            {
                "name": one.name,
                "cgroups": list(one.placed.cgroups),
                "state": "ended" if not one.pids else "paused" if one.paused else "runs",
                "pids": one.pids,
            }
            for one in time.scenarios.running()
        ]
    }


def remove(time: PassingTime, arguments: Mapping[str, str]) -> dict[str, object]:
    """Ends the processes of the workload `name`."""
    if time.scenarios is not None and _known(time, arguments["name"]):
        time.scenarios.remove(arguments["name"])
    return {}


def pause(time: PassingTime, arguments: Mapping[str, str]) -> dict[str, object]:
    """Stops the processes of the workload `name`."""
    return _pause(time, arguments["name"], True)


def resume(time: PassingTime, arguments: Mapping[str, str]) -> dict[str, object]:
    """Lets the processes of the workload `name` go on."""
    return _pause(time, arguments["name"], False)


def _pause(time: PassingTime, name: str, paused: bool) -> dict[str, object]:
    if time.scenarios is not None and _known(time, name):
        time.scenarios.pause(name, paused)
    return {}


def _known(time: PassingTime, name: str) -> bool:
    """True for the name of a workload. Raises CommandError for any other."""
    names = [] if time.scenarios is None else [one.name for one in time.scenarios.running()]
    if name not in names:
        there = f"there is {', '.join(map(shown, names))}" if names else "there is none"
        raise CommandError(f"no workload is named {name!r}; {there}")
    return True
