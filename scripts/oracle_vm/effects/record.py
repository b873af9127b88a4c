"""Plays the catalogue's scenarios in a booted kernel and keeps what was seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path

from fakecgroup.scenario import ScenarioError, play
from fakecgroup.scenario.numbers import number_of
from fakecgroup.scenario.scenario import Expectation, Scenario
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.kernels import Kernel

from . import machine
from .catalogue import Entry
from .plan import lines_of, set_up
from .recording import Recorded, head_of, load, save
from .seen import WARM_UP, Run, runs_of

#: Files that add up: what they had at the start is taken off.
_ADDED_UP = ("cpu.stat", ".pressure", "io.stat", "cpuacct.usage", "cpuacct.stat")


def record(kernel: Kernel, entries: Sequence[Entry], *, everything: bool, report: Callable[[str], None]) -> Path:
    """Play entries in a kernel, those that it has the files for, and put them into its file.

    `everything`: what is not among the entries is dropped from the file. Raises MachineError.
    """
    played: dict[str, Recorded] = {}
    boots: dict[tuple[machine.Shape, str], list[Entry]] = {}
    for entry in entries:
        if _has_files(kernel.series, entry):
            # a machine in the host's time may hang: then only one scenario is played again
            boots.setdefault((entry.shape, "" if entry.shape.instruction else entry.name), []).append(entry)
    for (shape, name), fitting in boots.items():
        report(f"{kernel.series}: {name or f'{len(fitting)} scenarios'}, {shape}")
        for one in _play(kernel, shape, fitting, report):
            played[one.entry.name] = one
    kept = [] if everything else [one for one in load(kernel.series) if one.entry.name not in played]
    order = sorted([*kept, *played.values()], key=lambda one: one.entry.name)
    head = {"kernel": kernel.series, "version": kernel.version, "date": str(date.today())}
    head["machine"] = f"QEMU, TCG, {machine.MEMORY >> 20} MiB"
    if not everything and head_of(kernel.series).get("version", kernel.version) != kernel.version:
        raise MachineError(f"the recording is of another build than {kernel.version}: record everything")
    return save(kernel.series, head, order)


def _has_files(series: str, entry: Entry) -> bool:
    """Whether the kernel's model takes the scenario's writes, and has the numbers that it expects."""
    try:
        checked = play(entry.scenario, machine={"kernel": series}).checked
    except ScenarioError:
        return False
    return all(number_of(one.seen, None) is not None for one in checked)


def _play(
    kernel: Kernel, shape: machine.Shape, entries: Sequence[Entry], report: Callable[[str], None]
) -> Iterable[Recorded]:
    plan = [*set_up(shape), *lines_of(WARM_UP, entries[0], 1)]
    for entry in entries:
        plan += lines_of(entry.name, entry, entry.runs)
    runs = runs_of(machine.play(kernel, shape, plan, report))
    for entry in entries:
        yield recorded_of(entry, [run for run in runs if run.name == entry.name])


def recorded_of(entry: Entry, runs: Sequence[Run]) -> Recorded:
    """What was seen in runs of a scenario. Raises MachineError."""
    scenario = entry.scenario
    seen = [[_number(scenario, run, one) for run in runs] for one in scenario.expect]
    heard = [[run.events.get(number, []) for run in runs] for number in range(len(entry.listeners))]
    return Recorded(entry, seen, [[name for name, _ in run.killed] for run in runs], heard)


def _number(scenario: Scenario, run: Run, one: Expectation) -> float:
    """What an expectation asks for. Raises MachineError if that was no number."""
    if one.file is None:
        where = {placed.workload.name or f"w{n}": placed.cgroups for n, placed in enumerate(scenario.workloads)}
        above = f"{one.cgroup}/" if one.cgroup else ""
        names = [name.rpartition("-")[0] for name, time in run.killed if time <= one.time]
        return sum(any(f"{cgroup}/".startswith(above) for cgroup in where[name]) for name in names)
    number = _read(run, one.time, one)
    if one.file.endswith(_ADDED_UP):
        number -= _read(run, 0, one)
    return number


def _read(run: Run, time: int, one: Expectation) -> float:
    lines = run.looks[time].get(one.file or "", [])
    number = number_of("\n".join(lines), one.key)
    if number is None and one.file is not None and one.file.endswith("io.stat"):
        return 0.0  # a disk's counters are left out while all are 0
    if number is None:
        raise MachineError(f"{run.name}: no number {one.key or ''} in {one.file}: {lines or 'no such file'}")
    return float(number)
