"""How a scenario writes times, amounts of CPU and of memory."""

from __future__ import annotations

import re

from ..machine.size import SUFFIXES, parse_size

_UNITS = {"us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 10**9, "": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(us|µs|ms|s|m|h)?")
_CPU = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m)?")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)%")
_DEVICE = re.compile(r"(0|[1-9][0-9]{0,3}):(0|[1-9][0-9]{0,6})")
_MOST_BYTES = 1 << 60
_MOST = 100 * 365 * 86400 * 10**9  # ns


def parse_duration(text: str) -> int:
    """ns of `35ms`, `1.5s`, `2m` or `10` (seconds). Raises ValueError for anything else, and for over 100 years."""
    match = _DURATION.fullmatch(text)
    if match is None or len(text) > 32:
        raise ValueError(f"{text!r} is no time: write a number and us, ms, s, m or h")
    whole, _, fraction = match[1].partition(".")
    unit = _UNITS[match[2] or ""]
    time = int(whole) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
    if time > _MOST:
        raise ValueError(f"{text!r} is too long: at most 100 years")
    return time


def parse_cpu(text: str) -> float:
    """CPUs of `1.5` or `200m` (thousandths). Raises ValueError for anything else."""
    match = _CPU.fullmatch(text)
    if match is None or len(text) > 32:
        raise ValueError(f"{text!r} is no amount of CPU: write CPUs, such as 1.5, or thousandths, such as 200m")
    return float(match[1]) / (1000 if match[2] else 1)


def parse_memory(text: str) -> int:
    """Bytes of `100Mi`. Raises ValueError for anything else, and for over 1 EiB."""
    if len(text) > 32:
        raise ValueError(f"{text[:32]!r}... is no size; write a whole number and a suffix: {SUFFIXES}")
    size = parse_size(text)
    if size > _MOST_BYTES:
        raise ValueError(f"{text!r} is too much: at most 1 EiB")
    return size


def parse_growth(text: str) -> int:
    """Bytes per second of `10Mi/s`. Raises ValueError for anything else."""
    size, slash, unit = text.rpartition("/")
    if not slash or unit != "s":
        raise ValueError(f"{text!r} is no rate: write a size and /s, such as 10Mi/s")
    return parse_memory(size)


def parse_device(text: str) -> str:
    """A disk's number, `259:0`. Raises ValueError for anything else."""
    if _DEVICE.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no block device: write MAJOR:MINOR, such as 259:0")
    return text


def parse_share(text: str) -> float:
    """A part from 0 to 1 of `50%`. Raises ValueError for anything else."""
    match = _PERCENT.fullmatch(text)
    if match is None or len(text) > 32 or float(match[1]) > 100:
        raise ValueError(f"{text!r} is no share: write percent, such as 50%")
    return float(match[1]) / 100


def parse_count(text: str, least: int, most: int) -> int:
    """A whole number. Raises ValueError outside of the bounds."""
    sign = text[:1] == "-"
    if not text[sign:].isdecimal() or not text.isascii() or len(text) > 20 or not least <= int(text) <= most:
        raise ValueError(f"{text!r} is no whole number from {least} to {most:,}")
    return int(text)
