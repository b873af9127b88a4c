"""A container that exceeds its memory limit loses a process to the OOM killer. No other container does."""

from __future__ import annotations

from .cgroups import Cgroups
from .checks import Checks
from .node import BACK_LIMIT, Node
from .processes import SLEEP, Processes, alive, how_it_ended
from .waiting import PATIENCE

_GREEDY, _OTHERS = "elastic/back", ("elastic/front", "steady/work", "batch/work", "spare/work")


#: Takes twice the limit, and ends by itself if it gets that.
_TAKE = ["dd", "if=/dev/zero", "of=/dev/null", f"bs={2 * BACK_LIMIT}", "count=1", "status=none"]


def check_limit(node: Node, cgroups: Cgroups, checks: Checks) -> None:
    explained = node.explained()
    path = explained[_GREEDY]["cgroup"]
    with Processes(node) as processes:
        others = {name: processes.start(name, SLEEP) for name in _OTHERS}
        neighbour = processes.start(_GREEDY, SLEEP)
        before = {name: cgroups.oom_kills(explained[name]["cgroup"]) for name in (_GREEDY, *_OTHERS)}
        greedy = processes.start(_GREEDY, _TAKE)
        try:
            ended = greedy.wait(PATIENCE)
        except TimeoutError:
            ended = 0
        checks.equal(f"{_GREEDY}: what takes twice the limit", how_it_ended(ended), "killed")
        kills = {name: cgroups.oom_kills(explained[name]["cgroup"]) - count for name, count in before.items()}
        checks.at_least(f"{_GREEDY}: OOM kills counted", kills[_GREEDY], 1)
        # memory.oom.group, which only v2 has, takes the whole container along
        together = cgroups.version == 2 and cgroups.value(path, "memory.oom.group") == "1"
        if together:
            neighbour.wait(PATIENCE)
        checks.equal(
            f"{_GREEDY}: its other process",
            "lives" if alive(neighbour) else "killed",
            "killed" if together else "lives",
        )
        checks.equal("other containers: OOM kills", sum(kills[name] for name in _OTHERS), 0)
        checks.equal("other containers: processes that live", sum(map(alive, others.values())), len(others))
