"""The protocol's structs and numbers against the C header, where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from struct import Struct, calcsize

import pytest

from fakecgroup_mount.fuse import wire

HEADER = Path("/usr/include/linux/fuse.h")
COMPILER = shutil.which("cc")

_ATTR = "ino size blocks atime mtime ctime atimensec mtimensec ctimensec mode nlink uid gid rdev blksize flags"
_IN = "len opcode unique nodeid uid gid pid total_extlen padding"
_NESTED_ATTR = " ".join(f"attr.{field}" for field in _ATTR.split())
_REPLY = ("fuse_out_header", "len error unique")

# Each struct of ours: the C structs that it is made of, with the fields that it unpacks or packs.
LAYOUTS: dict[str, list[tuple[str, str]]] = {
    "IN_HEADER": [("fuse_in_header", _IN)],
    "FORGET_IN": [("fuse_forget_in", "nlookup")],
    "FORGET_ONE": [("fuse_forget_one", "nodeid nlookup")],
    "BATCH_FORGET_IN": [("fuse_batch_forget_in", "count dummy")],
    "SETATTR_IN": [
        (
            "fuse_setattr_in",
            "valid padding fh size lock_owner atime mtime ctime atimensec mtimensec ctimensec mode unused4 uid gid "
            "unused5",
        )
    ],
    "MKNOD_IN": [("fuse_mknod_in", "mode rdev umask padding")],
    "MKDIR_IN": [("fuse_mkdir_in", "mode umask")],
    "RENAME_IN": [("fuse_rename_in", "newdir")],
    "RENAME2_IN": [("fuse_rename2_in", "newdir flags padding")],
    "LINK_IN": [("fuse_link_in", "oldnodeid")],
    "OPEN_IN": [("fuse_open_in", "flags open_flags")],
    "CREATE_IN": [("fuse_create_in", "flags mode umask open_flags")],
    "RELEASE_IN": [("fuse_release_in", "fh flags release_flags lock_owner")],
    "READ_IN": [("fuse_read_in", "fh offset size read_flags lock_owner flags padding")],
    "WRITE_IN": [("fuse_write_in", "fh offset size write_flags lock_owner flags padding")],
    "GETXATTR_IN": [("fuse_getxattr_in", "size padding")],
    "ACCESS_IN": [("fuse_access_in", "mask padding")],
    "POLL_IN": [("fuse_poll_in", "fh kh flags events")],
    "OUT_HEADER": [_REPLY],
    "ENTRY_OUT": [
        _REPLY,
        (
            "fuse_entry_out",
            f"nodeid generation entry_valid attr_valid entry_valid_nsec attr_valid_nsec {_NESTED_ATTR}",
        ),
    ],
    "ATTR_OUT": [_REPLY, ("fuse_attr_out", f"attr_valid attr_valid_nsec dummy {_NESTED_ATTR}")],
    "OPEN_OUT": [_REPLY, ("fuse_open_out", "fh open_flags padding")],
    "WRITE_OUT": [_REPLY, ("fuse_write_out", "size padding")],
    "STATFS_OUT": [
        _REPLY,
        (
            "fuse_statfs_out",
            "st.blocks st.bfree st.bavail st.files st.ffree st.bsize st.namelen st.frsize st.padding st.spare",
        ),
    ],
    "GETXATTR_OUT": [_REPLY, ("fuse_getxattr_out", "size padding")],
    "INIT_OUT": [
        _REPLY,
        (
            "fuse_init_out",
            "major minor max_readahead flags max_background congestion_threshold max_write time_gran max_pages "
            "map_alignment flags2 unused",
        ),
    ],
    "POLL_OUT": [_REPLY, ("fuse_poll_out", "revents padding")],
    "NOTIFY_POLL_OUT": [_REPLY, ("fuse_notify_poll_wakeup_out", "kh")],
    "DIRENT": [("fuse_dirent", "ino off namelen type")],
}

# Ours are the beginning of longer structs.
PREFIXES = {
    "INIT_IN": ("fuse_init_in", "major minor max_readahead flags"),
    "SETXATTR_IN": ("fuse_setxattr_in", "size flags"),
}

NUMBERS = [
    *(f"FUSE_{name}" for name in (
        "LOOKUP FORGET GETATTR SETATTR READLINK SYMLINK MKNOD MKDIR UNLINK RMDIR RENAME LINK OPEN READ WRITE STATFS "
        "RELEASE FSYNC SETXATTR GETXATTR LISTXATTR REMOVEXATTR FLUSH INIT OPENDIR READDIR RELEASEDIR FSYNCDIR ACCESS "
        "CREATE INTERRUPT DESTROY IOCTL POLL BATCH_FORGET RENAME2 LSEEK ROOT_ID NOTIFY_POLL ATOMIC_O_TRUNC BIG_WRITES "
        "PARALLEL_DIROPS MAX_PAGES CACHE_SYMLINKS HANDLE_KILLPRIV_V2 POLL_SCHEDULE_NOTIFY"
    ).split()),
    *(f"FATTR_{name}" for name in "MODE UID GID SIZE ATIME MTIME FH ATIME_NOW MTIME_NOW".split()),
    *(f"FOPEN_{name}" for name in "DIRECT_IO NOFLUSH".split()),
]  # fmt: skip


def packed(layout: Struct) -> tuple[list[int], int]:
    """The offset of each field of one of our structs, and the size of it all."""
    offsets, position = [], 0
    for repeat, code in re.findall(r"(\d*)([a-zA-Z])", layout.format.lstrip("=")):
        if code == "x":
            offsets.append(position)
            position += int(repeat)
        else:
            offsets.append(position)
            position += calcsize("=" + code)
    return offsets, position


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """What the C compiler makes of the header: offsets, sizes and constants by the C expression for them."""
    if COMPILER is None or not HEADER.exists():
        pytest.skip(f"takes a C compiler and {HEADER}")
    expressions = list(NUMBERS)
    for name, fields in [part for parts in LAYOUTS.values() for part in parts] + list(PREFIXES.values()):
        expressions.append(f"sizeof(struct {name})")
        expressions += [f"offsetof(struct {name}, {field})" for field in fields.split()]
    lines = "".join(f'printf("%lld\\n", (long long)({expression}));\n' for expression in expressions)
    program = tmp_path_factory.mktemp("header") / "layout"
    source = f"#include <stddef.h>\n#include <stdio.h>\n#include <linux/fuse.h>\nint main(void) {{\n{lines}}}\n"
    command = [COMPILER, "-x", "c", "-", "-o", str(program)]
    done = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"{HEADER} is older than Linux 6.2: {done.stderr.splitlines()[0]}")
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    return dict(zip(expressions, map(int, said), strict=True))


@pytest.mark.parametrize("ours", LAYOUTS)
def test_a_struct_has_the_layout_of_the_c_header(ours: str, header: dict[str, int]) -> None:
    expected, start = [], 0
    for name, fields in LAYOUTS[ours]:
        expected += [start + header[f"offsetof(struct {name}, {field})"] for field in fields.split()]
        start += header[f"sizeof(struct {name})"]
    assert packed(getattr(wire, ours)) == (expected, start)


@pytest.mark.parametrize("ours", PREFIXES)
def test_a_shortened_struct_begins_as_in_the_c_header(ours: str, header: dict[str, int]) -> None:
    name, fields = PREFIXES[ours]
    expected = [header[f"offsetof(struct {name}, {field})"] for field in fields.split()]
    assert packed(getattr(wire, ours))[0] == expected


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_that_of_the_c_header(name: str, header: dict[str, int]) -> None:
    assert getattr(wire, name.removeprefix("FUSE_")) == header[name]


def test_replies_are_in_the_byte_order_of_the_machine() -> None:
    assert wire.OUT_HEADER.pack(16, 0, 1)[:4] == (16).to_bytes(4, sys.byteorder)
