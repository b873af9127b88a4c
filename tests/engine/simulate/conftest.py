"""A node with pods and what they would use, played."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.pod import Pod
from cgroup_engine.simulate.play import Played, play_node

Play = Callable[..., Played]


@pytest.fixture
def play(
    make_container: Callable[..., dict[str, Any]], make_pod: Callable[..., Pod], make_node: Callable[..., NodeConfig]
) -> Play:
    """Plays a usage on 2 CPUs and 1 GiB, with pods p1, p2, ... of one container ``c`` each, by their resources.

    Other words than requests and limits are of the pod's spec; annotations are the pod's.
    """

    def played(usage: str, *pods: dict[str, Any], config: dict[str, Any] | None = None, **options: Any) -> Played:
        node = replace(make_node(**(config or {})), cpus=2, memory=1 << 30)
        made = []
        for number, words in enumerate(pods or ({},), start=1):
            spec = dict(words)
            annotations = spec.pop("annotations", {})
            resources = {key: spec.pop(key) for key in ("requests", "limits") if key in spec}
            made.append(replace(make_pod(make_container("c", **resources), n=number, **spec), annotations=annotations))
        return play_node(node, made, usage, "usage.yaml", **options)

    return played
