"""Asks for paths below a directory in each way that `fakecgroup run` answers, and prints the answers by path.

Arguments: the directory, the user and group to become, the number of "user" namespaces to enter first, and names below.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

AT_FDCWD, O_PATH = -100, os.O_PATH
OPENAT2, MOVE_MOUNT = 437, 429
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def told(result: int) -> str:
    return "0" if result >= 0 else errno.errorcode[ctypes.get_errno()]


def answers(path: str) -> dict[str, str]:
    name, buffer = path.encode(), ctypes.create_string_buffer(256)
    how = ctypes.create_string_buffer(24)
    handle, number = ctypes.create_string_buffer(b"\x40", 256), ctypes.c_int()
    watches = libc.inotify_init()
    return {
        "open": told(libc.open(name, 0)),
        "openat": told(libc.openat(AT_FDCWD, name, O_PATH)),
        "openat2": told(libc.syscall(OPENAT2, AT_FDCWD, name, how, 24)),
        "stat": told(libc.access(name, 0)),
        "statfs": told(libc.statfs(name, buffer)),
        "name_to_handle_at": told(libc.name_to_handle_at(AT_FDCWD, name, handle, ctypes.byref(number), 0)),
        "inotify_add_watch": told(libc.inotify_add_watch(watches, name, 2)),
        "mount cgroup2": told(libc.mount(b"none", name, b"cgroup2", 0, None)),
        "mount tmpfs": told(libc.mount(b"none", name, b"tmpfs", 0, None)),
        "umount": told(libc.umount2(name, 0)),
        "umount -f": told(libc.umount2(name, 1)),
    }


def main(directory: str, user: str, *names: str) -> None:
    if int(user):
        os.setgroups([])
        os.setresgid(int(user), int(user), int(user))
        os.setresuid(int(user), int(user), int(user))
    elif user == "00":  # root of a user namespace, to whom the directory belongs to nobody
        libc.unshare(0x10000000)
    for name in names:
        told_of = answers(f"{directory}/{name}")
        print(name, *(f"{call}={answer}" for call, answer in told_of.items() if answer != "EACCES"))


main(*sys.argv[1:])
