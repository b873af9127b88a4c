"""The file of a snapshot: it is read as it was written, and what is no snapshot is refused in one line."""

from __future__ import annotations

import gzip
import json
import random
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fakecgroup.snapshot import Snapshot, SnapshotError, of_kernel, read_snapshot, restore, write_snapshot
from fakecgroup.snapshot.content import Attributes, SeenFile, SeenProcess
from fakecgroup.snapshot.files import unpack
from fakecgroup.snapshot.lines import pack

from .busy import busy_kernel

TIMES = 100


def some_snapshot() -> Snapshot:
    """One with all kinds of content."""
    snapshot = of_kernel(busy_kernel("hybrid", "6.1"))
    cgroup = snapshot.hierarchies[0].cgroups[1]
    cgroup.attributes = Attributes(0o755, 5, 6, {"user.name": b"\xff\0", "trusted.other": b"text"})
    cgroup.files["odd\udcff"] = SeenFile(b"\xff\xfe", "", Attributes(0o444))
    snapshot.processes[5] = SeenProcess(5, "na\nme\udc80", ("a", "b c"), (5, 6), nice=-3, oom_score_adj=-1000)
    snapshot.left_out = ["files: 3 (a, b): Permission denied"]
    return snapshot


def documents(data: bytes) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(data).splitlines()]


def file_of(lines: list[Any]) -> bytes:
    return gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines), 1)


def test_a_snapshot_is_read_as_it_was_written(tmp_path: Path) -> None:
    before = some_snapshot()
    write_snapshot(before, tmp_path / "some.cgs")
    after = read_snapshot(tmp_path / "some.cgs")
    after.called = before.called
    assert after == before


def test_the_same_snapshot_gives_the_same_bytes() -> None:
    data = pack(some_snapshot())
    assert pack(unpack(data)) == data


def test_a_file_is_replaced_by_its_owner_alone(tmp_path: Path) -> None:
    place = tmp_path / "some.cgs"
    place.write_text("old")
    write_snapshot(some_snapshot(), place)
    assert place.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["some.cgs"]


def test_nothing_is_left_of_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "directory" / "below").mkdir(parents=True)
    with pytest.raises(OSError):
        write_snapshot(some_snapshot(), tmp_path / "missing" / "some.cgs")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["directory"]


HEAD = {
    "format": "fakecgroup-snapshot",
    "version": 1,
    "layout": "v2",
    "origin": "node",
    "kernel": {"release": "6.12.1"},
    "machine": {"cpus": 2, "memory": 1 << 30},
}
BEGIN: list[Any] = [{"snapshot": HEAD}, {"hierarchy": {"unified": True}}]


LINE = json.dumps(BEGIN[0]).encode() + b"\n"
HYBRID = {"snapshot": {**HEAD, "layout": "hybrid"}}


def ended(*lines: Any) -> list[Any]:
    return [*lines, {"end": {"lines": len(lines)}}]


REFUSED = {
    "nothing": (b"", "it is empty"),
    "no gzip": (b"text", "it is not gzip"),
    "cut off": (pack(some_snapshot())[:-400], "it is cut off"),
    "damaged": (pack(some_snapshot())[:900] + b"\0" * 99 + pack(some_snapshot())[999:], "it is "),
    "something else in gzip": (gzip.compress(b"hello"), "it is neither a snapshot nor a tar"),
    "no JSON": (gzip.compress(b"{]\n"), "line 1 is no JSON"),
    "NaN": (gzip.compress(b'{"snapshot": NaN}\n'), "line 1 is no JSON"),
    "deep JSON": (gzip.compress(b'{"snapshot":' + b"[" * 100_000 + b"\n"), "line 1 is no JSON"),
    "no head": (file_of([{"cgroup": {}}]), "it does not begin with a snapshot's head"),
    "another format": (file_of([{"snapshot": {"format": "x"}}]), "it does not say that it is a fakecgroup-snapshot"),
    "another version": (file_of([{"snapshot": {**HEAD, "version": 2}}]), "its version is '2', and this one reads 1"),
    "another layout": (file_of([{"snapshot": {**HEAD, "layout": "v3"}}]), "snapshot.layout is 'v3'; there are v2, v1"),
    "no end": (file_of(BEGIN), "it is cut off"),
    "a line too few": (file_of([*BEGIN, {"end": {"lines": 3}}]), "lines are missing"),
    "more after the end": (file_of([*ended(*BEGIN), {"end": {}}]), "something follows its end"),
    "no hierarchy": (file_of(ended(BEGIN[0])), "it has no hierarchy"),
    "an escape": (
        file_of(ended(*BEGIN, {"cgroup": {"path": "/"}}, {"cgroup": {"path": "/.."}})),
        "line 4: no cgroup can be at '/..'",
    ),
    "no parent": (
        file_of(ended(*BEGIN, {"cgroup": {"path": "/a/b"}})),
        "line 3: no cgroup can be at '/a/b'",
    ),
    "a cgroup twice": (
        file_of(ended(*BEGIN, {"cgroup": {"path": "/"}}, {"cgroup": {"path": "/"}})),
        "line 4: no cgroup can be at '/'",
    ),
    "a file with a slash": (
        file_of(ended(*BEGIN, {"cgroup": {"path": "/", "files": {"../x": {}}}})),
        "line 3: no file can be called '../x'",
    ),
    "a negative mode": (
        file_of(ended(*BEGIN, {"cgroup": {"path": "/", "mode": -1}})),
        "line 3: cgroup.mode is no number from 0 to 4095",
    ),
    "no base64": (
        file_of(ended(*BEGIN, {"cgroup": {"path": "/", "files": {"x": {"base64": "?"}}}})),
        "line 3: cgroup.files.x.base64 is no base64",
    ),
    "two unified hierarchies": (
        file_of(ended(HYBRID, *[{"hierarchy": {"unified": True, "directory": d}} for d in "ab"])),
        "line 3: a second unified hierarchy",
    ),
    "a directory above": (
        file_of(ended({"snapshot": {**HEAD, "layout": "v1"}}, {"hierarchy": {"directory": ".."}})),
        "line 2: no hierarchy can be at '..'",
    ),
    "a bomb": (gzip.compress(b"{" + b" " * (300 << 20), 1), "it has a line of more than 16 MiB"),
    "a bomb of lines": (gzip.compress(LINE + (b"[" + b" " * (1 << 20) + b"]\n") * 300, 1), "line 2 is no object"),
    "many values": (gzip.compress(b'{"snapshot":[' + b"[]," * 600_000 + b"[]]}\n", 1), "line 1 has more than 1,"),
}


@pytest.mark.hostile("a file that is no snapshot, or one that would take all memory", times=27)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_snapshot_is_refused_in_one_line(name: str) -> None:
    data, why = REFUSED[name]
    tracemalloc.start()
    with pytest.raises(SnapshotError) as refused:
        unpack(data, "some.cgs")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert str(refused.value).startswith(f"some.cgs is no snapshot: {why}")
    assert str(refused.value).isprintable()
    assert most < 200 << 20


def mutated_bytes(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 5)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed[: chance.choice([len(changed), chance.randrange(len(changed))])])


_ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    1 << 70,
    1.5,
    "",
    "/",
    "..",
    "x" * 5000,
    "\0",
    "\ud800",
    [],
    {},
    [[]],
    "max",
    "a b\n",
]


def mutated_lines(data: bytes, chance: random.Random) -> bytes:
    """Replaces, removes or adds values anywhere."""
    lines = documents(data)
    for _ in range(chance.randint(1, 6)):
        if chance.random() < 0.2:
            one = chance.randrange(len(lines) - 1)
            lines[one : one + 1] = chance.choice([[], [lines[one]] * 2, [lines[chance.randrange(len(lines))]]])
            continue
        places = list(_places(chance.choice(lines)))
        if not places:
            continue
        holder, key = chance.choice(places)
        if chance.random() < 0.2:
            del holder[key]
        else:
            holder[key] = chance.choice(_ODD)
    lines[-1] = {"end": {"lines": len(lines) - 1}}
    return file_of(lines)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    below = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    for key, one in below:
        yield value, key
        if isinstance(one, (dict, list)):
            yield from _places(one)


@pytest.mark.hostile("a snapshot with bytes or values that were changed at random", times=200)
@pytest.mark.parametrize("mutate", [mutated_bytes, mutated_lines])
def test_a_mutated_snapshot_is_refused_in_one_line_or_restored(mutate: Callable[[bytes, random.Random], bytes]) -> None:
    data = pack(some_snapshot())
    for seed in range(TIMES):
        chance = random.Random(seed)
        try:
            restored = restore(unpack(mutate(data, chance)))
        except ValueError as error:
            assert str(error).isprintable(), seed
        else:
            assert all(map(str.isprintable, restored.differs)), seed
