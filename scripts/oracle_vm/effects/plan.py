"""A scenario as the guest takes it: lines of text, times in ns, sizes in bytes. `guest/init.c` is the other end.

set-up ...                             what the machine has for all scenarios, see `guest/setup.c`
cgroup PATH                            is made, in this order
write PATH TEXT                        before the tasks begin, in this order
task NAME CGROUPS NICE OOM_SCORE_ADJ THREADS DELAY LOOP     LOOP -1: for ever
phase for|run|sleep NS CPUS MEMORY GROW FILE HUGE READ WRITE BLOCK DISK    of the last task; -1: as before
listen ...                             to a file's events, see `guest/listen.c`
file PATH                              is read at each look
at NS look                             in the order of time
at NS write PATH TEXT
play NAME RUNS                         so often; what came before is forgotten then
"""

from __future__ import annotations

from collections.abc import Iterator

from fakecgroup.machine.mounts import SYSTEMD_MOUNTS
from fakecgroup.scenario.scenario import CgroupSetup, Placed
from fakecgroup.simulation.phase import Phase
from fakecgroup_mount.vm.errors import MachineError

from .catalogue import Entry
from .machine import Shape

#: Controllers that a file of a cgroup can need.
_CONTROLLERS = ("cpu", "cpuset", "memory", "io", "pids", "hugetlb")
_HUGE_PAGE = 2 << 20


def set_up(shape: Shape) -> Iterator[str]:
    """The lines for what a machine has."""
    if shape.layout == "v2":
        yield "set-up unified memory_recursiveprot"
    else:
        yield "set-up hierarchies"
        for mount in SYSTEMD_MOUNTS:
            if mount.controllers:
                yield f"set-up hierarchy {mount.directory}"
            yield from (f"set-up link {link} {mount.directory}" for link in mount.links)
    if shape.swap:
        yield f"set-up swap {shape.swap}"
    if shape.huge_pages:
        yield f"set-up huge-pages {shape.huge_pages}"


def lines_of(name: str, entry: Entry, runs: int) -> Iterator[str]:
    """The lines for one scenario. Raises MachineError for what the guest's tasks cannot do."""
    scenario = entry.scenario
    unified = entry.shape.layout == "v2"
    made: set[str] = set()
    for setup in scenario.cgroups:
        for path in _paths(setup.path)[not unified :]:
            if path not in made:
                made.add(path)
                yield f"cgroup {path}"
    for setup in scenario.cgroups:
        if unified:
            yield from _enable(setup)
        yield from (f"write {write.path} {write.text}" for write in setup.writes)
    for number, placed in enumerate(scenario.workloads):
        yield from _tasks(number, placed)
    for file in dict.fromkeys(one.file for one in scenario.expect if one.file is not None):
        yield f"file {file}"
    yield from (listener.line for listener in entry.listeners)
    yield "at 0 look"  # what the tasks did before the start is taken off
    events = [(one.time, 0, f"write {write.path} {write.text}") for one in scenario.at for write in one.writes]
    events += [(time, 1, "look") for time in {one.time for one in scenario.expect} - {0}]
    for time, _, what in sorted(events, key=lambda event: event[:2]):
        yield f"at {time} {what}"
    yield f"play {name} {runs}"


def _paths(path: str) -> list[str]:
    """A cgroup and all above it, the topmost first."""
    parts = path.split("/")
    return ["/".join(parts[: number + 1]) for number in range(len(parts))]


def _enable(setup: CgroupSetup) -> Iterator[str]:
    files = [write.path.rpartition("/")[2].partition(".")[0] for write in setup.writes]
    above = ["", *(f"{path}/" for path in _paths(setup.path)[:-1])]
    for path in above:
        for controller in dict.fromkeys(files):
            if controller in _CONTROLLERS:
                yield f"write {path}cgroup.subtree_control +{controller}"


def _tasks(number: int, placed: Placed) -> Iterator[str]:
    workload = placed.workload
    name = workload.name or f"w{number}"
    if workload.threads > 1 and any(phase.run is not None for phase in workload.phases):
        raise MachineError(f"{placed.place}: the guest's tasks with several threads have no phase that runs")
    loop = -1 if workload.loop is None else workload.loop
    for instance in range(workload.instances):
        about = (workload.nice, workload.oom_score_adj, workload.threads, workload.delay, loop)
        yield f"task {name}-{instance} {'+'.join(placed.cgroups)} " + " ".join(map(str, about))
        for phase in workload.phases:
            yield _phase(placed, phase)


def _phase(placed: Placed, phase: Phase) -> str:
    if phase.cpu != int(phase.cpu):
        raise MachineError(f"{placed.place}: the guest's tasks use whole CPUs, not {phase.cpu:g}")
    if phase.kernel:
        raise MachineError(f"{placed.place}: the guest's tasks take no kernel memory")
    kind = "run" if phase.run is not None else "for" if phase.cpu else "sleep"
    time = phase.run if phase.run is not None else phase.time
    held, grow = (-1, 0) if phase.memory is None else (phase.memory.start, phase.memory.rate)
    file = -1 if phase.file is None else phase.file
    huge = -1 if phase.hugetlb is None else dict(phase.hugetlb).get(_HUGE_PAGE, 0)
    line = f"phase {kind} {time} {int(phase.cpu)} {-1 if held is None else held} {grow} {file} {huge}"
    if phase.io is None:
        return f"{line} 0 0 0 0:0"
    if phase.cpu or (phase.io.read and phase.io.write):
        raise MachineError(f"{placed.place}: the guest's tasks read or write, and nothing beside")
    return f"{line} {phase.io.read} {phase.io.write} {phase.io.block} {phase.io.device}"
