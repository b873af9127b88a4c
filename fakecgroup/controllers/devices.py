"""The v1 device controller (security/device_cgroup.c): which device nodes may be read, written and made.

A group allows or denies by default, and keeps exceptions to its default. `devices.list` shows the exceptions only if
the default is to deny. Nobody opens a device through the model, so nothing is enforced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from errno import EINVAL, EPERM
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..core.cftype import CFType
from ..core.css import Controller, Css
from ..credentials.capability import Capability
from ..late_pattern import pattern
from ..named_tuple import NamedTuple
from ..parse import SPACES, strstrip
from ..refuse import refuse

if TYPE_CHECKING:
    from ..core.file_context import FileContext
    from ..credentials.caller import Caller

_ANY = 0xFFFFFFFF  # any major or minor number, written `*`
_ACCESS = "rwm"
_RULE = pattern(
    rf"(?P<kind>[bc])[{SPACES}](?P<major>\*|[0-9]{{1,11}}):(?P<minor>\*|[0-9]{{1,11}})[{SPACES}]"
    r"(?P<access>[rwm]{3}|[rwm]{0,2}(?=\n|\Z))"
)


class Device(NamedTuple):
    """The devices of an exception: kind `b` or `c`, and numbers or `_ANY`."""

    kind: str
    major: int
    minor: int

    def covers(self, other: Device) -> bool:
        """True if every device of `other` is one of these."""
        return self.kind == other.kind and self.major in (_ANY, other.major) and self.minor in (_ANY, other.minor)

    def overlaps(self, other: Device) -> bool:
        """True if a device can be in both, as the kernel tests it: a number that is `_ANY` on either side fits."""
        return (
            self.kind == other.kind
            and (_ANY in (self.major, other.major) or self.major == other.major)
            and (_ANY in (self.minor, other.minor) or self.minor == other.minor)
        )


Exceptions = Mapping[Device, frozenset[str]]  # device -> access, oldest first
_NONE: Exceptions = MappingProxyType({})
_ALL = "a *:* rwm\n"  # what a list shows without its exceptions


class Devices(Css):
    """`exceptions` to a default that allows everything, or with `deny` denies it. They are never changed in place."""

    deny: bool = False
    exceptions: Exceptions = _NONE

    def online(self) -> None:
        """Start with the rules of the parent (devcgroup_online)."""
        if isinstance(self.parent, Devices):
            self.reset(self.parent.deny, self.parent.exceptions)

    def reset(self, deny: bool, exceptions: Exceptions) -> None:
        if deny != self.deny:
            self.deny = deny
        if exceptions != self.exceptions:
            self.exceptions = exceptions

    def add(self, device: Device, access: frozenset[str]) -> None:
        self.exceptions = {**self.exceptions, device: self.exceptions.get(device, frozenset()) | access}

    def remove(self, device: Device, access: frozenset[str]) -> None:
        """Take access from the exception for exactly these devices; remove it when none is left."""
        if device not in self.exceptions:
            return
        left = self.exceptions[device] - access
        self.exceptions = {d: left if d == device else a for d, a in self.exceptions.items() if d != device or left}

    def excepts(self, device: Device, access: frozenset[str]) -> bool:
        """True if one exception holds all of the access (match_exception)."""
        return any(d.covers(device) and access <= a for d, a in self.exceptions.items())

    def excepts_part(self, device: Device, access: frozenset[str]) -> bool:
        """True if one exception holds some of the access (match_exception_partial)."""
        return any(d.overlaps(device) and not access.isdisjoint(a) for d, a in self.exceptions.items())

    def may_have(self, device: Device, access: frozenset[str]) -> bool:
        """True if the parent allows an exception of this group (parent_has_perm, verify_new_ex)."""
        parent = self.parent
        if not isinstance(parent, Devices):
            return True
        if parent.deny:
            return parent.excepts(device, access)
        return not self.deny or not parent.excepts_part(device, access)

    def below(self) -> Iterator[Devices]:
        """The csses below, parents first."""
        for cgroup in self.cgroup.descendants():
            css = cgroup.csses["devices"]
            assert isinstance(css, Devices)
            yield css


def show_list(css: Devices) -> str:
    if not css.deny:
        return _ALL
    return "".join(
        f"{device.kind} {_number(device.major)}:{_number(device.minor)} {''.join(c for c in _ACCESS if c in access)}\n"
        for device, access in css.exceptions.items()
    )


def _number(number: int) -> str:
    return "*" if number == _ANY else str(number)


def _parse(text: str) -> tuple[Device, frozenset[str]]:
    """Parse `b|c MAJOR:MINOR ACCESS`, the numbers decimal or `*`. Text after three letters of access is ignored.

    Raises EINVAL.
    """
    rule = _RULE().match(text)
    if rule is None:
        raise refuse(EINVAL)
    major, minor = (_ANY if rule[name] == "*" else int(rule[name]) for name in ("major", "minor"))
    if max(major, minor) > _ANY:
        raise refuse(EINVAL)
    return Device(rule["kind"], major, minor), frozenset(rule["access"])


def _begin(css: Devices, text: str, writer: Caller) -> str:
    """The stripped text, after the checks that both verbs share, in the kernel's order (devcgroup_update_access).

    Raises EPERM without CAP_SYS_ADMIN, EINVAL for `a` with children.
    """
    if not writer.capable(Capability.SYS_ADMIN):
        raise refuse(EPERM)
    text = strstrip(text)
    if text[:1] == "a" and css.cgroup.children:
        raise refuse(EINVAL)
    return text


def write_allow(css: Devices, text: str, of: FileContext, writer: Caller) -> None:
    """Allow what a rule names, or with `a` all that the parent allows (devcgroup_update_access).

    Raises EPERM without CAP_SYS_ADMIN, EINVAL for text that is no rule and for `a` with children, EPERM for more than
    the parent allows.
    """
    text = _begin(css, text, writer)
    if text[:1] == "a":
        parent = css.parent
        if isinstance(parent, Devices) and parent.deny:
            raise refuse(EPERM)
        css.reset(False, parent.exceptions if isinstance(parent, Devices) else _NONE)
        return
    device, access = _parse(text)
    if css.deny:
        if not css.may_have(device, access):
            raise refuse(EPERM)
        css.add(device, access)
        return
    # by default all is allowed, so the rule takes an exception away (parent_allows_removal)
    if isinstance(css.parent, Devices) and css.parent.excepts_part(device, access):
        raise refuse(EPERM)
    css.remove(device, access)


def write_deny(css: Devices, text: str, of: FileContext, writer: Caller) -> None:
    """Deny what a rule names, here and below, or with `a` everything (devcgroup_update_access, propagate_exception).

    Raises EPERM without CAP_SYS_ADMIN, EINVAL for text that is no rule and for `a` with children.
    """
    text = _begin(css, text, writer)
    if text[:1] == "a":
        css.reset(True, _NONE)
        return
    device, access = _parse(text)
    if css.deny:
        css.remove(device, access)
    else:
        css.add(device, access)
    for child in css.below():
        if css.deny or child.deny:
            child.remove(device, access)
        else:
            child.add(device, access)
        child.exceptions = {d: a for d, a in child.exceptions.items() if child.may_have(d, a)}


def recall_list(css: Devices, text: str) -> None:
    """Set the rules that a list shows. Of a default that allows everything the exceptions are not known."""
    if text == _ALL:
        css.reset(False, _NONE)
        return
    try:
        css.reset(True, dict(map(_parse, text.splitlines())))
    except OSError:
        raise ValueError("this is no list of devices") from None


DEVICES = Controller(
    "devices",
    Devices,
    legacy=(
        CFType("devices.allow", write_of=write_allow),
        CFType("devices.deny", write_of=write_deny),
        CFType("devices.list", show=show_list, recall=recall_list),
    ),
)
