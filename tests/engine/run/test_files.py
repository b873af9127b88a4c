"""Pods from files that come, change, vanish and lie."""

from __future__ import annotations

import os
import select
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from cgroup_engine.errors import PodError
from cgroup_engine.inputs.static_pods.manifest import Manifests
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.sources.files import QUIET, pod_source

from .watching import Watching

Follow = Callable[..., Watching]


@pytest.fixture
def follow() -> Iterator[Follow]:
    opened = []

    def start(*paths: Path, manifests: Manifests | None = None) -> Watching:
        source = pod_source(paths, KubeletVersion(), manifests)
        opened.append(source)
        return Watching(source)

    yield start
    for source in opened:
        source.close()


@pytest.fixture
def pods(tmp_path: Path) -> Path:
    directory = tmp_path / "pods"
    directory.mkdir()
    return directory


@pytest.fixture
def put(make_object: Callable[..., dict[str, Any]]) -> Callable[..., None]:
    """Writes pods of the given numbers into a file, as an editor does: beside it, then renamed."""

    def write(path: Path, *numbers: int) -> None:
        beside = path.parent / f".{path.name}.new"
        beside.write_text(yaml.safe_dump_all([make_object(n=n) for n in numbers]))
        beside.rename(path)

    return write


def test_pods_are_there_at_the_first_look(pods: Path, put: Callable[..., None], follow: Follow) -> None:
    put(pods / "a.yaml", 1, 2)
    put(pods / "b.json", 3)
    seen = follow(pods).seen
    assert [pod.name for pod in seen.pods or ()] == ["p1", "p2", "p3"]
    assert (seen.complaints, seen.complete) == ((), True)


def test_a_file_that_comes_brings_its_pods_and_one_that_goes_takes_them(
    pods: Path, put: Callable[..., None], follow: Follow
) -> None:
    watching = follow(pods)
    put(pods / "a.yaml", 1)
    watching.until(lambda: watching.names == ["p1"])
    put(pods / "b.yaml", 2)
    watching.until(lambda: watching.names == ["p1", "p2"])
    (pods / "a.yaml").unlink()
    watching.until(lambda: watching.names == ["p2"])
    assert watching.complaints == []


def test_a_file_that_is_named_itself_is_followed_through_renames(
    tmp_path: Path, put: Callable[..., None], follow: Follow
) -> None:
    file = tmp_path / "pod.yaml"
    put(file, 1)
    watching = follow(file)
    put(file, 2)
    watching.until(lambda: watching.names == ["p2"])
    file.write_text(yaml.safe_dump({}))  # in place
    watching.until_complaint("is not a Pod")
    put(file, 3)
    watching.until(lambda: watching.names == ["p3"])
    file.unlink()
    watching.until(lambda: watching.names == [])
    put(file, 1)
    watching.until(lambda: watching.names == ["p1"])


def test_nothing_to_read_means_nothing_new(pods: Path, put: Callable[..., None], follow: Follow) -> None:
    put(pods / "a.yaml", 1)
    watching = follow(pods)
    assert select.select([watching.source], [], [], 0.1)[0] == []
    (pods / "a.txt").write_text("not a pod's")
    (pods / ".b.yaml").write_text("hidden")
    watching.until(lambda: not select.select([watching.source], [], [], 2 * QUIET)[0])
    assert watching.complaints == []


def test_a_bad_file_keeps_the_pods_it_had_and_is_told_once(
    pods: Path, put: Callable[..., None], follow: Follow
) -> None:
    put(pods / "a.yaml", 1, 2)
    put(pods / "b.yaml", 3)
    watching = follow(pods)
    (pods / "a.yaml").write_text("kind: [")
    complaint = watching.until_complaint("a.yaml, line 2: is not YAML")
    assert "its 2 pods stay in force" in complaint
    assert "\n" not in complaint
    (pods / "a.yaml").write_text("kind: [ ")
    put(pods / "b.yaml", 4)
    watching.until(lambda: watching.names == ["p1", "p2", "p4"])
    watching.until(lambda: not select.select([watching.source], [], [], 2 * QUIET)[0])
    assert watching.complaints == [complaint]
    put(pods / "a.yaml", 1)
    watching.until(lambda: watching.names == ["p1", "p4"])
    (pods / "a.yaml").write_text("kind: [")
    watching.until(lambda: len(watching.complaints) == 2)  # told again, as it was good in between


def test_a_file_that_was_never_good_leaves_the_picture_incomplete(
    pods: Path, put: Callable[..., None], follow: Follow
) -> None:
    put(pods / "a.yaml", 1)
    (pods / "b.yaml").write_text("apiVersion: v1\nkind: Po")
    watching = follow(pods)
    assert (watching.names, watching.seen.complete) == (["p1"], False)
    watching.until_complaint("b.yaml")
    assert not watching.seen.complete
    put(pods / "b.yaml", 2)
    watching.until(lambda: watching.seen.complete)
    assert watching.names == ["p1", "p2"]


def test_a_half_written_file_is_not_complained_about(
    pods: Path, put: Callable[..., None], follow: Follow, make_object: Callable[..., dict[str, Any]]
) -> None:
    text = yaml.safe_dump_all([make_object(n=1), make_object(n=2)])
    put(pods / "a.yaml", 1, 2)
    watching = follow(pods)
    shown = set()
    with (pods / "a.yaml").open("w") as file:
        for start in range(0, len(text), 40):
            file.write(text[start : start + 40])
            file.flush()
            time.sleep(0.01)
            watching.look()
            shown.add(tuple(watching.names or ()))
    watching.until(lambda: not select.select([watching.source], [], [], 2 * QUIET)[0])
    assert shown == {("p1", "p2")}
    assert watching.complaints == []


def test_a_file_that_is_open_for_writing_is_not_believed_for_a_while(
    pods: Path, put: Callable[..., None], follow: Follow, make_object: Callable[..., dict[str, Any]]
) -> None:
    put(pods / "a.yaml", 1, 2)
    watching = follow(pods)
    with (pods / "a.yaml").open("w") as file:
        file.write(yaml.safe_dump(make_object(n=1)))
        file.flush()
        watching.until(lambda: not select.select([watching.source], [], [], 2 * QUIET)[0])
        assert watching.names == ["p1", "p2"]
    watching.until(lambda: watching.names == ["p1"])


def test_a_file_that_is_removed_and_written_again_keeps_its_pods(
    pods: Path, put: Callable[..., None], follow: Follow
) -> None:
    put(pods / "a.yaml", 1)
    watching = follow(pods)
    (pods / "a.yaml").unlink()
    watching.look()
    assert watching.names == ["p1"]
    put(pods / "a.yaml", 1, 2)
    watching.until(lambda: watching.names == ["p1", "p2"])


def test_a_directory_that_vanishes_keeps_everything_in_force_until_it_is_back(
    pods: Path, put: Callable[..., None], follow: Follow
) -> None:
    put(pods / "a.yaml", 1)
    put(pods / "b.yaml", 2)
    watching = follow(pods)
    away = pods.with_name("away")
    pods.rename(away)
    assert "what was in it stays in force" in watching.until_complaint(f"{pods}: cannot be read")
    assert watching.names == ["p1", "p2"]
    (away / "b.yaml").unlink()
    away.rename(pods)
    watching.until(lambda: watching.names == ["p1"])
    assert len(watching.complaints) == 1


def test_a_directory_that_is_removed_with_its_files_keeps_them_in_force(
    pods: Path, put: Callable[..., None], follow: Follow
) -> None:
    put(pods / "a.yaml", 1)
    watching = follow(pods)
    (pods / "a.yaml").unlink()
    pods.rmdir()
    watching.until_complaint("cannot be read")
    assert watching.names == ["p1"]
    pods.mkdir()
    watching.until_complaint("was replaced by an empty directory")
    assert watching.names == ["p1"]
    put(pods / "b.yaml", 2)
    watching.until(lambda: watching.names == ["p2"])


def test_a_config_map_is_followed_through_its_links(pods: Path, put: Callable[..., None], follow: Follow) -> None:
    def publish(name: str, *numbers: int) -> None:
        (pods / name).mkdir()
        put(pods / name / "pod.yaml", *numbers)
        (pods / "..data_tmp").symlink_to(name)
        (pods / "..data_tmp").rename(pods / "..data")

    publish("..2026_1", 1)
    (pods / "pod.yaml").symlink_to("..data/pod.yaml")
    watching = follow(pods)
    assert watching.names == ["p1"]
    publish("..2026_2", 2)
    watching.until(lambda: watching.names == ["p2"])
    assert watching.complaints == []


def test_a_directory_behind_a_link_is_followed_when_the_link_is_swapped(
    tmp_path: Path, put: Callable[..., None], follow: Follow
) -> None:
    for name, n in (("one", 1), ("two", 2)):
        (tmp_path / name).mkdir()
        put(tmp_path / name / "a.yaml", n)
    link = tmp_path / "pods"
    link.symlink_to("one")
    watching = follow(link)
    (tmp_path / "new").symlink_to("two")
    (tmp_path / "new").rename(link)
    watching.until(lambda: watching.names == ["p2"])


def test_a_link_that_leads_out_is_not_followed(
    tmp_path: Path, pods: Path, put: Callable[..., None], follow: Follow
) -> None:
    put(tmp_path / "outside.yaml", 1)
    (pods / "a.yaml").symlink_to("../outside.yaml")
    (pods / "b.yaml").symlink_to(tmp_path / "outside.yaml")
    (tmp_path / "sibling").mkdir()
    (pods / "..data").symlink_to(tmp_path / "sibling")
    put(tmp_path / "sibling" / "c.yaml", 2)
    (pods / "c.yaml").symlink_to("..data/c.yaml")
    watching = follow(pods)
    watching.until(lambda: len(watching.complaints) == 3)
    assert all("leads out of its directory" in text for text in watching.complaints)
    assert watching.names == []
    assert watching.seen.complete  # whoever ran before did not follow them either


def test_a_good_file_that_becomes_a_link_out_keeps_its_pods(
    tmp_path: Path, pods: Path, put: Callable[..., None], follow: Follow
) -> None:
    put(pods / "a.yaml", 1)
    put(tmp_path / "outside.yaml", 2)
    watching = follow(pods)
    (pods / "a.yaml").unlink()
    (pods / "a.yaml").symlink_to("../outside.yaml")
    assert "its pod stays in force" in watching.until_complaint("leads out")
    assert watching.names == ["p1"]


def test_what_is_no_file_is_complained_about_and_never_blocks(
    pods: Path, put: Callable[..., None], follow: Follow
) -> None:
    put(pods / "a.yaml", 1)
    os.mkfifo(pods / "fifo.yaml")
    (pods / "directory.yaml").mkdir()
    (pods / "zero.yaml").symlink_to("/dev/zero")
    (pods / "nothing.yaml").symlink_to("nothing")
    (pods / "itself.yaml").symlink_to("itself.yaml")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(pods / "socket.yaml"))
        watching = follow(pods)
        watching.until(lambda: len(watching.complaints) == 6)
    told = " | ".join(sorted(text.removeprefix(f"{pods}/") for text in watching.complaints))
    assert "directory.yaml: is a directory, not a file" in told
    assert "fifo.yaml: is a fifo, not a file" in told
    assert "itself.yaml: cannot be read: Too many levels of symbolic links" in told
    assert "nothing.yaml: cannot be read: No such file" in told
    assert "socket.yaml: is a socket, not a file" in told
    assert "zero.yaml: is a link that leads out" in told
    assert watching.names == ["p1"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x" * ((10 << 20) + 1), "larger than 10 MiB"),
        ("[" + "x," * 500_001 + "]", "more than 500000 values"),
        ("[" * 5000, "nested too deeply"),
        (
            "a0: &a0 {x: 1}\n"
            + "\n".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)),
            "repeat more than 100000 keys",
        ),
        ("\x00", "is not YAML"),
        ("", "is empty"),
    ],
)
def test_bombs_and_rubbish_are_one_line_each(
    pods: Path, put: Callable[..., None], follow: Follow, content: str, message: str
) -> None:
    put(pods / "a.yaml", 1)
    watching = follow(pods)
    (pods / "b.yaml").write_text(content)
    assert "\n" not in watching.until_complaint(message)
    assert watching.names == ["p1"]


def test_a_sparse_file_is_not_read_whole(pods: Path, put: Callable[..., None], follow: Follow) -> None:
    put(pods / "a.yaml", 1)
    with (pods / "b.yaml").open("wb") as file:
        file.truncate(1 << 40)
    watching = follow(pods)
    watching.until_complaint("larger than 10 MiB")
    assert watching.names == ["p1"]


def test_of_two_pods_with_one_uid_the_one_in_force_stays(
    pods: Path, put: Callable[..., None], follow: Follow, make_object: Callable[..., dict[str, Any]]
) -> None:
    put(pods / "b.yaml", 1)
    watching = follow(pods)
    other = make_object(n=1)
    other["metadata"]["name"] = "other"
    (pods / "a.yaml").write_text(yaml.safe_dump_all([other, make_object(n=2)]))
    watching.until_complaint(f"{pods}/a.yaml: pod default/other: metadata.uid")
    assert watching.names == ["p1", "p2"]
    (pods / "b.yaml").unlink()
    watching.until(lambda: watching.names == ["other", "p2"])
    put(pods / "b.yaml", 1)
    watching.until_complaint(f"{pods}/b.yaml: pod default/p1: metadata.uid")
    assert watching.names == ["other", "p2"]
    assert len(watching.complaints) == 2


def test_a_pod_keeps_its_uid_in_a_file_with_two_of_it(
    pods: Path, put: Callable[..., None], follow: Follow, make_object: Callable[..., dict[str, Any]]
) -> None:
    put(pods / "a.yaml", 1)
    watching = follow(pods)
    other = make_object(n=1)
    other["metadata"]["name"] = "other"
    (pods / "a.yaml").write_text(yaml.safe_dump_all([other, make_object(n=1)]))
    watching.until_complaint("pod default/other: metadata.uid")
    assert watching.names == ["p1"]


def test_a_static_pod_has_the_uid_of_its_path(
    pods: Path, put: Callable[..., None], follow: Follow, make_object: Callable[..., dict[str, Any]]
) -> None:
    item = make_object()
    del item["metadata"]["uid"]
    (pods / "a.yaml").write_text(yaml.safe_dump(item))
    watching = follow(pods, manifests=Manifests("node", "/etc/kubernetes/manifests"))
    assert watching.names == ["p1-node"]
    uid = watching.pods[0].uid
    (pods / "a.yaml").rename(pods / "b.yaml")
    watching.until(lambda: watching.pods[0].uid != uid)
    assert watching.names == ["p1-node"]


@pytest.mark.parametrize("missing", ["none", "none/at/all"])
def test_a_path_that_does_not_exist_at_the_start_is_an_error(tmp_path: Path, missing: str) -> None:
    with pytest.raises(PodError, match=r"cannot be read: No such file"):
        pod_source([tmp_path, tmp_path / missing], KubeletVersion())


def test_a_path_that_is_no_file_at_the_start_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(PodError, match=r"is a fifo, not a file"):
        pod_source([tmp_path / "fifo"], KubeletVersion())


def test_without_inotify_files_are_looked_at_now_and_then(
    pods: Path, put: Callable[..., None], follow: Follow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("cgroup_engine.sources.path_watch.INotify", refuse)
    monkeypatch.setattr("cgroup_engine.sources.files._AGAIN", 0.2)
    watching = follow(pods)
    assert watching.complaints[0].startswith("inotify: Too many open files")
    assert watching.seen.complete
    put(pods / "a.yaml", 1)
    watching.until(lambda: watching.names == ["p1"])


@pytest.mark.parametrize("seed", range(2))
def test_after_any_history_what_is_in_force_is_what_each_file_said_last(
    pods: Path, put: Callable[..., None], follow: Follow, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("cgroup_engine.sources.files.QUIET", 0.02)
    random = Random(seed)
    watching = follow(pods)
    said: dict[str, set[str]] = {}
    away = pods.with_name("away")
    for _ in range(25):
        name, n = random.choice("abc") + ".yaml", random.randint(1, 3)
        numbers = {"a.yaml": (n,), "b.yaml": (n + 10, n + 20), "c.yaml": (n + 30,)}[name]
        file = pods / name
        match random.choice(["put", "put", "remove", "break", "write", "link", "away", "replace"]):
            case "put":
                put(file, *numbers)
                said[name] = {f"p{number}" for number in numbers}
            case "write" if file.exists():
                put(pods / "x", *numbers)
                file.write_text((pods / "x").read_text())
                said[name] = {f"p{number}" for number in numbers}
            case "remove":
                file.unlink(missing_ok=True)
                said.pop(name, None)
            case "break":
                file.unlink(missing_ok=True)
                file.write_text(random.choice(["", "{", "kind: Pod", "\x00", "[" * 600]))
            case "link":
                (pods / "hidden").mkdir(exist_ok=True)
                put(pods / "hidden" / name, *numbers)
                file.unlink(missing_ok=True)
                file.symlink_to(random.choice([f"hidden/{name}", str(pods / "hidden" / name)]))
                said[name] = {f"p{number}" for number in numbers}
            case "away":
                pods.rename(away)
                watching.until(lambda: not select.select([watching.source], [], [], 0.1)[0])
                away.rename(pods)
            case "replace" if said:
                pods.rename(away)
                pods.mkdir()
                watching.until(lambda: not select.select([watching.source], [], [], 0.1)[0])
                shutil.copytree(away, pods, symlinks=True, dirs_exist_ok=True)
                shutil.rmtree(away)
        watching.until(lambda: not select.select([watching.source], [], [], 0.1)[0])
        assert watching.names == sorted(set().union(*said.values()))
    assert all("\n" not in text for text in watching.complaints)


def test_what_is_left_out_of_a_file_is_counted_and_told_once(
    pods: Path, make_object: Callable[..., dict[str, Any]], follow: Follow
) -> None:
    waiting = make_object(n=2)
    waiting["metadata"]["resourceVersion"] = "7"
    listed = {"kind": "List", "items": [make_object(n=1), waiting, {"kind": "Node"}]}
    (pods / "a.yaml").write_text(yaml.safe_dump(listed))
    watching = follow(pods)
    (pods / "a.yaml").write_text(yaml.safe_dump(listed) + "# written again\n")
    (pods / "b.yaml").write_text(yaml.safe_dump(make_object(n=3)))
    watching.until(lambda: watching.names == ["p1", "p3"])
    assert watching.complaints == [
        f"{pods}/a.yaml: 1 object is no pod, and left out: 1 Node",
        f"{pods}/a.yaml: 1 pod is not scheduled to a node yet, and left out",
    ]
