"""A mounted tree answers real programs as the kernel did."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from fakecgroup.conformance import recording
from fakecgroup.conformance.known_gaps import MOUNT
from fakecgroup.conformance.recording import MACHINES, PLAIN, SWAP, Recording
from fakecgroup.conformance.replay import replay
from fakecgroup_mount.conformance.target_mount import MountTarget

COMMAND = [sys.executable, "-c", "import sys; from fakecgroup_mount.cli.program import main; sys.exit(main())"]

#: Families that say something about a mount: what is only a parser's is asked of the model.
FAMILIES = (
    *("kernfs", "handles", "names", "xattr", "release", "processes", "threaded", "freeze", "delegation", "pids"),
    *("events", "capabilities", "copying"),
)
TREES = [("v2", "6.12", PLAIN), ("v1", "6.1", PLAIN), ("hybrid", "6.1", PLAIN)]
PARTS = [(tree, family) for tree in TREES for family in (FAMILIES if tree[0] != "hybrid" else ("hybrid",))]
PARTS += [((layout, kernel, SWAP), family) for layout, kernel, _ in TREES[:2] for family in ("file_sets", "reclaim")]


@cache
def load(layout: str, kernel: str, machine: str) -> Recording:
    return recording.load(layout, kernel, machine)


@pytest.fixture
def tree(fuse: None, root: None, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A mounted tree on the machine of the recordings, open to all users."""
    layout, kernel, swap, *enforced = request.param
    directory = Path("/tmp") / f"fcg-conformance-{os.getpid()}-{time.monotonic_ns()}"
    directory.mkdir(mode=0o755)
    machine = ["--cpus", "4", "--numa-nodes", "2", "--memory", "1Gi", "--block-devices", "259:0,259:1"]
    machine += ["--swap", "64Mi"] if swap == SWAP else []
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    options = ["--layout", layout, "--kernel", kernel, *machine, *(f"--enforce={names}" for names in enforced)]
    subprocess.run(
        [*COMMAND, "mount", directory, *options], check=True, timeout=30, env=environment, capture_output=True
    )
    try:
        yield directory
    finally:
        command = [*COMMAND, "umount", str(directory)]
        subprocess.run(command, check=False, timeout=30, env=environment, capture_output=True)
        shutil.rmtree(directory, ignore_errors=True)
    log = tmp_path / "fakecgroup" / "daemon.log"
    assert not log.exists() or "Traceback" not in log.read_text(), log.read_text()


@pytest.mark.parametrize(
    ("layout", "kernel", "machine", "tree", "family"), [(*t, t, f) for t, f in PARTS], indirect=["tree"]
)
def test_a_mount_answers_as_the_kernel_did(layout: str, kernel: str, machine: str, family: str, tree: Path) -> None:
    target = MountTarget(str(tree))
    differences = [
        str(difference)
        for one in load(layout, kernel, machine).family(family)
        if (layout, one.case.name) not in MOUNT
        for difference in replay(one, target).differences
    ]
    assert differences == [], "\n".join([f"{len(differences)} answers differ", *differences[:20]])


@pytest.mark.parametrize(
    ("layout", "kernel", "machine", "tree", "name"),
    [
        pytest.param(*tree, tree, name, marks=pytest.mark.xfail(reason=why, strict=True))
        for (layout, name), why in MOUNT.items()
        for tree in TREES
        if tree[0] == layout
    ],
    indirect=["tree"],
)
def test_a_gap_is_closed(layout: str, kernel: str, machine: str, name: str, tree: Path) -> None:
    target = MountTarget(str(tree))
    (one,) = (one for one in load(layout, kernel, machine).cases if one.case.name == name)
    assert replay(one, target).differences == ()


# In a Python of its own. What a forked process frees of what it had before is not seen to go, so that as much of what
# it allocates then counts for no limit. A worker of many tests has much to free.
ALLOCATING = """
import json, sys
from fakecgroup.conformance.recording import load
from fakecgroup.conformance.replay import replay
from fakecgroup_mount.conformance.target_mount import MountTarget

layout, kernel, machine, tree = sys.argv[1:]
target = MountTarget(tree, enforces_memory=True)
cases = [one for one in load(layout, kernel, machine).cases if any("alloc" in op for op in one.case.ops)]
print(json.dumps([len(cases), [str(difference) for one in cases for difference in replay(one, target).differences]]))
"""


@pytest.mark.parametrize(
    ("layout", "kernel", "machine", "tree"),
    [(*tree, machine, (*tree, machine, "memory")) for tree in (("v2", "6.12"), ("v1", "6.1")) for machine in MACHINES],
    indirect=["tree"],
)
def test_limits_act_on_what_processes_allocate(layout: str, kernel: str, machine: str, tree: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALLOCATING, layout, kernel, machine, str(tree)], capture_output=True, text=True
    )
    assert done.stderr == ""
    cases, differences = json.loads(done.stdout)
    assert (cases > 4, differences) == (True, []), "\n".join(differences)


@pytest.mark.parametrize(
    ("tree", "left_out"),
    [(("v2", "6.12", PLAIN, "memory"), False), (("v2", "6.12", PLAIN), True)],
    ids=["enforced", "left-out"],
    indirect=["tree"],
)
def test_where_limits_act_on_memory_its_cases_are_compared_and_else_it_is_said(tree: Path, left_out: bool) -> None:
    command = [*COMMAND, "conformance", "--target", str(tree), "--kernel", "6.12", "--family", "memory", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1000)
    (family,) = json.loads(done.stdout)["families"]
    assert (done.returncode, family["differences"]) == (0, [])
    assert any("--enforce memory" in why for why in family["left_out"]) == left_out
    assert ("compared up to where processes use memory" in done.stderr) == left_out


@pytest.mark.parametrize(
    ("tree", "again"), [(("v2", "6.12", PLAIN), "io.cost.model parses numbers")], indirect=["tree"]
)
def test_what_only_a_new_mount_takes_away_is_not_held_against_a_used_one(tree: Path, again: str) -> None:
    target = MountTarget(str(tree))
    first, second = (
        replay(one, target) for one in load("v2", "6.12", PLAIN).cases if one.case.name == again for _ in "12"
    )
    assert (first.skipped, first.differences) == (0, ())
    assert (second.skipped > 0, second.differences) == (True, ())


@pytest.mark.parametrize(
    ("tree", "where"), [(("v2", "6.12", PLAIN), "a"), (("v1", "6.1", PLAIN), "memory/a")], indirect=["tree"]
)
def test_a_tree_with_cgroups_in_it_is_refused_and_left_alone(tree: Path, where: str) -> None:
    (tree / where).mkdir()
    done = subprocess.run(
        [*COMMAND, "conformance", "--target", tree, "--family", "names"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{tree / where} is there" in done.stderr
    assert (tree / where).is_dir()
