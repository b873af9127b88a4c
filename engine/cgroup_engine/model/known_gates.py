"""The feature gates that the kubelet of a release knows, and their states; read from ``known_gates.txt``.

``scripts/kubelet_gates`` makes the table from the sources of Kubernetes. Source of the rules: ``SetFromMap`` and
``Validate`` of ``k8s.io/component-base/featuregate``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path

TABLE = Path(__file__).with_name("known_gates.txt")
GONE = "gone"
NEWEST_KNOWN = 36  # the last release in the table


@functools.lru_cache(maxsize=4)
def gate_states(minor: int) -> Mapping[str, str]:
    """Gate -> state in a kubelet 1.``minor``, such as ``beta+`` or ``ga+!``: stage, default, ``!`` if it is locked."""
    known = {}
    for name, *changes in _lines():
        if name == "needs":
            continue
        states = [change.partition(":") for change in changes]
        passed = [state for since, _colon, state in states if int(since) <= minor]
        if passed and passed[-1] != GONE:
            known[name] = passed[-1]
    return known


@functools.lru_cache(maxsize=4)
def needed_gates(minor: int) -> Mapping[str, tuple[str, ...]]:
    """Gate -> the gates without which it cannot be on in a kubelet 1.``minor``. Kubelets before 1.35 do not ask."""
    needs: dict[str, tuple[str, ...]] = {}
    for word, *rest in _lines():
        if word == "needs" and int(rest[0]) <= minor:
            needs[rest[1]] = tuple(rest[2:])
    return {gate: needed for gate, needed in needs.items() if needed}


def releases_of(name: str) -> tuple[int, int | None] | None:
    """The first release that knows a gate, and the first one that does not any more; None for no gate of any."""
    for gate, *changes in _lines():
        if gate == name:
            since = int(changes[0].partition(":")[0])
            gone = changes[-1].partition(":")
            return since, int(gone[0]) if gone[2] == GONE else None
    return None


def _lines() -> Iterator[list[str]]:
    if not TABLE.exists():
        return
    for line in TABLE.read_text(encoding="ascii").splitlines():
        if not line.startswith("#"):
            yield line.split()
