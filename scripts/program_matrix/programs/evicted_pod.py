"""Fills a node's memory with simulated processes in the containers of its pods, and says whom the kubelet evicts.

Of three pods `guaranteed` holds what it requests, `besteffort` a little, and `burstable` grows beyond its request until
less than evictionHard's 100Mi are available. Run in examples/kubelet/node with the pods in crowded/ there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import urlopen

CGROUPS = Path("/sys/fs/cgroup")
API = "http://localhost:8080/api/v1"
FREE = 100 << 20
PATIENCE = 60.0
PHASES = {
    "guaranteed": "{for: 1h, memory: 600Mi}",
    "besteffort": "{for: 1h, memory: 100Mi}",
    "burstable": "{for: 1h, memory: {start: 1030Mi, grow: 4Mi/s}}",
}


T = TypeVar("T")


def ask(kind: str) -> list[Any]:
    """The objects of a kind."""
    with urlopen(f"{API}/{kind}") as answer:
        return json.load(answer)["items"] or []


def until(condition: Callable[[], T]) -> T:
    """Waits for it to hold, and returns what it gave."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > end:
            sys.exit(f"never: {condition.__name__}")
        time.sleep(0.02)
    return found


def running() -> list[Any]:
    """The three pods, once all run."""
    pods = [pod for pod in ask("pods") if pod["status"].get("phase") == "Running"]
    return pods if len(pods) == len(PHASES) else []


def container(pod: Any) -> Path:
    """The cgroup of its container."""
    number = pod["status"]["containerStatuses"][0]["containerID"].rpartition("/")[2]
    return next(CGROUPS.glob(f"kubepods/**/pod{pod['metadata']['uid']}/{number}"))


def crossed() -> bool:
    """Whether less is available than the threshold, as the kubelet counts it."""
    total = next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines() if "MemTotal" in line)
    stat = dict(line.split() for line in (CGROUPS / "memory.stat").read_text().splitlines())
    return total * 1024 - int(stat["anon"]) - int(stat["file"]) + int(stat["inactive_file"]) < FREE


def evicted() -> list[str]:
    """The pods that were evicted so far, in order."""
    return [event["involvedObject"]["name"] for event in ask("events") if event["reason"] == "Evicted"]


def main() -> None:
    """Prints who was evicted and who lives, and how long it took."""
    groups = {pod["metadata"]["name"]: container(pod) for pod in until(running)}
    workloads = [
        f"  - {{name: {name}, cgroup: {group.relative_to(CGROUPS)}, loop: forever, phases: [{PHASES[name]}]}}\n"
        for name, group in groups.items()
    ]
    control = [sys.executable, "-c", "import sys; from fakecgroup_mount.cli.program import main; sys.exit(main())"]
    scenario = "workloads:\n" + "".join(workloads)
    adding = [*control, "ctl", str(CGROUPS), "workload", "add", "-"]
    subprocess.run(adding, input=scenario, text=True, check=True, stdout=subprocess.DEVNULL)
    until(crossed)
    begun = time.monotonic()
    until(evicted)
    took = time.monotonic() - begun
    until(lambda: not groups["burstable"].exists())
    gone = time.monotonic() - begun
    print("evicted:", *evicted())
    print("alive:", *sorted(name for name, group in groups.items() if group.exists()))
    print("available again:", not crossed())
    print(f"{took:.1f} s until it was evicted, {gone:.1f} s until its container was gone")


if __name__ == "__main__":
    main()
