"""Faults of a mounted tree: `--faults FILE` and `fakecgroup ctl DIR fault ...`."""

from __future__ import annotations

import json
import os
import threading
import time
from errno import EBUSY, ECONNABORTED, EIO, ENODEV, ENOTCONN
from pathlib import Path

import pytest

from ..waiting import wait_until
from .conftest import Mount, daemon_of, is_alive, needs_fuse, run

pytestmark = needs_fuse

RULES = "# once\nwrite */memory.limit_in_bytes = 1*error(EBUSY)->off\n"


@pytest.fixture
def tree(mount: Mount) -> Path:
    tree = mount()
    (tree / "cgroup.subtree_control").write_text("+pids")
    (tree / "a").mkdir()
    return tree


def add(tree: Path, rule: str) -> str:
    done = run("ctl", tree, "fault", "add", rule)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_a_file_of_rules_acts_on_a_mount(mount: Mount, tmp_path: Path) -> None:
    (tmp_path / "rules").write_text(RULES)
    tree = mount(layout="v1", faults=str(tmp_path / "rules"))
    limit = tree / "memory" / "a" / "memory.limit_in_bytes"
    limit.parent.mkdir()
    with pytest.raises(OSError) as refused:
        limit.write_text("1M")
    assert refused.value.errno == EBUSY
    limit.write_text("1M")
    assert limit.read_text() == "1048576\n"


def test_a_file_of_rules_acts_under_run(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text(RULES)
    script = (
        "import os\n"
        "os.mkdir('/sys/fs/cgroup/memory/a')\n"
        "for _ in range(2):\n"
        "    try:\n"
        "        with open('/sys/fs/cgroup/memory/a/memory.limit_in_bytes', 'w') as file:\n"
        "            file.write('1M')\n"
        "        print('written')\n"
        "    except OSError as error:\n"
        "        print(error.strerror)\n"
    )
    done = run("run", "--layout", "v1", "--faults", tmp_path / "rules", "--", "python3", "-c", script)
    assert (done.stdout, done.stderr, done.returncode) == (f"{os.strerror(EBUSY)}\nwritten\n", "", 0)


@pytest.mark.parametrize("command", [("mount",), ("run",)])
@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ("write */pids.max = error(EROFS)", "kernel 6.12 gives no EROFS for write of pids.max"),
        ("write */pids.most = off", "never matches: no file of kernel 6.12 on v2 is named pids.most"),
        ("nonsense", "a rule is OP GLOB = TERM"),
    ],
)
def test_a_wrong_rule_is_one_line_and_nothing_is_mounted(
    command: tuple[str], rule: str, complaint: str, tmp_path: Path, directory: Path
) -> None:
    (tmp_path / "rules").write_text(f"\n{rule}\n")
    target = ("--", "true") if command == ("run",) else (directory,)
    done = run(*command, "--faults", tmp_path / "rules", *target)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"{tmp_path}/rules:2: " in done.stderr
    assert complaint in done.stderr
    assert not os.path.ismount(directory)


def test_a_rule_is_added_listed_and_removed(tree: Path) -> None:
    rule = "write */pids.max = 1*error(EIO)"
    assert "gives no EIO" in run("ctl", tree, "fault", "add", rule).stderr
    assert run("ctl", tree, "fault", "list").stdout == "no rules are here\n"
    done = run("ctl", tree, "fault", "add", "--any-errno", rule)
    assert (done.returncode, done.stdout) == (0, "1\n")
    with pytest.raises(OSError, match=os.strerror(EIO)):
        (tree / "a" / "pids.max").write_text("5")
    table = run("ctl", tree, "fault", "list").stdout
    assert table == "ID  FIRED  RULE\n1   1      write */pids.max = 1*error(EIO)\n"
    told = json.loads(run("ctl", tree, "fault", "list", "-o", "json").stdout)
    assert told["rules"] == [{"id": 1, "rule": rule, "fired": 1, "left": [0]}]
    (firing,) = told["firings"]
    assert firing == {"rule": 1, "op": "write", "path": "a/pids.max", "what": "error EIO", "pid": os.getpid()}
    assert run("ctl", tree, "fault", "remove", "1").returncode == 0
    assert run("ctl", tree, "fault", "list").stdout == "no rules are here\n"


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        (("add", "nonsense"), 2, "'nonsense': a rule is OP GLOB = TERM"),
        (("remove", "7"), 1, "no rule has the id '7'; there is none"),
        (("remove", "x"), 1, "no rule has the id 'x'; there is none"),
    ],
)
def test_a_wrong_command_is_one_line(tree: Path, words: tuple[str, ...], status: int, complaint: str) -> None:
    done = run("ctl", tree, "fault", *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1)
    assert complaint in done.stderr


def test_who_is_delayed_waits_and_others_do_not(tree: Path) -> None:
    add(tree, "write a/pids.max = 1*delay(30s)")
    written = threading.Event()

    def write() -> None:
        (tree / "a" / "pids.max").write_text("5")
        written.set()

    threading.Thread(target=write, daemon=True).start()
    wait_until(lambda: (tree / "a" / "pids.max").read_text() == "5\n")
    assert not written.is_set()


def test_a_delayed_call_ends_in_time(tree: Path) -> None:
    add(tree, "mkdir * = 1*delay(200ms)")
    began = time.monotonic()
    (tree / "b").mkdir()
    assert time.monotonic() - began >= 0.2
    (tree / "b" / "below").mkdir()


def test_a_cgroup_vanishes_between_mkdir_and_write(tree: Path) -> None:
    add(tree, "open a/pids.max = 1*vanish")
    with pytest.raises(OSError) as refused:
        (tree / "a" / "pids.max").write_text("5")
    assert refused.value.errno == ENODEV
    assert not (tree / "a").exists()


def test_a_file_appears_late(tree: Path) -> None:
    add(tree, "appear b/pids.max = delay(500ms)")
    (tree / "b").mkdir()
    assert "pids.max" not in os.listdir(tree / "b")
    wait_until((tree / "b" / "pids.max").exists)
    assert (tree / "b" / "pids.max").read_text() == "max\n"


def test_the_daemon_dies_as_told(tree: Path) -> None:
    daemon = daemon_of(tree)
    add(tree, "rmdir a = 1*panic")
    with pytest.raises(OSError) as refused:
        (tree / "a").rmdir()
    assert refused.value.errno in (ENOTCONN, ECONNABORTED)
    wait_until(lambda: not is_alive(daemon))


def test_a_file_that_was_open_before_the_first_rule_meets_none(tree: Path) -> None:
    with open(tree / "a" / "pids.max", "w") as file:
        add(tree, "write */pids.max = error(ENOMEM)")
        file.write("7")
    assert (tree / "a" / "pids.max").read_text() == "7\n"
