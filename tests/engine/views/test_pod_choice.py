"""Which container is meant by a name."""

from __future__ import annotations

import pytest

from cgroup_engine.change.record import RecordedContainer, RecordedPod
from cgroup_engine.errors import InputError
from cgroup_engine.views.pod_choice import chosen


def _pod(namespace: str, name: str, uid: str, *containers: str) -> RecordedPod:
    return RecordedPod(
        namespace, name, uid, f"kubepods/pod{uid}", tuple(RecordedContainer(c, c, 0) for c in containers)
    )


WEB = _pod("default", "web", "u1", "nginx")
TWO = _pod("default", "two", "u2", "a", "b")
PODS = [WEB, TWO, _pod("other", "two", "u3", "a")]


@pytest.mark.parametrize(
    "text", ["web", "u1", "default/web", "default/u1", "web/nginx", "u1/nginx", "default/web/nginx"]
)
def test_every_way_to_name_the_only_container(text: str) -> None:
    assert chosen(text, PODS) == (WEB, WEB.containers[0])


@pytest.mark.parametrize("text", ["two/b", "u2/b", "default/two/b"])
def test_one_of_several_containers(text: str) -> None:
    assert chosen(text, PODS) == (TWO, TWO.containers[1])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("default/two", "default/two: has 2 containers: a, b; write POD/CONTAINER"),
        ("two", '"two": can be default/two (u2), other/two (u3); write NAMESPACE/POD/CONTAINER, or the pod\'s UID'),
        ("two/a", '"two/a": can be default/two/a, other/two/a; write NAMESPACE/POD/CONTAINER, or the pod\'s UID'),
        ("web/x", '"web/x": default/web has no such container, but nginx'),
        ("default/web/x", '"default/web/x": default/web has no such container, but nginx'),
        ("nobody", '"nobody": is none of the 3 pods: default/web, default/two, other/two'),
        ("x/web/nginx", '"x/web/nginx": is none of the 3 pods: default/web, default/two, other/two'),
        ("a/b/c/d", '"a/b/c/d": is none of the 3 pods: default/web, default/two, other/two'),
        ("", '"": is none of the 3 pods: default/web, default/two, other/two'),
    ],
)
def test_what_means_none_or_several_is_said(text: str, why: str) -> None:
    with pytest.raises(InputError) as refused:
        chosen(text, PODS)
    assert str(refused.value) == why


def test_a_namespace_that_is_called_like_a_pod() -> None:
    pods = [_pod("web", "a", "u4", "c"), _pod("default", "web", "u5", "a")]
    with pytest.raises(InputError, match=r"can be web/a \(u4\), default/web/a; write"):
        chosen("web/a", pods)
    assert chosen("web/a/c", pods)[0] == pods[0]


def test_the_same_pod_below_two_cgroup_roots() -> None:
    with pytest.raises(
        InputError, match="can be /kubepods/podu1, /kubepods/podu1; give --pods and the --config of one"
    ):
        chosen("web", [WEB, WEB])


def test_without_pods_there_is_nothing_to_choose_from() -> None:
    with pytest.raises(InputError, match="there are no pods"):
        chosen("web", [])
    with pytest.raises(InputError, match="default/idle: has no container"):
        chosen("idle", [_pod("default", "idle", "u6")])


def test_many_pods_are_not_all_listed() -> None:
    with pytest.raises(InputError, match="p7 and 92 more"):
        chosen("x", [_pod("default", f"p{n}", f"u{n}", "c") for n in range(100)])
