"""The options of a `Kernel`: the command line, the pytest marker and `Kernel` itself all read them here.

A value is text as on the command line, the same as a Python object, or a value that was read before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import mount_options
from .learnt_files import names_a_file, read_learnt
from .machine import HUGE_PAGES, KNOWN_HUGE_PAGES, MAX_NUMNODES, NR_CPUS, HugePages
from .size import parse_size

if TYPE_CHECKING:
    from .learnt import LearntKernel


def read(name: str, value: object, called: str = "") -> Any:
    """The value of an option as the model has it; None is the default.

    Raises ValueError for a wrong value: one line that begins with the option's name, or with the name it was `called`.
    """
    if value is None:
        return DEFAULTS[name]
    try:
        return READERS[name](value)
    except ValueError as error:
        raise ValueError(f"{called or name}: {error}") from None


def current(given: Mapping[str, object], stacklevel: int = 2) -> dict[str, object]:
    """The options by their current names. Warns (DeprecationWarning) of each old name, from `stacklevel` calls above.

    Raises ValueError for an unknown name, and for an option that is given by both its names.
    """
    options = {name: value for name, value in given.items() if name not in _RENAMED}
    for name in options:
        if name not in READERS:
            raise ValueError(f"there is no option {name!r}; there are {', '.join(READERS)}")
    for old in given.keys() & _RENAMED.keys():
        new = _RENAMED[old]
        if options.get(new) is not None:
            raise ValueError(f"{old}: this is the old name of {new}, which is given too")
        warnings.warn(f"{old}= is called {new}= now", DeprecationWarning, stacklevel=stacklevel + 1)
        options[new] = read(new, given[old], old)
    return options


def _layout(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text, such as 'v2'")
    return value


def _kernel(value: object) -> str | LearntKernel:
    """A version, or the learnt kernel of a file."""
    if isinstance(value, str):
        return read_learnt(value) if names_a_file(value) else value
    from .learnt import LearntKernel  # takes a while to load

    if isinstance(value, LearntKernel):
        return value
    hint = f": quote it, kernel='{value}'" if isinstance(value, (int, float)) else ", such as '6.12'"
    raise ValueError(f"{value!r} is no text{hint}")


def _whole(value: object) -> int | str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"{value!r} is neither text nor a whole number")
    return value


def _count(most: int) -> Callable[[object], int]:
    """A reader of a whole number from 1 to `most`."""

    def count(value: object) -> int:
        number = _whole(value)
        if isinstance(number, str):
            number = int(number) if number.isascii() and number.isdecimal() else 0
        if not 1 <= number <= most:
            raise ValueError(f"{value!r} is not a whole number from 1 to {most}")
        return number

    return count


def _size(value: object) -> int:
    """Bytes of a number, or of a text such as 8Gi."""
    size = _whole(value)
    if isinstance(size, str):
        size = parse_size(size)
    if size < 0:
        raise ValueError(f"{value!r} is less than nothing")
    return size


def _memory(value: object) -> int:
    size = _size(value)
    if size < 1:
        raise ValueError("a machine without memory cannot be played")
    return size


def _hugepages(value: object) -> frozenset[int]:
    """The sizes in bytes of "2Mi=64,1Gi=0", {"2Mi": 64, "1Gi": 0} or sizes alone. No file of a tree shows counts."""
    if isinstance(value, HugePages):
        return value
    if isinstance(value, str):
        return HugePages(dict(map(_pages, value.split(","))))
    if isinstance(value, Mapping):
        return HugePages(dict(_pages(f"{size}={number}") for size, number in value.items()))
    if not isinstance(value, Iterable) or isinstance(value, bytes):
        raise ValueError(f"{value!r} is not SIZE=N,..., such as '2Mi=64,1Gi=0'")
    return frozenset(map(_page, value))


def _pages(pair: str) -> tuple[int, int]:
    size, equals, number = pair.partition("=")
    if not equals or not number.isascii() or not number.isdecimal():
        raise ValueError(f"{pair!r} is not SIZE=N, such as 2Mi=64")
    return _page(size), int(number)


def _page(value: object) -> int:
    size = _size(value)
    if size not in KNOWN_HUGE_PAGES:
        raise ValueError(f"there are no huge pages of {value}: 64Ki, 2Mi, 32Mi and 1Gi are known")
    return size


def _block_devices(value: object) -> tuple[str, ...]:
    """The devices of "259:0,259:1" or of a sequence of them."""
    if isinstance(value, str):
        value = value.split(",") if value else ()
    if not isinstance(value, Iterable) or isinstance(value, (bytes, Mapping)):
        raise ValueError(f"{value!r} is not M:N,..., such as '259:0,259:1'")
    return tuple(map(_block_device, value))


def _block_device(value: object) -> str:
    numbers = value.split(":") if isinstance(value, str) else ()
    if len(numbers) != 2 or not all(number.isascii() and number.isdecimal() for number in numbers):
        raise ValueError(f"{value!r} is no block device: write its numbers, such as 259:0")
    return str(value)


READERS: dict[str, Callable[[object], object]] = {
    "layout": _layout,
    "kernel": _kernel,
    "cpus": _count(NR_CPUS),
    "numa_nodes": _count(MAX_NUMNODES),
    "memory": _memory,
    "swap": _size,
    "hugepages": _hugepages,
    "block_devices": _block_devices,
    "mount_options": mount_options.read,
}
DEFAULTS: dict[str, object] = {
    "layout": "v2",
    "kernel": None,  # the layout's
    "cpus": 4,
    "numa_nodes": 1,
    "memory": 8 << 30,
    "swap": 0,
    "hugepages": frozenset(HUGE_PAGES),
    "block_devices": (),
    "mount_options": mount_options.SYSTEMD,
}
_RENAMED = {"version": "kernel", "huge_pages": "hugepages"}
