"""Attaches device programs to cgroups below a given directory, and prints what bpf(2) answers."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from errno import errorcode
from typing import Any

LOAD, ATTACH, DETACH, FD_BY_ID, INFO, QUERY = 5, 8, 9, 13, 15, 16
OF_DEVICES, DEVICE = 15, 6
OVERRIDE, MULTI, REPLACE, EFFECTIVE = 1, 2, 4, 1
ALLOW = struct.pack("<BBhi", 0xB7, 0, 0, 1) + struct.pack("<BBhi", 0x95, 0, 0, 0)  # r0 = 1; exit
BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
libc = ctypes.CDLL(None, use_errno=True)
names: dict[int, str] = {}


def bpf(command: int, attributes: bytes) -> tuple[Any, bytes]:
    """The result or the errno's name, and the attributes afterwards."""
    buffer = ctypes.create_string_buffer(attributes, 144)
    result = libc.syscall(BPF, command, buffer, ctypes.c_ulong(144))
    return (result if result >= 0 else errorcode[ctypes.get_errno()]), buffer.raw


def load(code: bytes = ALLOW) -> Any:
    instructions, licence = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
    address, word = ctypes.addressof(instructions), ctypes.addressof(licence)
    return bpf(LOAD, struct.pack("=IIQQ", OF_DEVICES, len(code) // 8, address, word))[0]


def attach(cgroup: int, program: int, flags: int = 0, replaced: int = 0, kind: int = DEVICE) -> Any:
    return bpf(ATTACH, struct.pack("=5I", cgroup, program, kind, flags, replaced))[0]


def detach(cgroup: int, program: int = 0, kind: int = DEVICE) -> Any:
    return bpf(DETACH, struct.pack("=4I", cgroup, program, kind, 0))[0]


def query(cgroup: int, room: int = 10, flags: int = 0, kind: int = DEVICE) -> Any:
    """The errno, or flags, number and programs."""
    ids = (ctypes.c_uint32 * 64)()
    result, after = bpf(QUERY, struct.pack("=4IQI", cgroup, kind, flags, 0, ctypes.addressof(ids), room))
    _, _, _, attached, _, number = struct.unpack_from("=4IQI", after)
    shown = "".join(names.get(program, "?") for program in ids[: min(number, room)])
    return result if result not in (0, "ENOSPC") else (result, attached, number, shown)


def identify(program: int) -> Any:
    """Type and id of a program, or the errno."""
    info = ctypes.create_string_buffer(256)
    result, _ = bpf(INFO, struct.pack("=IIQ", program, 256, ctypes.addressof(info)))
    return struct.unpack_from("=II", info.raw) if result == 0 else result


def main(place: str) -> None:
    os.makedirs(f"{place}/a/b")
    top, a, b = (os.open(place + name, os.O_RDONLY) for name in ("", "/a", "/a/b"))
    file, null, path = os.open(f"{place}/a/cgroup.procs", 0), os.open("/dev/null", 0), os.open(f"{place}/a", os.O_PATH)
    p, q, r, s = (load() for _ in range(4))
    for name, program in zip("pqrs", (p, q, r, s), strict=True):
        names[identify(program)[1]] = name
    print("load", os.get_inheritable(p), load(b""), load(ALLOW[:8]), identify(p)[0], identify(null))
    print("queries", query(a), query(file), query(path), query(null), query(999), query(a, flags=2), query(a, kind=0))
    print("no program", attach(a, null), attach(a, 999), attach(a, p, kind=0))
    print(
        "no cgroup", attach(null, p), attach(999, p), attach(file, p), attach(null, p, MULTI | REPLACE), detach(null, p)
    )
    print(
        "flags", attach(a, p, OVERRIDE | MULTI), attach(a, p, REPLACE), attach(a, p, MULTI | REPLACE, null), detach(a)
    )
    print(
        "several", attach(a, p, MULTI), attach(a, p, MULTI), attach(path, q, MULTI), query(a), query(a, 1), query(a, 0)
    )
    print("mixed", attach(a, r), attach(a, r, OVERRIDE), attach(b, r), attach(b, r, MULTI), query(b), query(top))
    print("effective", query(b, flags=EFFECTIVE), query(a, flags=EFFECTIVE), query(top, flags=EFFECTIVE))
    print("replaced", attach(a, s, MULTI | REPLACE, p), query(a), attach(a, s, MULTI | REPLACE, q), end=" ")
    print(attach(a, r, MULTI | REPLACE, p), attach(a, r, MULTI | REPLACE, q), query(a))
    found, _ = bpf(FD_BY_ID, struct.pack("=I", identify(p)[1]))
    print("by id", identify(found) == identify(p), bpf(FD_BY_ID, struct.pack("=I", 0xFFFFFFF0))[0])
    print("detached", detach(a, p), detach(a), detach(a, null), detach(a, s), query(a), detach(a, r), query(a), end=" ")
    print(detach(a, r), detach(b, r), detach(a, p, 0))
    print(
        "single",
        attach(a, p),
        attach(b, q),
        attach(b, q, MULTI),
        attach(a, q),
        query(a),
        attach(a, p, OVERRIDE),
        end=" ",
    )
    print(detach(a, p), query(a))
    print("override", attach(a, p, OVERRIDE), attach(b, q, OVERRIDE), query(b, flags=EFFECTIVE), attach(b, r), query(b))
    os.rmdir(f"{place}/a/b")
    print("removed", query(b), attach(b, p), detach(b, p))
    os.rmdir(f"{place}/a")
    if os.fork() == 0:
        os.setresgid(1, 1, 1)
        os.setresuid(1, 1, 1)
        print("not root", load(), query(top), identify(p)[0], bpf(FD_BY_ID, struct.pack("=I", 1))[0], flush=True)
        os._exit(0)
    os.wait()


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    main(sys.argv[1])
