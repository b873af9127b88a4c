"""Resource quantities, exactly as ``k8s.io/apimachinery/pkg/api/resource`` reads them.

``parse("1.5Gi").value()`` is 1610612736. A quantity is a decimal number with at most nine decimals; finer ones are
rounded up (away from zero). ``value()`` and ``milli_value()`` round up too.

Two limits of the Go type are part of its behaviour and kept here:

* Go holds a number of up to 18 digits as an int64 with a decimal scale. If a value of such a number does not fit an
  int64, Go gives 0 (``100P`` has a milli value of 0) or, for some scales, the value modulo 2^64. Go holds every other
  number exactly, and a value that does not fit wraps around modulo 2^64.
* Binary quantities (Ki … Ei) of the second form are capped at 2^63-1.

Exponents beyond ±64 are refused here; Go accepts them and misreads them.
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import lru_cache
from typing import Literal

from cgroup_engine.errors import QuantityError, quoted
from cgroup_engine.model.value import value

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_NANO = -9
_MAX_INT64 = (1 << 63) - 1
_MAX_DIGITS = 18  # these always fit an int64
_MAX_EXPONENT = 64
_MAX_LENGTH = 128

_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:(\.)([0-9]*))?([eEinumkKMGTP]*)([-+]?[0-9]*)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES = {exponent: name for name, exponent in _DECIMAL.items()}
_BINARY_NAMES = {0: "", **{exponent: name for name, exponent in _BINARY.items()}}


@value(frozen=True, slots=True)
class Quantity:
    """A resource quantity; ``parse`` makes one.

    ``nano``: the exact number in 10^-9. ``small``: (mantissa, power of ten) if Go holds it as an int64 with a scale,
    else None. ``text``: the text that was read, if Go prints that instead of a canonical one. ``places``: the decimals
    that Go keeps of a number that is not small; they decide how a value that does not fit wraps.
    """

    nano: int
    format: Format = "DecimalSI"
    small: tuple[int, int] | None = None
    text: str = ""
    places: int = field(default=9, compare=False)

    def value(self) -> int:
        """The number rounded up to an integer (bytes, cores); the module says what happens beyond an int64."""
        return self._scaled(0)

    def milli_value(self) -> int:
        """The number in thousandths (millicores), rounded up; the module says what happens beyond an int64."""
        return self._scaled(-3)

    def fits(self) -> bool:
        """Does an int64 hold the number, rounded up?"""
        return self.value() == -(-self.nano // 10**9)

    def is_zero(self) -> bool:
        return self.nano == 0

    def sign(self) -> int:
        return (self.nano > 0) - (self.nano < 0)

    def rounded_up_to_milli(self) -> Quantity:
        """``RoundUp(Milli)``, which API defaulting applies to every request and limit."""
        if self.small is not None:
            if self.small[1] >= -3:
                return self
            milli = self.milli_value()
            return Quantity(milli * 10**6, self.format, (milli, -3))
        return Quantity(_away_from_zero(self.nano, 10**6) * 10**6, self.format, places=3)

    def __add__(self, other: Quantity) -> Quantity:
        format_ = other.format if self.nano == 0 else self.format
        nano = self.nano + other.nano
        if self.small is not None and other.small is not None:
            return Quantity(nano, format_, _add_small(self.small, other.small))
        return Quantity(nano, format_, places=max(self.places, other.places))

    def __sub__(self, other: Quantity) -> Quantity:
        negative = None if other.small is None else (-other.small[0], other.small[1])
        return self + Quantity(-other.nano, other.format, negative, places=other.places)

    def __str__(self) -> str:
        """The canonical form: ``1500m``, ``1536Mi``; exact, with the largest suffix that needs no decimals."""
        if self.text:
            return self.text
        if self.nano == 0:
            return "0"
        if self.format == "BinarySI" and self.nano % 10**9 == 0 and abs(self.nano) >= 1024 * 10**9:
            number, exponent = self.nano // 10**9, 0
            while number % 1024 == 0:
                number, exponent = number // 1024, exponent + 10
            return f"{number}{_BINARY_NAMES.get(exponent, '')}"
        number, exponent = self.nano, _NANO
        while number % 1000 == 0:
            number, exponent = number // 1000, exponent + 3
        if self.format == "DecimalExponent":
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_NAMES.get(exponent, '')}"

    def _scaled(self, scale: int) -> int:
        if self.small is not None:
            mantissa, own = self.small
            if own < scale:
                return _away_from_zero(mantissa, 10 ** (scale - own))
            result: int = mantissa * 10 ** (own - scale)
            if -_MAX_INT64 - 1 <= result <= _MAX_INT64:
                return result
            # positiveScaleInt64: these powers are one multiplication, which wraps; the others give up
            return wrapped(result) if own - scale in (1, 2, 3, 6, 9) else 0
        unscaled, more = self.nano // 10 ** (9 - self.places), self.places + scale
        if more <= 0:
            return wrapped(unscaled * 10**-more)
        divisor: int = 10**more
        if unscaled < _MAX_INT64:
            # Go treats every number below 2^63-1 as an int64 here, so a very negative one wraps before the division.
            # It adds one to a truncated quotient, whatever the sign.
            number = wrapped(unscaled)
            truncated = number // divisor if number >= 0 else -(-number // divisor)
            return truncated + (truncated * divisor != number)
        return wrapped(-(-unscaled // divisor))


def _add_small(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int] | None:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    scale = min(a[1], b[1])
    total = a[0] * 10 ** (a[1] - scale) + b[0] * 10 ** (b[1] - scale)
    return (total, scale) if -_MAX_INT64 - 1 <= total <= _MAX_INT64 else None


def _away_from_zero(number: int, divisor: int) -> int:
    return -(-number // divisor) if number >= 0 else number // divisor


def wrapped(number: int) -> int:
    """A number as Go's int64 has it: modulo 2^64."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


ZERO = Quantity(0, "DecimalSI", (0, 0), "0")


def from_bytes(number: int) -> Quantity:
    """A quantity of so many bytes."""
    return Quantity(number * 10**9, "BinarySI", (number, 0))


def from_milli(number: int) -> Quantity:
    """A quantity of so many thousandths (millicores)."""
    return Quantity(number * 10**6, "DecimalSI", (number, -3))


@lru_cache(maxsize=1 << 12)  # pods repeat the same few amounts
def parse(text: str) -> Quantity:
    """Reads a quantity (``resource.ParseQuantity``).

    :raises QuantityError: the text is not a quantity.
    """
    match = _SHAPE.fullmatch(text) if 0 < len(text) <= _MAX_LENGTH else None
    if match is None:
        raise _not_a_quantity(text)
    sign, whole, _dot, decimals, letters, digits = match.groups()
    number, fraction, suffix = whole.lstrip("0"), decimals or "", letters + digits
    base, exponent, format_ = _suffix(suffix, text)

    if base == 10:
        precision, scale, factor = _MAX_DIGITS - len(number or "0") - len(fraction), exponent, 1
    elif not fraction:
        # 2^10 counts for three decimal digits, as in Go
        precision = 15 - len(number or "0") - int(exponent * 3 / 10) - 1
        scale, factor = 0, 1 << exponent
    else:
        precision, scale, factor = -1, 0, 1
    scale -= len(fraction)
    if precision >= 0 and scale >= _NANO:
        shifted = (number or "0") + fraction
        mantissa = int(shifted) * factor * (-1 if sign == "-" else 1)
        if mantissa == 0 and text == "0":
            return ZERO
        whole_units = scale % 3 == 0 and not shifted.endswith("000") if base == 10 else int(shifted) % 1024 != 0
        keep = whole_units and not shifted.startswith("0")
        return Quantity(mantissa * 10 ** (scale - _NANO), format_, (mantissa, scale), text if keep else "")

    if not whole and not fraction:
        raise _not_a_quantity(text)
    unscaled = int((number or "0") + fraction)
    if base == 2:
        nano, places = unscaled * (1 << exponent), -len(fraction)
    else:
        nano, places = unscaled, exponent - len(fraction)
    nano = nano * 10 ** (places - _NANO) if places >= _NANO else _away_from_zero(nano, 10 ** (_NANO - places))
    kept = 9
    if format_ == "BinarySI":
        if nano > _MAX_INT64 * 10**9:
            nano, kept = _MAX_INT64 * 10**9, 0
        if 0 < nano < 10**9:
            format_ = "DecimalSI"
    return Quantity(-nano if sign == "-" else nano, format_, places=kept)


def _suffix(suffix: str, text: str) -> tuple[int, int, Format]:
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], "DecimalSI"
    if suffix in _BINARY:
        return 2, _BINARY[suffix], "BinarySI"
    if re.fullmatch(r"[eE][-+]?[0-9]+", suffix, re.ASCII) and abs(int(suffix[1:])) <= _MAX_EXPONENT:
        return 10, int(suffix[1:]), "DecimalExponent"
    raise _not_a_quantity(text)


def _not_a_quantity(text: str) -> QuantityError:
    return QuantityError(
        f"{quoted(text)} is not a quantity",
        value=text,
        todo='write a number with one of n u m k M G T P E Ki Mi Gi Ti Pi Ei or an exponent, such as "500m" or "1Gi"',
    )
