"""What random cases write, by file: values that its parser takes or nearly takes, with the edges of its rules."""

from __future__ import annotations

import re
from typing import Any

from fakecgroup.conformance.cases.values import GROUPS

_SIZES = ("0", "4095", "4096", "1M", "3M", "5K", "1G", "max", "8E", "16E", "9223372036854771711", "K", "\n", "-1")
#: Limits on memory that is in use: far above it, or no number.
_LIMITS = ("256M", "257M", "300000K", "1G", "0x40000000", "2G", "max", "-1", "8E", "9223372036854771711", "1 G", "abc")
_HUGE = ("0", "2M", "3M", "4M", "1G", "3G", "max", "-1", "16E", "abc", "\n")
_LISTS = ("0-3", "0-1", "2-3", "0,2", "1", "3", "0-2", "1-3", "\n", "4", "0-3:1/2", "2-1", "all", "N")
_NODES = ("0", "1", "0-1", "\n", "2", "1024", "a")
_DISKS = ("259:0", "259:1", "8:0")
_FLAG = ("0", "1", "1", "2", "-1", "4294967296", "abc")
_TRIGGERS = (
    "some 150000 1000000", "full 500000 2000000", "some 0 1000000", "some 1000000 500000", "some 1 499999",
    "full 10000000 10000000", "some 10000001 10000001", "SOME 1 1", "some 1000000",
)  # fmt: skip
_DEVICES = (
    "a", "a *:* rwm", "c 1:3 rwm", "c 1:3 r", "c 1:3 w", "c 1:* rw", "c *:3 m", "c *:* r", "b 8:* r", "b 8:0 rwm",
    "b *:* rwm", "c 1:5 rwm", "c 4294967295:3 r", "c 1:3", "d 1:3 r", "c 1:3 x", "c 1:3 rwmr",
)  # fmt: skip
_PRIORITIES = ("lo 5", "lo 0", " lo\t7 x", "lo 4294967296", "lo", "eth0 1", "lo -1")
_ANY = ("0", "1", "max", "abc", "\n", "-1")
_IO_KEYS = ("rbps=1000", "wbps=1048576", "riops=5", "wiops=4294967295", "rbps=max wiops=7", "rbps=max wbps=max "
            "riops=max wiops=max", "rbps=1", "rbps=0", "riops=18446744073709551615 wbps=9", "x=1", "")  # fmt: skip

#: By the pattern that a file's whole name matches; the first that does counts.
_VALUES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    (r"cgroup\.max\.(depth|descendants)", ("0", "1", "2", "3", "max", "2147483647", "-1", "2147483648", "+5")),
    (r"cgroup\.(freeze|pressure)", ("0", "1", "0", "1", " 1\n", "2", "-1", "x")),
    (r"cgroup\.kill", ("1", "0", "2", "x")),
    (r"cgroup\.type", ("threaded", "threaded", "threaded\n", "domain", "x")),
    (r"cgroup\.clone_children|notify_on_release", ("0", "1", "2", "-1", "18446744073709551616")),
    (r"release_agent", ("/no", "\n", " /a b ", "")),
    (r"cpu\.weight", ("1", "2", "86", "100", "10000", "0", "10001", "99", "1024")),
    (r"cpu\.weight\.nice", ("-20", "-1", "0", "5", "19", "20", "-21")),
    (r"cpu\.shares", ("0", "2", "3", "1024", "262144", "262145")),
    (r"cpu\.max", ("max", "10000", "50000 100000", "max 20000", "999", "1000 1000", "90000 1000000", "200000 100000",
                   "1000 1000001", "17592186044415", "17592186044416", "7000 max")),
    (r"cpu\.(max\.burst|cfs_burst_us)", ("0", "1000", "20000", "60000", "200000", "17592186044415")),
    (r"cpu\.cfs_quota_us", ("-1", "999", "1000", "20000", "50000", "100000", "200000", "17592186044415", "-5")),
    (r"cpu\.cfs_period_us", ("999", "1000", "3000", "50000", "100000", "333333", "1000000", "1000001")),
    (r"cpu\.idle", ("0", "1", "0", "1", "2", "-1")),
    (r"cpu\.uclamp\.(min|max)", ("0", "12.34", "50", "99.99", "100", "max", "100.01", "-1", "1.234")),
    (r"cpuacct\.usage", ("0", "1", "00")),
    (r"cpuset\.cpus(\.exclusive)?", _LISTS),
    (r"cpuset\.mems", _NODES),
    (r"cpuset\.cpus\.partition", ("root", "member", "isolated", "root", "member", "x")),
    (r"cpuset\.sched_relax_domain_level", ("-1", "0", "1", "4", "5", "6", "-2")),
    (r"cpuset\.\w+", _FLAG),
    (r"memory\.(max|high|limit_in_bytes|memsw\.limit_in_bytes|kmem\.limit_in_bytes)", _LIMITS),
    (r"memory\.reclaim", ("0", "1", "", "abc", "0 swappiness=60", "0 swappiness=201", "0 swappiness=max", "0 x=1")),
    (r"memory\.(oom\.group|zswap\.writeback|use_hierarchy|oom_control)", _FLAG),
    (r"memory\.swappiness", ("0", "60", "100", "101", "200", "201")),
    (r"memory\.move_charge_at_immigrate", ("0", "1", "3", "4", "4294967296", "4294967299")),
    (r"memory\.pressure_level", _ANY),
    (r".*\.pressure", _TRIGGERS),
    (r"memory\..*", _SIZES),
    (r"hugetlb\..*", _HUGE),
    (r"pids\.max", ("0", "1", "2", "3", "100", "4194304", "max", "4194305", "-1")),
    (r"io\.max", tuple(f"{disk} {keys}" for disk in _DISKS for keys in _IO_KEYS)),
    (r"io\.weight", ("100", "1", "default 50", "10001", "259:0 60", "8:0 60", "default", "0")),
    (r"blkio\.throttle\.\w+_device", tuple(f"{disk} {value}" for disk in _DISKS for value in (
        "1", "0", "1000", "4294967295", "4294967296", "18446744073709551615", "x"))),
    (r"blkio\.reset_stats", _ANY),
    (r"devices\.(allow|deny)", _DEVICES),
    (r"freezer\.state", ("FROZEN", "THAWED", "FROZEN", "THAWED\n", "FREEZING", "x")),
    (r"net_cls\.classid", ("0", "1", "65537", "4294967295", "4294967296", "-1")),
    (r"net_prio\.ifpriomap", _PRIORITIES),
)  # fmt: skip

#: Files whose strange values would set what cannot be taken back, or bring a limit near what is in use.
_NOT_STRANGELY = re.compile(
    r"""io\.cost\..* | memory\.(max|high|reclaim|(memsw\.|kmem\.)?limit_in_bytes) | cgroup\.(procs|threads|kill) | tasks
      | cgroup\.event_control""",
    re.X,
)


def values(file: str) -> tuple[Any, ...]:
    """Values for a file, by its name without directories."""
    return next((texts for pattern, texts in _VALUES if re.fullmatch(pattern, file)), _ANY)


def strange_values(file: str) -> list[Any]:
    """Every text that the parser cases try, for the files that bear it."""
    return [] if _NOT_STRANGELY.fullmatch(file) else [text for group in GROUPS.values() for text in group]
