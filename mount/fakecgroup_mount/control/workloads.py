"""`ctl DIR workload ...`: simulated processes of a mounted tree are added, listed, removed, paused and resumed."""

from __future__ import annotations

from fakecgroup_mount.control.controlled_tree import Asked, ControlledTree
from fakecgroup_mount.control.errors import CommandError
from fakecgroup_mount.hints import shown
from fakecgroup_mount.live.passing_time import PassingTime


def add(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """Begins a scenario, of which `text` is the YAML and `name` the file's name. Returns the names of its workloads."""
    from fakecgroup.scenario import ScenarioError, read_scenario  # these take a while to load

    try:
        scenario = read_scenario(asked.arguments["text"], asked.arguments["name"])
        left_out = [key for key in ("machine", "expect") if getattr(scenario, key)]
        return {"added": tree.time.add(scenario), "left_out": left_out}
    except ScenarioError as error:
        raise CommandError(str(error), 2) from None


def list_all(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """All workloads, with the processes that are left of each."""
    if tree.time.scenarios is None:
        return {"workloads": []}
    return {
        "workloads": [
            {
                "name": one.name,
                "cgroups": list(one.placed.cgroups),
                "state": "ended" if not one.pids else "paused" if one.paused else "runs",
                "pids": one.pids,
            }
            for one in tree.time.scenarios.running()
        ]
    }


def remove(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """Ends the processes of the workload `name`."""
    name = asked.arguments["name"]
    if tree.time.scenarios is not None and _known(tree.time, name):
        tree.time.scenarios.remove(name)
    return {}


def pause(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """Stops the processes of the workload `name`."""
    return _pause(tree.time, asked.arguments["name"], True)


def resume(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """Lets the processes of the workload `name` go on."""
    return _pause(tree.time, asked.arguments["name"], False)


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
