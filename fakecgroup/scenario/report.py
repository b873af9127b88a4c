"""A played scenario as text: a table for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json

from .outcome import SECOND, Checked, Outcome, Sample

_COLUMNS = ("time_s", "cgroup", "usage_usec", "nr_periods", "nr_throttled", "throttled_usec")
_MORE = (
    "cpu_some_avg10",
    "cpu_some_total",
    "memory_current",
    "memory_some_avg10",
    "memory_some_total",
    "io_some_avg10",
    "io_some_total",
    "killed",
)
_HEADS = ("CGROUP", "CPUS", "CPU TIME", "PERIODS", "THROTTLED", "THROTTLED FOR", "WAITED")
_MEMORY_HEADS = ("MEMORY", "STALLED", "KILLED")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def table(outcome: Outcome) -> list[str]:
    """What each cgroup had used in the end, and a line for each expectation that does not hold.

    CPUS is the average. WAITED is the part of the time in which a task of the cgroup waited for a CPU, STALLED that in
    which one waited for memory. Memory and kills are shown where there is any.
    """
    last = [sample for sample in outcome.samples if sample.time == outcome.time]
    rows = [_HEADS, *(_row(sample) for sample in last)]
    if any(sample.memory is not None or sample.killed for sample in last):
        more = [_MEMORY_HEADS, *(_memory_row(sample) for sample in last)]
        rows = [(*row, *its) for row, its in zip(rows, more, strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
    wrong = [one for one in outcome.checked if not one.holds]
    held = len(outcome.checked) - len(wrong)
    lines += ["", *map(unmet, wrong)] if wrong else []
    if outcome.checked:
        lines += ["", f"{held} of {len(outcome.checked)} expectations hold"]
    return lines


def unmet(checked: Checked) -> str:
    """An expectation that does not hold: where it stands, what it says, and what was seen."""
    one = checked.expectation
    if one.file is None:
        where = f" in {one.cgroup}" if one.cgroup else ""
        return f"{one.place}: at {_seconds(one.time)} s {one.killed} are to be killed{where}, and {checked.seen} are"
    what = f"the line {one.has!r}" if one.has is not None else f"{_bound(one.between)}"
    key = f" {one.key}" if one.key else ""
    return f"{one.place}: at {_seconds(one.time)} s {one.file}{key} is to be {what}, and is {checked.seen}"


def as_json(outcome: Outcome) -> str:
    """Samples, marks and expectations; times in s, CPU times in µs, memory in bytes, averages in percent."""
    return json.dumps(
        {
            "version": 1,
            "time": outcome.time / SECOND,
            "holds": outcome.holds,
            "samples": [dict(zip((*_COLUMNS, *_MORE), _values(sample), strict=True)) for sample in outcome.samples],
            "marks": [{"time": mark.time / SECOND, "kind": mark.kind, "text": mark.text} for mark in outcome.marks],
            "expectations": [
                {
                    "place": one.expectation.place,
                    "time": one.expectation.time / SECOND,
                    "file": one.expectation.file,
                    "key": one.expectation.key,
                    "seen": one.seen,
                    "holds": one.holds,
                }
                for one in outcome.checked
            ],
        },
        indent=1,
    )


def as_csv(outcome: Outcome) -> str:
    """A line for each sample, after a line of names."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*_COLUMNS, *_MORE))
    writer.writerows(_values(sample) for sample in outcome.samples)
    return text.getvalue()


def _values(sample: Sample) -> tuple[object, ...]:
    cpu, memory, io = (sample.pressure.get(resource, (None, None)) for resource in ("cpu", "memory", "io"))
    return (
        sample.time / SECOND,
        sample.cgroup,
        sample.usage,
        sample.nr_periods,
        sample.nr_throttled,
        sample.throttled,
        *cpu,
        sample.memory,
        *memory,
        *io,
        sample.killed,
    )


def _row(sample: Sample) -> tuple[str, ...]:
    time = sample.time / SECOND
    return (
        sample.cgroup,
        f"{sample.usage / 1e6 / time:.2f}" if time else "-",
        f"{sample.usage / 1e6:.2f} s",
        f"{sample.nr_periods:,}",
        f"{sample.nr_throttled:,}",
        f"{sample.throttled / 1e6:.2f} s",
        f"{sample.pressure['cpu'][1] / 1e4 / time:.0f} %" if "cpu" in sample.pressure and time else "-",
    )


def _memory_row(sample: Sample) -> tuple[str, ...]:
    time = sample.time / SECOND
    return (
        _size(sample.memory) if sample.memory is not None else "-",
        f"{sample.pressure['memory'][1] / 1e4 / time:.0f} %" if "memory" in sample.pressure and time else "-",
        f"{sample.killed:,}",
    )


def _size(size: float) -> str:
    """A size as people read it: `512.0 MiB`."""
    for unit in _UNITS[:-1]:
        if size < 1024:
            return f"{size:.1f} {unit}" if unit != "B" else f"{size:.0f} B"
        size /= 1024
    return f"{size:.1f} {_UNITS[-1]}"


def _bound(between: tuple[float, float] | None) -> str:
    assert between is not None
    return f"from {between[0]:,.15g} to {between[1]:,.15g}"


def _seconds(time: int) -> str:
    return f"{time / SECOND:g}"
