"""io.cost: a weight per cgroup, and per disk its quality of service and its cost model (block/blk-iocost.c)."""

from __future__ import annotations

import re
from errno import EINVAL, EOPNOTSUPP

from ...core.cftype import CFType, Where
from ...parse import digits, radix, s64, scan_decimal, scan_signed
from ...refuse import refuse
from .css import Io, IoCost, newest_last

_WEIGHT_MIN, _WEIGHT_MAX = 1, 10000
_U32 = 1 << 32
_U64 = 1 << 64
_RANGE = (10_000, 100_000_000)  # ppm: 1 % to 10000 %
_FLOAT_BUFFER = 32  # bytes, with the closing NUL
_NUMBER_BUFFER = 24


# -- io.weight ------------------------------------------------------------------------------------


def _scan_weight(css: Io, text: str) -> int:
    value = scan_decimal(text, saturate=css.kernel.saturates)[0]
    if value is None or not _WEIGHT_MIN <= value % _U32 <= _WEIGHT_MAX:
        raise refuse(EINVAL)
    return value % _U32


def show_weight(css: Io) -> str:
    lines = [f"{disk} {group.weight}\n" for disk, group in css.newest_first() if group.weight]
    return f"default {css.weight}\n" + "".join(lines)


def write_weight(css: Io, text: str) -> None:
    """Take `[default] WEIGHT`, or `MAJOR:MINOR WEIGHT|default`, 1..10000 in the low 32 bits (ioc_weight_write).

    Raises EINVAL, ENODEV for the disk, EOPNOTSUPP if io.cost was never set up on it, EINVAL for the weight.
    """
    if ":" not in text:
        css.weight = _scan_weight(css, text.removeprefix("default"))
        return
    disk, rest = css.open_disk(text)
    if disk not in css.root.costs:
        raise refuse(EOPNOTSUPP)
    group = css.group(disk)
    group.weight = 0 if rest.startswith("default") else _scan_weight(css, rest)


# -- io.cost.qos and io.cost.model ----------------------------------------------------------------


def _cost(css: Io, disk: str) -> IoCost:
    """io.cost of a disk. The first write that names a disk sets it up, even if the rest of the write is bad."""
    if disk not in css.costs:
        css.costs = {**css.costs, disk: IoCost()}
    return css.costs[disk]


def _words(text: str) -> list[tuple[str, str]]:
    """The `KEY=ARGUMENT` words of a text. Raises EINVAL for a word without an argument."""
    words = [word.partition("=") for word in re.split("[ \t\n]", text) if word]
    if not all(argument for _, _, argument in words):
        raise refuse(EINVAL)
    return [(key, argument) for key, _, argument in words]


def _number(css: Io, text: str) -> int | None:
    """The number of a text, in base 0; None for one beyond 64 bits (lib/parser.c, `%u` and match_u64).

    Raises EINVAL for any other text, from 6.12 on also for more than 23 characters.
    """
    base, prefix = radix(text)
    value, count = digits(text[prefix:], base)
    if not count or prefix + count != len(text) or (css.kernel.at_least(6, 12) and count + prefix >= _NUMBER_BUFFER):
        raise refuse(EINVAL)
    return value if value < _U64 else None


def _required(number: int | None) -> int:
    if number is None:
        raise refuse(EINVAL)
    return number


def _hundredths(css: Io, text: str) -> int:
    """A decimal fraction in hundredths, rounded (cgroup_parse_float). Text after it is ignored.

    Raises EINVAL for any other text and for a negative number.
    """
    if len(text) >= _FLOAT_BUFFER:
        raise refuse(EINVAL)
    whole, rest = scan_signed(text, saturate=css.kernel.saturates)
    if whole is None:
        raise refuse(EINVAL)
    fraction, places = 0, 0
    if rest[:1] == ".":
        scanned, after = scan_signed(rest[1:])
        if scanned is not None:
            fraction, places = scanned, len(rest) - 1 - len(after)
    if fraction < 0:
        raise refuse(EINVAL)
    if places < 2:
        fraction *= 10 ** (2 - places)
    else:
        step = 10 ** (places - 2)
        fraction = (fraction + step % _U64 // 2) % _U64 // (step % _U32)  # do_div takes a divisor of 32 bits
    value = s64(whole * 100 + fraction)
    if value < 0:
        raise refuse(EINVAL)
    return value


def _ctrl(argument: str) -> bool:
    """True for `user`, False for `auto`. Raises EINVAL for any other text."""
    if argument not in ("auto", "user"):
        raise refuse(EINVAL)
    return argument == "user"


def _percent(ppm: int) -> str:
    return f"{ppm // 10_000}.{ppm % 10_000 // 100:02}"


def show_qos(css: Io) -> str:
    lines = []
    for disk, _ in css.newest_first():
        if disk in css.costs:
            cost = css.costs[disk]
            values = {key: str(value) if "lat" in key else _percent(value) for key, value in cost.qos.items()}
            lines.append(
                f"{disk} enable={int(cost.enabled)} ctrl={'user' if cost.user_qos else 'auto'}"
                + "".join(f" {key}={value}" for key, value in values.items())
                + "\n"
            )
    return "".join(lines)


def write_qos(css: Io, text: str) -> None:
    """Take `MAJOR:MINOR` and any of enable, ctrl, rpct, wpct, min, max (%), rlat, wlat (µs), all or nothing
    (ioc_qos_write).

    A value sets `ctrl=user`; a `ctrl=auto` after it takes that back. Raises EINVAL, ENODEV.
    """
    disk, rest = css.open_disk(text)
    cost = _cost(css, disk)
    enabled, user, qos = cost.enabled, cost.user_qos, cost.qos.copy()
    for key, argument in _words(rest):
        if key == "enable":
            number = _number(css, argument)
            if number is not None:
                enabled = bool(number)
            elif css.kernel.at_least(6, 12):  # before, a number that did not fit was never stored
                raise refuse(EINVAL)
            continue
        if key == "ctrl":
            user = _ctrl(argument)
            continue
        if key not in qos:
            raise refuse(EINVAL)
        if key in ("rlat", "wlat"):
            qos[key] = _required(_number(css, argument)) % _U32
        elif key in ("rpct", "wpct"):
            value = _hundredths(css, argument)
            if value > 100_00:
                raise refuse(EINVAL)
            qos[key] = value * 100
        else:
            qos[key] = min(max(s64(_hundredths(css, argument) * 100), _RANGE[0]), _RANGE[1])
        user = True
    if qos["min"] > qos["max"]:
        raise refuse(EINVAL)
    cost.enabled = enabled
    cost.set_qos(qos if user else None)


def show_model(css: Io) -> str:
    lines = []
    for disk, _ in css.newest_first():
        if disk in css.costs:
            cost = css.costs[disk]
            values = "".join(f" {key}={value}" for key, value in cost.model.items())
            lines.append(f"{disk} ctrl={'user' if cost.user_model else 'auto'} model=linear{values}\n")
    return "".join(lines)


def write_model(css: Io, text: str) -> None:
    """Take `MAJOR:MINOR` and any of ctrl, model=linear, [rw]bps, [rw]seqiops, [rw]randiops, all or nothing
    (ioc_cost_model_write).

    Raises EINVAL, ENODEV.
    """
    disk, rest = css.open_disk(text)
    cost = _cost(css, disk)
    user, model = cost.user_model, cost.model.copy()
    for key, argument in _words(rest):
        if key == "ctrl":
            user = _ctrl(argument)
        elif key == "model":
            if argument != "linear":
                raise refuse(EINVAL)
        elif key in model:
            model[key] = _required(_number(css, argument))
            user = True
        else:
            raise refuse(EINVAL)
    cost.set_model(model if user else None)


def _again(text: str) -> list[str]:
    """Values that are the kernel's own begin with `ctrl=auto`: written, they would be the user's."""
    lines = newest_last(text)
    return [line.partition("ctrl=auto")[0] + "ctrl=auto" if "ctrl=auto" in line else line for line in lines]


DFL = (
    CFType("io.weight", Where.CHILD, show=show_weight, write=write_weight, again=newest_last),
    CFType("io.cost.qos", Where.ROOT, show=show_qos, write=write_qos, again=_again),
    CFType("io.cost.model", Where.ROOT, show=show_model, write=write_model, again=_again),
)
