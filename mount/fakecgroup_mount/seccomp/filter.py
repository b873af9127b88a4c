"""The seccomp filter that traps system calls of the command and its descendants (seccomp(2))."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from errno import EBUSY, EINVAL, ENOSYS, EPERM
from struct import pack

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.seccomp import syscalls
from fakecgroup_mount.seccomp.syscalls import HERE, Architecture

# linux/bpf_common.h, linux/seccomp.h
_LOAD, _AND, _EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06
_NR, _ARCH, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; of an argument, the low half
_NOTIFY, _ALLOW, _ERRNO = 0x7FC00000, 0x7FFF0000, 0x00050000

_SET_MODE_FILTER = 1
_SPEC_ALLOW = 4  # no speculation mitigations (the default before Linux 5.16): the filter is no security boundary
_NEW_LISTENER = 8
_WAIT_KILLABLE = 32  # Linux 5.19: only a fatal signal interrupts a waiting caller


_REFUSED = (_RETURN, 0, 0, _ERRNO | EPERM)
_MOUNT, _FSOPEN = 21, 430  # of 32-bit programs, i386 and ARM alike
_MOUNT_X32, _FSOPEN_X32 = 1 << 30 | 165, 1 << 30 | 430
_OF_MOUNTS = 32 | 4096 | 8192  # remount, bind, move: flags by which mount(2) makes no new file system
_FOREIGN = [
    (_LOAD, 0, 0, _NR),
    (_EQUAL, 0, 1, _FSOPEN),
    _REFUSED,
    (_EQUAL, 0, 4, _MOUNT),
    (_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * 3),
    (_AND, 0, 0, _OF_MOUNTS),
    (_EQUAL, 0, 1, 0),
    _REFUSED,
    (_RETURN, 0, 0, _ALLOW),
]
_X32 = [
    (_EQUAL, 1, 0, _MOUNT_X32),
    (_EQUAL, 0, 1, _FSOPEN_X32),
    _REFUSED,
]


class When(NamedTuple):
    """A condition: these bits of the argument with this number have this value."""

    argument: int
    value: int
    bits: int = 0xFFFFFFFF


Condition = When | tuple[When, ...] | None
"""What traps a call: one condition, one of several, or every call."""


class Refusal(NamedTuple):
    """A call fails with this errno, always or `when` the condition holds."""

    errno: int
    when: When | None = None


def program(
    trapped: Mapping[str, Condition], refused: Mapping[str, Refusal], architecture: Architecture = HERE
) -> bytes:
    """The filter's instructions. `trapped` calls are trapped, always or under conditions, `refused` calls fail with an
    errno, all others go on.

    Calls of another ABI than the processor's own (i386, AArch32, x32) go on too and see the machine as it is. Of those,
    calls that could mount the machine's own cgroups are refused.
    """
    code = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, len(_FOREIGN), 0, architecture.audit),
        *_FOREIGN,
        (_LOAD, 0, 0, _NR),
        *_X32,
    ]
    answers: dict[str, tuple[Condition, int]] = {name: (when, _NOTIFY) for name, when in trapped.items()}
    answers |= {name: (condition, _ERRNO | code_number) for name, (code_number, condition) in refused.items()}
    for number, (condition, answer) in architecture.by_number(answers).items():
        if condition is None:
            code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer)]
            continue
        alternatives = (condition,) if isinstance(condition, When) else condition
        code.append((_EQUAL, 0, 4 * len(alternatives) + 1, number))
        for when in alternatives:
            code += [
                (_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * when.argument),
                (_AND, 0, 0, when.bits),
                (_EQUAL, 0, 1, when.value),
                (_RETURN, 0, 0, answer),
            ]
        code.append((_RETURN, 0, 0, _ALLOW))
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(pack("=HBBI", *instruction) for instruction in code)


def install(code: bytes) -> int:
    """Installs the filter for this process and its future descendants. Returns the listener. Raises MountError."""
    buffer = ctypes.create_string_buffer(code, len(code))
    head = ctypes.create_string_buffer(pack("@HP", len(code) // 8, ctypes.addressof(buffer)))
    flags = _SPEC_ALLOW | _NEW_LISTENER | _WAIT_KILLABLE
    while True:
        try:
            return syscalls.syscall("seccomp", _SET_MODE_FILTER, flags, head)
        except OSError as error:
            if error.errno == EINVAL and flags & _WAIT_KILLABLE:
                flags &= ~_WAIT_KILLABLE
                continue
            why = {
                EBUSY: "a process above has a seccomp listener already, and there can be only one (fakecgroup run in "
                "fakecgroup run, or a container whose profile notifies): start it outside",
                EINVAL: "this kernel has no seccomp user notification (CONFIG_SECCOMP_FILTER)",
                ENOSYS: "this kernel has no seccomp (CONFIG_SECCOMP_FILTER)",
            }.get(error.errno or 0, "a container's seccomp profile may forbid seccomp(2) itself")
            raise MountError(f"cannot trap system calls: {error.strerror}: {why}") from None
