"""The state of the io controller: per cgroup its disks, per disk the settings of its policies (block/blk-cgroup.c)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from errno import EINVAL, ENODEV
from types import MappingProxyType
from typing import TYPE_CHECKING

from ...core.cftype import each_line
from ...core.css import Css
from ...parse import SPACES, scan_decimal
from ...refuse import refuse

if TYPE_CHECKING:
    from ...core.cgroup import Cgroup

BPS_MAX = (1 << 64) - 1  # bytes/s: no limit
IOPS_MAX = (1 << 32) - 1  # operations/s: no limit
PARTS = 10**15  # of a byte or an operation
_U32 = 1 << 32
_MINOR_BITS = 20


class Counters:
    """Bytes and operations of a disk (struct blkg_iostat), in parts of one: whole numbers, so that sums are exact."""

    __slots__ = ("rbytes", "rios", "wbytes", "wios")

    rbytes: int
    wbytes: int
    rios: int
    wios: int

    def __init__(self, rbytes: int = 0, wbytes: int = 0, rios: int = 0, wios: int = 0) -> None:
        self.rbytes, self.wbytes, self.rios, self.wios = rbytes, wbytes, rios, wios

    def add(self, moved: Counters) -> None:
        """Count what was moved."""
        self.rbytes += moved.rbytes
        self.wbytes += moved.wbytes
        self.rios += moved.rios
        self.wios += moved.wios

    def times(self, time: int) -> Counters:
        """So many times as much."""
        return Counters(self.rbytes * time, self.wbytes * time, self.rios * time, self.wios * time)

    def whole(self) -> tuple[int, int, int, int]:
        """rbytes, wbytes, rios and wios, as files show them."""
        return self.rbytes // PARTS, self.wbytes // PARTS, self.rios // PARTS, self.wios // PARTS


class Group:
    """One disk in one cgroup (struct blkcg_gq): limits by their io.max key, and the io.cost weight (0: none).

    `counters` are what was moved by the cgroup and those below, `own` by the cgroup alone: bytes and operations.
    """

    __slots__ = ("counters", "limits", "own", "weight")

    limits: dict[str, int]
    weight: int
    counters: Counters | None
    own: Counters | None

    def __init__(self) -> None:
        self.limits = {"rbps": BPS_MAX, "wbps": BPS_MAX, "riops": IOPS_MAX, "wiops": IOPS_MAX}
        self.weight = 0
        self.counters = None
        self.own = None

    def add(self, moved: Counters) -> None:
        """Count what was moved here or below."""
        self.counters = self.counters or Counters()
        self.counters.add(moved)

    def add_own(self, moved: Counters) -> None:
        """Count what was moved by processes of this cgroup."""
        self.own = self.own or Counters()
        self.own.add(moved)


class Io(Css):
    """`weight` is the default of io.weight. `groups` are the disks that this cgroup knows, oldest first.

    The root knows every disk of the machine, any other cgroup those that were configured in it or below. In the root,
    `throttled` and `costs` are the disks with an active policy.
    """

    weight: int = 100
    bfq_weight: int = 100
    groups: Mapping[str, Group] = MappingProxyType({})
    throttled: frozenset[str] = frozenset()
    costs: Mapping[str, IoCost] = MappingProxyType({})

    def __init__(self, cgroup: Cgroup, parent: Css | None) -> None:
        super().__init__(cgroup, parent)
        if parent is None:
            self.groups = {_name(_number(disk)): Group() for disk in self.machine.block_devices}

    @property
    def root(self) -> Io:
        css = self.cgroup.hierarchy.root.csses["io"]
        assert isinstance(css, Io)
        return css

    def newest_first(self) -> Iterator[tuple[str, Group]]:
        """The disks in the order in which files list them."""
        yield from reversed(list(self.groups.items()))

    def group(self, disk: str) -> Group:
        """The group of a disk. Missing groups are made here and in every cgroup above (blkg_conf_prep)."""
        css: Css | None = self
        while isinstance(css, Io) and disk not in css.groups:
            css.groups = {**css.groups, disk: Group()}
            css = css.parent
        return self.groups[disk]

    def open_disk(self, text: str) -> tuple[str, str]:
        """The disk that a write names, and the text after it (blkg_conf_open_bdev).

        Raises EINVAL for anything but `MAJOR:MINOR` and white space, ENODEV if the machine has no such whole disk.
        """
        saturate = self.kernel.saturates
        major, rest = scan_decimal(text, saturate=saturate)
        if major is None or rest[:1] != ":":
            raise refuse(EINVAL)
        minor, rest = scan_decimal(rest[1:], saturate=saturate)
        if minor is None or rest[:1] not in SPACES or not rest:
            raise refuse(EINVAL)
        disk = _name((major << _MINOR_BITS | minor % _U32) % _U32)
        if disk not in self.root.groups:
            raise refuse(ENODEV)
        return disk, rest.lstrip(SPACES)

    def recall_order(self, text: str) -> None:
        """Know the disks that a file lists, in its order: the newest first."""
        listed = dict.fromkeys(line.partition(" ")[0] for line in text.splitlines())
        order = [disk for disk in reversed(listed) if disk in self.root.groups]
        others = [disk for disk in self.groups if disk not in listed]
        self.groups = {disk: self.groups.get(disk) or Group() for disk in (*others, *order)}


def newest_last(text: str) -> list[str]:
    """One write per line, the last one first: a disk that is configured later is listed before the others."""
    return each_line(text)[::-1]


def _number(disk: str) -> int:
    major, _, minor = disk.partition(":")
    return (int(major) << _MINOR_BITS | int(minor)) % _U32


def _name(number: int) -> str:
    """A dev_t as files show it. Numbers that do not fit have wrapped by then (MKDEV)."""
    return f"{number >> _MINOR_BITS}:{number % (1 << _MINOR_BITS)}"


_QOS = {"rpct": 0, "rlat": 25_000, "wpct": 0, "wlat": 25_000, "min": 10_000, "max": 100_000_000}
_MODEL = {
    "rbps": 488_636_629,
    "rseqiops": 8_932,
    "rrandiops": 8_518,
    "wbps": 427_891_549,
    "wseqiops": 28_755,
    "wrandiops": 21_940,
}


class IoCost:
    """io.cost of one disk (block/blk-iocost.c, struct ioc). The defaults are the kernel's for an SSD.

    `qos`: percentages and the scaling range in ppm, latencies in µs. `model`: bytes/s and operations/s.
    """

    __slots__ = ("enabled", "model", "qos", "user_model", "user_qos")

    enabled: bool
    user_qos: bool
    qos: dict[str, int]
    user_model: bool
    model: dict[str, int]

    def __init__(self) -> None:
        self.enabled = False
        self.set_qos(None)
        self.set_model(None)

    def set_qos(self, qos: dict[str, int] | None) -> None:
        """The user's values, or with None the kernel's own."""
        self.user_qos = qos is not None
        self.qos = _QOS.copy() if qos is None else qos

    def set_model(self, model: dict[str, int] | None) -> None:
        """The user's values, or with None the kernel's own."""
        self.user_model = model is not None
        self.model = _MODEL.copy() if model is None else model
