"""Directories and files: make, remove, rename, link, modes, owners, sizes.  The same questions on both layouts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakecgroup.conformance.case import Case

#: Where the questions are asked: the root of the v2 tree and three v1 hierarchies.
_PLACES = (("v2", "", "cgroup.procs", "cgroup.stat"), ("v1", "pids/", "tasks", "pids.current"),
           ("v1", "cpu,cpuacct/", "cpu.shares", "cpu.stat"), ("v1", "systemd/", "notify_on_release",
           "cgroup.procs"))  # fmt: skip


def cases() -> Iterator[Case]:
    for layout, p, rw, ro in _PLACES:
        where = p.rstrip("/") or "v2"
        for name, ops in _everywhere(p, rw, ro):
            yield Case(f"{name} ({where})" if layout == "v1" else name, layout, tuple(ops))
    yield from _across_hierarchies()


def _everywhere(p: str, rw: str, ro: str) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    root = p or "."
    make = [("mkdir", f"{p}a"), ("mkdir", f"{p}b"), ("mkdir", f"{p}a/c")]
    f, g = f"{p}a/{rw}", f"{p}a/{ro}"

    yield "mkdir where it cannot be", [
        ("mkdir", f"{p}a"), ("mkdir", f"{p}a"), ("mkdir", f"{p}a/"), ("mkdir", f"{p}a/."), ("mkdir", f"{p}a/.."),
        ("mkdir", f"{p}."),
        ("mkdir", f"{p}.."), ("mkdir", ""), ("mkdir", f"{p}{rw}"), ("mkdir", f"{p}a/{rw}"), ("mkdir", f"{p}a/{rw}/x"),
        ("mkdir", f"{p}no/x"), ("mkdir", f"{p}no/x/y"), ("mkdir", f"{p}b/"), ("mkdir", f"{p}b//c"),
        ("mkdir", f"{p}b/../d"),
        ("mkdir", f"{p}d/./e"), ("listdir", f"{p}d"), ("mkdir", f"{p}no/../f")]  # fmt: skip
    modes = ["0755", "0700", "0777", "0", "0555", "01777", "02755", "04755", "07777", "0644", "0111"]
    yield "mkdir sets the mode", [
        op for i, mode in enumerate(modes) for op in (("mkdir", f"{p}m{i}", mode), ("stat", f"{p}m{i}"),
        ("stat", f"{p}m{i}/{rw}"))]  # fmt: skip
    yield "mkdir under an umask", [
        op for i, mask in enumerate(["0", "027", "077", "0777"]) for op in
        (("umask", mask), ("mkdir", f"{p}m{i}", "07777"), ("stat", f"{p}m{i}"), ("stat", f"{p}m{i}/{rw}"))]  # fmt: skip
    yield "rmdir where it cannot be", [
        *make, ("rmdir", f"{p}a"), ("rmdir", f"{p}no"), ("rmdir", f"{p}no/x"), ("rmdir", f"{p}a/{rw}"),
        ("rmdir", f"{p}a/{rw}/x"),
        ("rmdir", f"{p}a/."), ("rmdir", f"{p}a/.."), ("rmdir", f"{p}a/c/.."), ("rmdir", ""), ("rmdir", root),
        ("rmdir", f"{p}."),
        ("rmdir", f"{p}a/c/"), ("rmdir", f"{p}a"), ("rmdir", f"{p}a"), ("listdir", f"{p}a"),
        ("stat", root)]  # fmt: skip
    yield "rmdir with a process inside", [
        *make, ("fork", "w"), ("write", f"{p}a/cgroup.procs", "$w"), ("rmdir", f"{p}a/c"), ("rmdir", f"{p}a"),
        ("kill", "w"),
        ("state", "w"), ("rmdir", f"{p}a"), ("proc", "w", "cgroup"), ("wait", "w"),
        ("proc", "w", "cgroup")]  # fmt: skip
    yield "rmdir with a thread inside", [
        *make, ("fork", "w"), ("in", "w", "thread", "t"), ("write", f"{p}b/cgroup.procs", "$w"), ("rmdir", f"{p}b"),
        ("in", "t", "exit"), ("settle", 30), ("rmdir", f"{p}b"), ("kill", "w"), ("rmdir", f"{p}b")]  # fmt: skip
    yield "rmdir and mkdir again", [
        ("mkdir", f"{p}a"), ("chmod", f"{p}a", "0700"), ("chown", f, 5, 6), ("rmdir", f"{p}a"), ("mkdir", f"{p}a"),
        ("stat", f"{p}a"),
        ("stat", f), *[op for _ in range(5) for op in (("rmdir", f"{p}a"), ("mkdir", f"{p}a"))]]  # fmt: skip
    yield "link counts of directories", [
        ("stat", root), *make, ("stat", root), ("stat", f"{p}a"), ("stat", f"{p}b"), ("stat", f), ("stat", g),
        ("rmdir", f"{p}a/c"),
        ("stat", f"{p}a"), ("rmdir", f"{p}b"), ("stat", root)]  # fmt: skip
    yield "creating files is refused", [
        *make, ("creat", f"{p}a/new"), ("creat", f"{p}new"), ("creat", f), ("creat", g), ("creat", f"{p}a"),
        ("creat", f"{p}no/x"),
        ("creat", f"{p}a/{rw}/x"), ("creat", f"{p}a/memory.max"), ("creat", f"{p}a/new/"), ("creat", ""),
        ("open", "h", f"{p}a/new", "O_RDONLY|O_CREAT"), ("open", "h", f"{p}a/new", "O_RDWR|O_CREAT|O_EXCL"),
        ("open", "h", f, "O_WRONLY|O_CREAT|O_EXCL"), ("open", "h", f"{p}a", "O_RDONLY|O_CREAT"),
        ("open", "h", f, "O_WRONLY|O_CREAT|O_TRUNC"), ("open", "h", f"{p}a/new", "O_WRONLY"),
        ("open", "h", f"{p}a/new", "O_RDONLY"),
        ("listdir", f"{p}a")]  # fmt: skip
    yield "making nodes is refused", [
        *make, *[op for kind in ("0100644", "010644", "020644", "060644", "0140644", "040755", "0644",
        "0120777") for op in
                 (("mknod", f"{p}a/n", kind, 259), ("mknod", f, kind, 259), ("mknod", f"{p}no/n", kind, 259))],
        ("mknod", f"{p}a/c", "0100644"), ("listdir", f"{p}a/c")]  # fmt: skip
    yield "links are refused", [
        *make, ("symlink", "x", f"{p}a/n"), ("symlink", "x", f), ("symlink", "x", f"{p}a/c"),
        ("symlink", "x", f"{p}no/n"),
        ("symlink", "", f"{p}a/n"), ("link", f, f"{p}a/n"), ("link", f, f"{p}b/n"), ("link", f, g),
        ("link", f"{p}a", f"{p}n"),
        ("link", f"{p}no", f"{p}n"), ("link", f, f"{p}no/n"), ("link", f, f), ("readlink", f), ("readlink", f"{p}a"),
        ("readlink", f"{p}no"), ("link", "/dev/null", f"{p}a/n"), ("link", f, "/n")]  # fmt: skip
    yield "unlink is refused", [
        *make, ("unlink", f), ("unlink", g), ("unlink", f"{p}a"), ("unlink", f"{p}no"), ("unlink", f"{p}no/x"),
        ("unlink", f"{p}a/{rw}/x"),
        ("unlink", f"{f}/"), ("unlink", f"{p}a/."), ("unlink", ""), ("unlink", root), ("stat", f)]  # fmt: skip
    yield "rename of directories", [
        *make, ("mkdir", f"{p}b/d"), ("rename", f"{p}b", f"{p}z"), ("listdir", root), ("rename", f"{p}z", f"{p}b"),
        ("rename", f"{p}a", f"{p}a"), ("rename", f"{p}a", f"{p}b"), ("rename", f"{p}a", f"{p}b/a"),
        ("rename", f"{p}a", f"{p}b/d"),
        ("rename", f"{p}a", f"{p}a/c"), ("rename", f"{p}a", f"{p}a/c/e"), ("rename", f"{p}a/c", f"{p}a"),
        ("rename", f"{p}a/c", f"{p}c"),
        ("rename", f"{p}a/c", f"{p}a/e"), ("rename", f"{p}a/e", f"{p}a/c"), ("rename", f"{p}no", f"{p}x"),
        ("rename", f"{p}a", f"{p}no/x"),
        ("rename", f"{p}no", f"{p}no2/x"), ("rename", f"{p}a", ""), ("rename", "", f"{p}a"),
        ("rename", f"{p}a", f"{p}."),
        ("rename", f"{p}a", f"{p}.."), ("rename", f"{p}.", f"{p}x"), ("rename", f"{p}a/..", f"{p}x"),
        ("rename", f"{p}a", f"{p}w/"),
        ("rename", f"{p}w", f"{p}a"), ("rename", f"{p}a/", f"{p}b/d/"), ("rename", f"{p}a", f"{p}x\ny"),
        ("listdir", f"{p}a"),
        ("listdir", f"{p}b")]  # fmt: skip
    yield "rename of files and onto files", [
        *make, ("rename", f, f), ("rename", f, g), ("rename", f, f"{p}a/n"), ("rename", f, f"{p}b/n"),
        ("rename", f, f"{p}b/{rw}"),
        ("rename", f, f"{p}a"), ("rename", f, f"{p}b"), ("rename", f, f"{p}a/c"), ("rename", f"{p}a", f"{p}b/{rw}"),
        ("rename", f"{p}a", f),
        ("rename", f"{p}a/c", f), ("rename", f"{p}a/c", f"{p}b/{rw}"), ("rename", f"{f}/", f"{p}a/n"),
        ("rename", f, f"{p}no/n"),
        ("rename", f, "/n"), ("rename", "/dev/null", f"{p}a/n"), ("rename", f"{p}a/no", g)]  # fmt: skip
    flags: list[Any] = ["NOREPLACE", "EXCHANGE", "WHITEOUT", "NOREPLACE|EXCHANGE", 8]
    yield "rename with flags", [
        *make, *[op for flag in flags for op in (("rename", f"{p}a", f"{p}new", flag),
        ("rename", f"{p}a", f"{p}b", flag),
                 ("rename", f"{p}a", f"{p}a", flag), ("rename", f, g, flag), ("rename", f, f"{p}a/n", flag),
                 ("rename", f"{p}no", f"{p}x", flag), ("rename", f"{p}a", f"{p}b/x", flag))],
                 ("listdir", root)]  # fmt: skip
    yield "rename keeps what is inside", [
        *make, ("fork", "w"), ("write", f"{p}a/cgroup.procs", "$w"), ("open", "h", f), ("chmod", f, "0600"),
        ("rename", f"{p}a", f"{p}r"),
        ("read", f"{p}r/cgroup.procs"), ("proc", "w", "cgroup"), ("stat", f"{p}r/{rw}"), ("fread", "h", 100),
        ("stat", f"{p}a"),
        ("mkdir", f"{p}a"), ("read", f"{p}a/cgroup.procs"), ("rmdir", f"{p}r"), ("listdir", f"{p}r/c")]  # fmt: skip
    yield "truncate does nothing to files", [
        *make, *[("truncate", path, size) for path in (f, g, f"{p}a", f"{p}no") for size in (0, 1, 100, -1, 1 << 31,
        1 << 40, (1 << 63) - 1)],
        ("stat", f), ("read", g)]  # fmt: skip
    yield "chmod is kept", [
        *make, *[op for path in (f"{p}a", f, g, root) for mode in ("0", "0777", "07777", "0644", "02755", "04755",
        "01777") for op in
                 (("chmod", path, mode), ("stat", path))], ("chmod", f"{p}no", "0755"), ("mkdir", f"{p}a/d"),
                 ("stat", f"{p}a/d")]  # fmt: skip
    yield "chown is kept", [
        *make, *[op for path in (f"{p}a", f, root) for u, h in ((1000, 1000), (-1, 7), (8, -1), (-1, -1),
        (4294967294, 4294967294), (0, 0))
                 for op in (("chown", path, u, h), ("stat", path))], ("chown", f"{p}no", 1, 1), ("chmod", f, "06755"),
        ("chown", f, 1, 1), ("stat", f), ("chown", f"{p}a", 1000, 1000), ("mkdir", f"{p}a/d"), ("stat", f"{p}a/d"),
        ("stat", f"{p}a/d/{rw}")]  # fmt: skip
    yield "a setgid directory hands its group on", [
        *make, ("chown", f"{p}a", 0, 77), ("chmod", f"{p}a", "02755"), ("mkdir", f"{p}a/d"), ("stat", f"{p}a/d"),
        ("stat", f"{p}a/d/{rw}"),
        ("mkdir", f"{p}a/d/e"), ("stat", f"{p}a/d/e"), ("stat", f"{p}a/c")]  # fmt: skip
    yield "times are kept", [
        *make, *[op for path in (f"{p}a", f, root) for op in (("utimens", path, 5, 7), ("mtime", path))],
        ("write", f, "abc"), ("mtime", f),
        ("read", f), ("mtime", f), ("utimens", f"{p}no", 1, 1), ("utimens", f, 0, 0), ("mtime", f)]  # fmt: skip
    yield "access as root", [
        *make, *[("access", path, mode) for path in (f"{p}a", f, g, f"{p}no", root) for mode in ("F", "R", "W", "X",
        "R|W|X")],
        ("chmod", f, "0"), *[("access", f, mode) for mode in ("R", "W", "X")], ("chmod", f, "0100"),
        ("access", f, "X")]  # fmt: skip
    yield "statfs", [*make, ("statfs", root), ("statfs", f"{p}a"), ("statfs", f), ("statfs", f"{p}no")]
    yield "paths through files and missing directories", [
        *make, *[(op, path) for op in ("stat", "read", "listdir") for path in
                 (f"{p}no", f"{p}no/x", f"{f}/x", f"{f}/", f"{f}/.", f"{p}a/", f"{p}a/./{rw}", f"{p}a/c/../{rw}",
                 f"{p}a//{rw}", "")],
        ("write", f"{p}a", "1"), ("write", f"{p}no", "1"), ("write", f"{f}/x", "1"), ("read", f"{p}a")]  # fmt: skip


def _across_hierarchies() -> Iterator[Case]:
    yield Case("nothing moves between hierarchies", "v1", (
        ("mkdir", "pids/a"), ("rename", "pids/a", "freezer/a"), ("rename", "pids/a/tasks", "freezer/tasks"),
        ("link", "pids/a/tasks", "freezer/x"),
        ("rename", "pids", "freezer"), ("rename", "pids", "pids/a"), ("rename", "pids/a", "pids"), ("rmdir", "pids"),
        ("unlink", "pids"),
        ("stat", "freezer/a"), ("stat", "pids/a")))  # fmt: skip
    yield Case("a hierarchy stays where it is mounted", "v1", (
        *(op for h in ("pids", "pids/", "cpu,cpuacct", "no", "cpu/x/") for op in (("rmdir", h), ("unlink", h))),
        ("rmdir", "cpu"), ("rmdir", "cpu/"), ("unlink", "cpu/"), ("rmdir", "."), ("unlink", "."), ("mkdir", "pids"),
        ("creat", "pids"), ("symlink", "t", "pids"), ("mknod", "pids", "0100644"), ("link", "cpu", "pids"),
        ("rename", "pids", "new"), ("rename", "pids", "pids"), ("rename", "pids", "freezer"), ("rename", "pids", "cpu"),
        ("rename", "cpu", "pids"), ("rename", "cpu", "cpu"), ("rename", "pids", "freezer", 1),
        ("rename", "pids", "freezer", 2), ("rename", "pids", "new", 2), ("rename", "no", "pids"), ("rename", ".", "x"),
        ("rename", "pids", "."), ("as", 1000, 1000), ("rmdir", "pids"), ("rename", "pids", "new"), ("mkdir", "pids"),
        ("rmdir", "no"), ("mkdir", "new"), ("unlink", "cpu"),
        ("symlink", "t", "x"), ("rename", "cpu", "x"), ("creat", "x"), ("as", 0, 0), ("stat", "."),
        ("listdir", ".")))  # fmt: skip
    yield Case("the roots of the tree cannot be replaced", "v2", (
        ("mkdir", "a"), ("rename", "a", "."), ("rename", ".", "a"), ("rename", "a", ".."), ("rmdir", "."),
        ("rmdir", ".."), ("unlink", ".")))  # fmt: skip
