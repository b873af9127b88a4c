"""The claim on a kubepods, before anything is changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.change.ownership import kubepods_path, owning
from cgroup_engine.cli import main
from cgroup_engine.cli import ownership as of_commands
from cgroup_engine.errors import LockedError, NotOursError
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.kubelet.wanted import wanted_tree
from cgroup_engine.model.pod import Pod
from cgroup_engine.tree.found import FoundTree
from cgroup_engine.tree.fs import OsFs
from cgroup_engine.tree.layout import detect

NODE = ["--cpus", "3", "--memory", "8Gi", "--max-pids", "32768"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory that looks like a cgroup v2 root with an empty kubepods."""
    root = tmp_path / "cgroup"
    for directory in (root, root / "kubepods"):
        directory.mkdir()
        (directory / "cgroup.controllers").write_text("cpu memory pids\n")
        (directory / "cgroup.subtree_control").write_text("\n")
        (directory / "cgroup.procs").write_text("")
    return root


@pytest.fixture
def own(root: Path, tmp_path: Path) -> Callable[..., Any]:
    """Claims kubepods anew each time."""

    def make(refuse_foreign: bool = True) -> Any:
        found = FoundTree(OsFs(str(root)), detect(OsFs(str(root)), str(root)))
        state = tmp_path / "state"
        return owning(found, "kubepods", str(root), state, refuse_foreign=refuse_foreign, otherwise="do this or that")

    return make


def test_an_empty_kubepods_is_nobodys(own: Callable[..., Any]) -> None:
    with own() as ownership:
        assert not ownership.recorded


def test_a_kubepods_with_cgroups_that_is_not_recorded_is_refused_with_what_to_do(
    own: Callable[..., Any], root: Path
) -> None:
    (root / "kubepods" / "burstable").mkdir()
    (root / "kubepods" / "podx").mkdir()
    with pytest.raises(NotOursError) as refused, own():
        pass
    assert "/kubepods holds 2 cgroups, such as burstable, and no record in" in str(refused.value)
    assert str(refused.value).endswith("says that this engine made it; do this or that")


def test_a_kubepods_with_a_process_is_refused_too(own: Callable[..., Any], root: Path) -> None:
    (root / "kubepods" / "cgroup.procs").write_text("4711\n")
    with pytest.raises(NotOursError, match="holds process 4711"), own():
        pass


def test_a_foreign_kubepods_can_be_taken_over_for_good(
    own: Callable[..., Any], root: Path, make_node: Callable[..., NodeConfig]
) -> None:
    (root / "kubepods" / "burstable").mkdir()
    with own(refuse_foreign=False) as ownership:
        ownership.record(wanted_tree(make_node(), []))
    with own() as ownership:
        assert ownership.recorded
        assert ownership.taken_over


def test_an_empty_kubepods_is_not_taken_over(own: Callable[..., Any], make_node: Callable[..., NodeConfig]) -> None:
    with own(refuse_foreign=False) as ownership:
        ownership.record(wanted_tree(make_node(), []))
    with own() as ownership:
        assert not ownership.taken_over


def test_nobody_else_works_there_meanwhile(own: Callable[..., Any]) -> None:
    with own(), pytest.raises(LockedError), own():
        pass


def test_what_is_recorded_is_not_written_again(
    own: Callable[..., Any], tmp_path: Path, make_node: Callable[..., NodeConfig], make_pod: Callable[..., Pod]
) -> None:
    with own() as ownership:
        ownership.record(wanted_tree(make_node(), [make_pod()]))
        [file] = (tmp_path / "state").iterdir()
        file.unlink()
        ownership.record(wanted_tree(make_node(), [make_pod()]))
        assert not file.exists()
        ownership.record(wanted_tree(make_node(), []))
        assert file.exists()


def test_a_pod_that_is_not_wanted_is_recorded_until_its_cgroup_is_gone(
    own: Callable[..., Any],
    root: Path,
    tmp_path: Path,
    make_node: Callable[..., NodeConfig],
    make_pod: Callable[..., Pod],
) -> None:
    (root / "kubepods" / "besteffort").mkdir()
    with own(refuse_foreign=False) as ownership:
        ownership.record(wanted_tree(make_node(), [make_pod(), make_pod(n=2)]))
        pods = [path for path in ownership.recorded_paths if path.count("/") == 2]
        (root / pods[0]).mkdir()
        ownership.record(wanted_tree(make_node(), []))
        assert [path for path in ownership.recorded_paths if path.count("/") == 2] == pods[:1]
        (root / pods[0]).rmdir()
        ownership.record(wanted_tree(make_node(), []))
        assert ownership.recorded_paths == []


def test_the_record_goes_with_kubepods_and_not_before(
    own: Callable[..., Any], root: Path, tmp_path: Path, make_node: Callable[..., NodeConfig]
) -> None:
    with own() as ownership:
        ownership.record(wanted_tree(make_node(), []))
        ownership.forget()
        assert list((tmp_path / "state").iterdir()) != []
        (root / "kubepods").rename(root / "gone")
        ownership.forget()
        assert list((tmp_path / "state").iterdir()) == []


@pytest.mark.parametrize(
    ("driver", "path"), [("cgroupfs", "own/kubepods"), ("systemd", "own.slice/own-kubepods.slice")]
)
def test_kubepods_has_the_drivers_name(make_node: Callable[..., NodeConfig], driver: str, path: str) -> None:
    assert kubepods_path(make_node(driver=driver, cgroupRoot="/own")) == path


@pytest.mark.parametrize("command", ["apply", "down"])
def test_a_command_refuses_a_foreign_kubepods_of_the_machine_only(
    root: Path, example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (root / "kubepods" / "other").mkdir()
    arguments = [command, "--root", str(root), *NODE, *([str(example / "three-pods.yaml")] * (command == "apply"))]
    main(arguments)
    assert "no record" not in capsys.readouterr().err
    monkeypatch.setattr(of_commands, "MACHINE_ROOT", str(root.parent))
    monkeypatch.setenv("CGROUP_ENGINE_STATE_DIR", str(root.parent / "none yet"))
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert "no record" in error
    assert "give --take-over if it shall manage it all the same" in error
    assert error.count("\n") == 1
    main([*arguments, "--take-over"])
    assert "no record" not in capsys.readouterr().err


def test_a_second_engine_is_one_line_and_exit_code_1(
    root: Path, example: Path, own: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with own():
        assert main(["apply", "--root", str(root), *NODE, str(example / "three-pods.yaml")]) == 1
        assert main(["down", "--root", str(root), *NODE]) == 1
        lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all("is at work on /kubepods; end it first" in line for line in lines)


def test_looking_takes_no_lock(
    root: Path, example: Path, own: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with own():
        for command in ("plan", "status"):
            assert main([command, "--root", str(root), *NODE, str(example / "three-pods.yaml")]) == 0
