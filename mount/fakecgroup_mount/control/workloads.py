"""`ctl DIR workload ...`: simulated processes of a mounted tree are added, listed, removed, paused and resumed.

The pytest plugin spawns them, lets time pass, and asks who was killed.
"""

from __future__ import annotations

import json

from fakecgroup import Workload
from fakecgroup.simulation.clock import MOST_NS
from fakecgroup.simulation.words import parse_count
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


def spawn(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """Starts the workload of which `words` has the words (`Workload.words`), in the cgroups of the list `cgroups`.

    Both are JSON. Returns the `pids`, or what `Kernel.spawn` raises: an `errno`, or what is `wrong`.
    """
    from fakecgroup.scenario.scenario import Placed

    try:
        cgroups, words = json.loads(asked.arguments["cgroups"]), json.loads(asked.arguments["words"])
        workload = Workload(**words)
        paths = tuple(str(path).strip("/") for path in cgroups)
    except (TypeError, ValueError) as error:
        raise CommandError(f"this is no workload: {error}", 2) from None
    try:
        return {"pids": tree.time.spawn(Placed(paths, workload, ""))}
    except OSError as error:
        return {"errno": error.errno}
    except ValueError as error:
        return {"wrong": str(error)}


def advance(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """Lets `ns` of virtual time pass now."""
    try:
        time = parse_count(asked.arguments["ns"], 0, MOST_NS)
    except ValueError as error:
        raise CommandError(f"ns: {error}", 2) from None
    tree.time.advance(time)
    return {}


def kills(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """The simulated processes that were killed: a list of the fields of each `Kill`."""
    return {"kills": [list(kill) for kill in tree.kernel.kills]}


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
