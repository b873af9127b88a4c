"""What the files of a cgroup say, for the page: its meters and notes, on v1 and v2 alike."""

from __future__ import annotations

from collections.abc import Mapping

from .node import Meter

UNLIMITED = 1 << 62
"""A number from here on limits nobody: v1 shows LONG_MAX in pages, and a kubelet writes this one for huge pages."""

_ROOM = (
    ("memory", "memory.current", "memory.max"),
    ("memory", "memory.usage_in_bytes", "memory.limit_in_bytes"),
    ("swap", "memory.swap.current", "memory.swap.max"),
    ("memory and swap", "memory.memsw.usage_in_bytes", "memory.memsw.limit_in_bytes"),
    ("pids", "pids.current", "pids.max"),
)
SHOWN = (
    *(file for _, *files in _ROOM for file in files),
    *("memory.high", "memory.low", "memory.min", "memory.peak", "memory.events", "memory.oom_control"),
    *("memory.pressure", "cpu.pressure", "io.pressure", "cpu.stat", "cpu.max", "cpu.weight", "cpu.shares"),
    *("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuacct.usage", "cgroup.freeze", "freezer.state", "cpuset.cpus"),
    *("cpuset.cpus.effective", "cpuset.mems"),
)
"""The files that say something here, of those that do not have the size of a page in their names."""

_NS = 1e9
_US = 1e6


def meters_of(files: Mapping[str, str]) -> list[Meter]:
    """The meters of a cgroup whose files have these texts, by name without the hierarchy."""
    meters = []
    for resource, used, limit in _ROOM:
        if used in files or limit in files:
            unit = "count" if resource == "pids" else "bytes"
            meters.append(Meter(resource, unit, number(files.get(used, "")), _limit(files.get(limit, ""))))  # type: ignore[arg-type]
    for name in sorted(files):
        parts = name.split(".")
        if parts[0] == "hugetlb" and parts[2:] in (["max"], ["limit_in_bytes"]):
            used = f"hugetlb.{parts[1]}.{'current' if parts[2] == 'max' else 'usage_in_bytes'}"
            meter = Meter(f"huge pages of {parts[1]}", "bytes", number(files.get(used, "")), _limit(files[name]))
            if meter.used or meter.limit is not None:
                meters.append(meter)
    if cpu := _cpu(files):
        meters.append(cpu)
    return meters


def _cpu(files: Mapping[str, str]) -> Meter | None:
    """CPUs that the quota lets run."""
    quota, period = None, None
    if "cpu.max" in files:
        quota, _, period = files["cpu.max"].strip().partition(" ")
    elif "cpu.cfs_quota_us" in files:
        quota, period = files["cpu.cfs_quota_us"].strip(), files.get("cpu.cfs_period_us", "").strip()
    else:
        return None
    given, per = number(quota), number(period or "")
    return Meter("CPU", "cpus", None, given / per if given is not None and given > 0 and per else None)


def notes_of(files: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """What has happened in a cgroup: what is alarming, and what else is worth a word."""
    alarming: list[str] = []
    notes: list[str] = []
    events = keyed(files.get("memory.events", "")) or keyed(files.get("memory.oom_control", ""))
    if killed := events.get("oom_kill", 0):
        alarming.append(f"{killed:,} killed for want of memory")
    if events.get("under_oom"):
        alarming.append("waits for memory")
    stat = keyed(files.get("cpu.stat", ""))
    if stat.get("nr_periods") and stat.get("nr_throttled"):
        share = 100 * stat["nr_throttled"] / stat["nr_periods"]
        (alarming if share >= 5 else notes).append(f"throttled in {share:.0f} % of {stat['nr_periods']:,} periods")
    if "usage_usec" in stat:
        notes.append(f"{stat['usage_usec'] / _US:,.1f} s of CPU time")
    elif (used := number(files.get("cpuacct.usage", ""))) is not None:
        notes.append(f"{used / _NS:,.1f} s of CPU time")
    for resource in ("memory", "cpu", "io"):
        first = files.get(f"{resource}.pressure", "").partition("\n")[0].split()
        averages = dict(part.split("=", 1) for part in first if "=" in part)
        if (share10 := float(averages.get("avg10", 0) or 0)) >= 1:
            (alarming if share10 >= 10 else notes).append(f"{resource} pressure {share10:.0f} %")
    if files.get("cgroup.freeze", "").strip() == "1" or files.get("freezer.state", "").strip() == "FROZEN":
        notes.append("frozen")
    for name in ("memory.high", "memory.max"):
        limit = _limit(files.get(name, ""))
        current = number(files.get("memory.current", ""))
        if limit is not None and current is not None and current > limit:
            alarming.append(f"uses more than {name}")
    weight = files.get("cpu.weight", files.get("cpu.shares", "")).strip()
    if weight and weight not in ("100", "1024"):
        notes.append(f"{'weight' if 'cpu.weight' in files else 'shares'} {weight}")
    return alarming, notes


def keyed(text: str) -> dict[str, int]:
    """The numbers of a file with a key in each line."""
    found = {}
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if value.isdecimal():
            found[key] = int(value)
    return found


def number(text: str) -> float | None:
    """A number of a file; None for "max" and for what is none."""
    try:
        return float(int(text))
    except ValueError:
        return None


def _limit(text: str) -> float | None:
    found = number(text)
    return None if found is None or found < 0 or found >= UNLIMITED else found
