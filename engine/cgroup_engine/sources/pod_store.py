"""The last good pods of each file or API object, and complaints about those that went bad."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cgroup_engine.errors import quoted
from cgroup_engine.kubelet.allocation import allocation_note
from cgroup_engine.model.pod import Pod
from cgroup_engine.sources.source import Seen


class PodStore:
    """Pods by origin: a file, or an object of the API server. An origin that goes bad keeps its last good pods.

    If two pods have one UID, the pod that was there first stays in force. Each complaint is told once, and again if it
    comes back after it was settled.
    """

    def __init__(self) -> None:
        self._held: dict[str, tuple[Pod, ...]] = {}
        self._unread: set[str] = set()
        self._complaints: dict[str, str] = {}
        self._notes: dict[str, list[str]] = {}
        self._doubles: set[str] = set()
        self._untold: list[str] = []
        self._owners: dict[str, tuple[str, str]] = {}  # UID -> origin and the pod's name

    def put(self, origin: str, pods: tuple[Pod, ...], more_notes: Sequence[str] = ()) -> None:
        """The origin is good and has these pods; told are ``more_notes``, and the pods whose resize is not allocated.

        A note is told again only if it was not one of the last time.
        """
        self._held[origin] = pods
        self._unread.discard(origin)
        self._complaints.pop(origin, None)
        notes = list(more_notes)
        notes += [f"{pod.source}: pod {pod}: {note}" for pod in pods if (note := allocation_note(pod))]
        self._untold += [note for note in notes if note not in self._notes.get(origin, ())]
        self._notes[origin] = notes

    def held(self, *, besides: str) -> Iterator[Pod]:
        """The last good pods of all other origins."""
        return (pod for origin, pods in self._held.items() if origin != besides for pod in pods)

    def expect(self, origin: str) -> None:
        """The origin may have pods that are not known yet."""
        if origin not in self._held:
            self._unread.add(origin)

    def complain(self, origin: str, text: str, todo: str = "", *, may_hold_pods: bool = True) -> None:
        """The origin went bad; its last good pods stay."""
        if may_hold_pods:
            self.expect(origin)
        else:
            self._unread.discard(origin)
        if self._complaints.get(origin) != text:
            self._complaints[origin] = text
            kept = len(self._held.get(origin, ()))
            if kept:
                text += f"; {'its pod stays' if kept == 1 else f'its {kept} pods stay'} in force"
            self._untold.append(f"{text}; {todo}" if todo else text)

    def drop(self, origin: str) -> None:
        """The origin is gone, and its pods with it."""
        self._held.pop(origin, None)
        self._unread.discard(origin)
        self._complaints.pop(origin, None)
        self._notes.pop(origin, None)

    def keep_only(self, origins: set[str]) -> None:
        """All other origins are gone."""
        for origin in (self._held.keys() | self._unread | self._complaints.keys()) - origins:
            self.drop(origin)

    def seen(self) -> Seen:
        """The pods in force, and the complaints since the last call."""
        pods = self._without_doubles()
        told, self._untold = tuple(self._untold), []
        return Seen(pods, told, complete=not self._unread)

    def _without_doubles(self) -> tuple[Pod, ...]:
        chosen: dict[str, tuple[str, Pod]] = {}
        doubles: list[Pod] = []
        for origin, pods in self._held.items():
            for pod in pods:
                other = chosen.setdefault(pod.uid, (origin, pod))[1]
                if other is pod:
                    continue
                if self._owners.get(pod.uid) == (origin, str(pod)) and self._owners[pod.uid] != _owner(chosen[pod.uid]):
                    chosen[pod.uid] = origin, pod
                    pod = other
                doubles.append(pod)
        self._owners = {uid: _owner(each) for uid, each in chosen.items()}
        lines = dict.fromkeys(_double(pod, chosen[pod.uid][1]) for pod in doubles)
        self._untold += [line for line in lines if line not in self._doubles]
        self._doubles = set(lines)
        return tuple(pod for _, pod in chosen.values())


def _owner(chosen: tuple[str, Pod]) -> tuple[str, str]:
    origin, pod = chosen
    return origin, str(pod)


def _double(pod: Pod, other: Pod) -> str:
    uid = f"metadata.uid {quoted(pod.uid)}"
    return (
        f"{pod.source}: pod {pod}: {uid} is also that of {other} in {other.source}, which stays in force; "
        "give every pod its own UID"
    )
