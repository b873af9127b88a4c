"""A phase of a simulated process's life, and how a scenario writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from .words import parse_cpu, parse_device, parse_duration, parse_growth, parse_memory, parse_share

_KEYS = ("for", "run", "sleep", "cpu", "memory", "file", "reclaimable", "kernel", "hugetlb", "io")
_BLOCK = 64 << 10  # bytes of an operation
_HUGE_PAGES = (2 << 20, 1 << 30, 32 << 20, 64 << 10)  # bytes

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Growth:
    """Anonymous memory: `start` bytes (None: what it holds), that grow by `rate` bytes per second."""

    start: int | None
    rate: int = 0


@dataclass(frozen=True, slots=True)
class Transfer:
    """What a process would read from and write to a disk (`259:0`), in bytes per second, in blocks of bytes."""

    device: str
    read: int
    write: int
    block: int


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a process's life: it would use `cpu` CPUs for `time` ns, or needs `run` ns of CPU time.

    Exactly one of the two is set. `memory` is anonymous. `file` are bytes of page cache, of which the part
    `reclaimable` can be dropped. `kernel` are bytes of the kernel's memory. `hugetlb` are pairs of a huge page's size
    and an amount, in bytes. None stands for what the process holds already. `io` is None if it moves nothing.
    """

    time: int | None
    run: int | None
    cpu: float
    memory: Growth | None = None
    file: int | None = None
    reclaimable: float = 1.0
    kernel: int | None = None
    hugetlb: tuple[tuple[int, int], ...] | None = None
    io: Transfer | None = None

    @property
    def keeps_memory(self) -> bool:
        """True if the process keeps the memory that it has, but for huge pages."""
        return self.memory is None and self.file is None and self.kernel is None


def read_value(key: str, text: object, parse: Callable[[str], _T]) -> _T:
    """A value in a scenario's words. Raises ValueError that begins with the key."""
    if isinstance(text, (Mapping, list, tuple)):
        raise ValueError(f"{key}: a single value is needed here")
    try:
        return parse(str(text))
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def read_phases(phases: Sequence[Mapping[str, object]]) -> tuple[Phase, ...]:
    """Phases in a scenario's words. Raises ValueError that names what is wrong."""
    if isinstance(phases, (str, bytes, Mapping)) or not isinstance(phases, Sequence) or not phases:
        raise ValueError("phases: there must be a list of at least one")
    made: list[Phase] = []
    cpu, reclaimable = 0.0, 1.0
    io: Transfer | None = None
    for number, words in enumerate(phases):
        where = f"phases[{number}]"
        kind = _kind(where, words)
        lasts = read_value(f"{where}.{kind}", words[kind], parse_duration)
        if "cpu" in words:
            if kind != "for":
                raise ValueError(f"{where}: cpu goes with for; a phase that runs takes one CPU, one that sleeps none")
            cpu = read_value(f"{where}.cpu", words["cpu"], parse_cpu)
        if "io" in words:
            if kind != "for":
                raise ValueError(f"{where}: io goes with for; a phase that runs or sleeps moves nothing")
            io = _transfer(f"{where}.io", words["io"])
        if "reclaimable" in words:
            reclaimable = read_value(f"{where}.reclaimable", words["reclaimable"], parse_share)
        made.append(
            Phase(
                None if kind == "run" else lasts,
                lasts if kind == "run" else None,
                {"run": 1.0, "sleep": 0.0}.get(kind, cpu),
                _growth(f"{where}.memory", words["memory"]) if "memory" in words else None,
                _size(where, "file", words),
                reclaimable,
                _size(where, "kernel", words),
                _huge_pages(f"{where}.hugetlb", words["hugetlb"]) if "hugetlb" in words else None,
                io if kind == "for" else None,
            )
        )
    return tuple(made)


def _kind(where: str, words: object) -> str:
    """The key that says how long a phase takes."""
    if not isinstance(words, Mapping):
        raise ValueError(f"{where}: {words!r} is no mapping such as {{for: 10s, cpu: 1}}")
    for key in words:
        if key not in _KEYS:
            raise ValueError(f"{where}: no key {key!r}; there is {', '.join(_KEYS)}")
    kinds = [key for key in ("for", "run", "sleep") if key in words]
    if len(kinds) != 1:
        raise ValueError(f"{where}: one of for, run and sleep is needed")
    return kinds[0]


def _size(where: str, key: str, words: Mapping[str, object]) -> int | None:
    return read_value(f"{where}.{key}", words[key], parse_memory) if key in words else None


def _growth(where: str, words: object) -> Growth:
    if not isinstance(words, Mapping):
        return Growth(read_value(where, words, parse_memory))
    for key in words:
        if key not in ("start", "grow"):
            raise ValueError(f"{where}: no key {key!r}; there is start and grow, or a size alone")
    start = read_value(f"{where}.start", words["start"], parse_memory) if "start" in words else None
    return Growth(start, read_value(f"{where}.grow", words["grow"], parse_growth) if "grow" in words else 0)


def _huge_pages(where: str, words: object) -> tuple[tuple[int, int], ...]:
    if not isinstance(words, Mapping):
        raise ValueError(f"{where}: {words!r} is no mapping of page sizes, such as {{2Mi: 64Mi}}")
    made = {}
    for key, value in words.items():
        size = read_value(where, key, parse_memory)
        if size not in _HUGE_PAGES:
            raise ValueError(
                f"{where}: {key!r} is no size of huge pages; there are 2Mi and 1Gi, on arm64 64Ki and 32Mi"
            )
        made[size] = -(-read_value(f"{where}.{key}", value, parse_memory) // size) * size
    return tuple(made.items())


def _transfer(where: str, words: object) -> Transfer:
    if not isinstance(words, Mapping):
        raise ValueError(f'{where}: {words!r} is no mapping such as {{device: "259:0", read: 10Mi/s}}')
    for key in words:
        if key not in ("device", "read", "write", "block"):
            raise ValueError(f"{where}: no key {key!r}; there is device, read, write, block")
    if "device" not in words:
        raise ValueError(f"{where}: device is missing")
    device = read_value(f"{where}.device", words["device"], parse_device)
    read, write = (
        read_value(f"{where}.{key}", words[key], parse_growth) if key in words else 0 for key in ("read", "write")
    )
    block = read_value(f"{where}.block", words["block"], parse_memory) if "block" in words else _BLOCK
    if block < 1:
        raise ValueError(f"{where}.block: a block has a byte at least")
    return Transfer(device, read, write, block)
