"""Talos's archive is read: a tar of the unified hierarchy, without processes and machine."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from fakecgroup.snapshot import SnapshotError, compare, of_kernel, restore
from fakecgroup.snapshot.content import NOT_READ
from fakecgroup.snapshot.files import unpack

from .busy import busy_kernel


def archive(prefix: str = "", extra: list[tuple[tarfile.TarInfo, bytes]] = []) -> bytes:  # noqa: B006
    """What `talosctl cp /sys/fs/cgroup -` gives: paths are from the root, files beyond 4095 bytes are empty."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for _, cgroup in of_kernel(busy_kernel("v2", "6.12")).cgroups():
            place = prefix + cgroup.path.lstrip("/")
            if place:
                made = tarfile.TarInfo(place + "/")
                made.type, made.mode = tarfile.DIRTYPE, cgroup.attributes.mode
                tar.addfile(made)
            for name, file in cgroup.files.items():
                made = tarfile.TarInfo(f"{place}/{name}".lstrip("/"))
                data = file.data or b""
                made.mode, made.size, made.mtime = file.attributes.mode, len(data), 1_726_215_292
                made.uid, made.gid = file.attributes.uid, file.attributes.gid
                tar.addfile(made, io.BytesIO(data))
        for made, data in extra:
            made.size = len(data)
            tar.addfile(made, io.BytesIO(data))
    return out.getvalue()


def test_every_file_reads_as_in_the_archive() -> None:
    snapshot = unpack(archive(), "cgroup.tar.gz")
    restored = restore(snapshot)
    texts = [one for one in compare(snapshot, of_kernel(restored)) if one.kind != "attributes"]
    assert texts == []
    assert restored.read("/app/pids.max") == "77\n"
    assert len(restored.read("/app/web/cgroup.procs").splitlines()) == 2
    assert snapshot.taken == 1_726_215_292


def test_what_is_not_known_is_told() -> None:
    assert restore(unpack(archive())).differs[:2] == (
        "the kernel is not known: the rules of 6.12 are played, by the files",
        "the machine's memory is not known: 8Gi are taken",
    )


def test_the_hierarchy_may_be_anywhere_in_the_archive() -> None:
    snapshot = unpack(archive("sys/fs/cgroup/"))
    assert [cgroup.path for _, cgroup in snapshot.cgroups()] == ["/", "/app", "/app/web", "/idle"]


def test_a_file_that_the_archive_has_lost_is_not_compared() -> None:
    lost = tarfile.TarInfo("app/memory.stat")
    lost.mode = 0o444
    snapshot = unpack(archive(extra=[(lost, b"")]))
    assert snapshot.hierarchies[0].cgroups[1].files["memory.stat"].error == NOT_READ
    assert snapshot.left_out == ["files that are empty in the archive: 1"]
    assert not any("memory.stat" in line for line in restore(snapshot).differs)


def test_an_archive_of_something_else_is_refused() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("hello"))
    with pytest.raises(SnapshotError, match=r"^x is no snapshot: it is neither a snapshot nor a tar of a unified hier"):
        unpack(out.getvalue(), "x")


@pytest.mark.hostile("an archive with a path that leads out of it, or with a file of a terabyte", times=2)
@pytest.mark.parametrize(
    ("name", "size", "why"),
    [("../evil", 0, "no file can be called '../evil'"), ("big", 1 << 40, "'big' has more than 8 MiB")],
)
def test_an_archive_that_is_bad_is_refused(name: str, size: int, why: str) -> None:
    made = tarfile.TarInfo(name)
    made.size, made.mode = size, 0o644
    with pytest.raises(SnapshotError) as refused:
        unpack(gzip.compress(made.tobuf() + b"\0" * 1024), "x")
    assert str(refused.value) == f"x is no snapshot: {why}"
