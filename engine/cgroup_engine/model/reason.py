"""Why a cgroup has a value: the rule with its numbers, the kubelet's function, and the inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

Inputs = dict[str, str]  # field of a pod or of the node's configuration -> its text

CM = "pkg/kubelet/cm"


@dataclass(frozen=True)
class Citation:
    """A function of the kubelet, named as in 1.36 or where it is newer, and its file in kubernetes/kubernetes."""

    function: str
    file: str

    def __str__(self) -> str:
        return f"{self.function} ({self.file})" if self.file else self.function


THE_RUNTIME = Citation("the runtime", "")
SYSTEMD = Citation("systemd", "")


class Reason(NamedTuple):
    """The reason of a value. ``why``: the rule with the numbers filled in. ``source``: the kubelet's function with it.

    ``find_inputs`` collects the fields of pods and node that the rule read. It is called only on demand.
    """

    why: str
    source: Citation
    find_inputs: Callable[[], Inputs] = dict

    @property
    def inputs(self) -> Inputs:
        return self.find_inputs()


@dataclass(slots=True)  # not frozen: a node has tens of thousands, and freezing costs a third of their time
class Ruled(Generic[T]):
    """A value and its reason: the result of a rule."""

    value: T
    reason: Reason


def amounts(what: str, given: Mapping[str, object], name: str) -> Iterator[tuple[str, str]]:
    """One resource of ``what`` as an input; nothing if it is not given."""
    if name in given:
        yield f"{what}.{name}", str(given[name])


def setting(name: str, value: object) -> tuple[str, str]:
    """One setting of the node as an input, spelled as in YAML."""
    return name, str(value).lower() if isinstance(value, bool) else str(value)
