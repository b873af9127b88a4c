"""cpu_manager_state: which CPUs the static CPU manager gave to whom.

Source: ``pkg/kubelet/cm/cpumanager/state/checkpoint.go`` and ``state_checkpoint.go``, and validateState of
``policy_static.go``. Three formats: by container id (up to 1.17), by pod and container, and since 1.36 with the gate
PodLevelResourceManagers with CPUs of pods too. A kubelet reads the former formats. What 1.37 adds is not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cgroup_engine.errors import quoted
from cgroup_engine.inputs.manager_state.checkpoint import Checkpoint, printed_map, printed_struct
from cgroup_engine.model.cpu_list import cpu_list, parse_cpu_list
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.manager_state import CpuManagerState

_Assigned = Mapping[str, Mapping[str, str]]
_MOST_CPUS = 8192  # NR_CPUS of the largest kernels
_MOST_ASSIGNED = 1 << 20
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", re.ASCII)


def read_cpu_manager_state(path: Path, version: KubeletVersion) -> CpuManagerState:
    """The state in a file, as a kubelet of ``version`` restores it.

    :raises ConfigError: it cannot be read, or the kubelet would not start with it.
    """
    return _Reader(Checkpoint(path)).state(version)


class _Reader:
    """Reads one file; it counts the CPUs in it, as strangers may write lists that take long to read."""

    def __init__(self, file: Checkpoint) -> None:
        self.file = file
        self.seen = 0

    def state(self, version: KubeletVersion) -> CpuManagerState:
        file = self.file
        entries = file.mapping(file.fields.get("entries", {}), "entries")
        by_id: dict[str, str] = {}
        assigned: dict[str, dict[str, str]] = {}
        pods: dict[str, str] = {}
        if entries and all(isinstance(value, str) for value in entries.values()):
            by_id = dict(entries)
            file.verify([self.printed(by_id=by_id)], zero=True)
        else:
            assigned = self.of_pods(entries)
            pods = self.verified(assigned, version)
        state = CpuManagerState(
            file.text("policyName"),
            self.cpus(file.text("defaultCpuSet"), "defaultCpuSet"),
            {
                uid: {name: self.cpus(cpus, f"entries.{uid}.{name}") for name, cpus in of_pod.items()}
                for uid, of_pod in assigned.items()
            },
            {container: self.cpus(cpus, f"entries.{container}") for container, cpus in by_id.items()},
            {uid: self.cpus(cpus, f"podEntries.{uid}") for uid, cpus in pods.items()},
        )
        self.check(state)
        return state

    def of_pods(self, entries: Mapping[str, Any]) -> dict[str, dict[str, str]]:
        file = self.file
        return {
            uid: {
                name: file.of_text(cpus, f"entries.{uid}.{name}")
                for name, cpus in file.mapping(of_pod, f"entries.{uid}").items()
            }
            for uid, of_pod in entries.items()
        }

    def verified(self, assigned: _Assigned, version: KubeletVersion) -> dict[str, str]:
        """Verifies the checksum; returns the CPUs of pods, which only the newest format has."""
        file = self.file
        texts = [self.printed(assigned)]
        if not assigned:
            texts.append(self.printed(by_id={}))
        if not version.enabled("PodLevelResourceManagers"):
            if version.at_least(36):  # it accepts its own name of the format too
                texts.append(self.printed(assigned, name="V2"))
            file.verify(texts, zero=True)
            return {}
        pods = {
            uid: file.of_text(file.mapping(entry, f"podEntries.{uid}").get("cpuSet", ""), f"podEntries.{uid}")
            for uid, entry in file.mapping(file.fields.get("podEntries", {}), "podEntries").items()
        }
        if not file.matches([self.printed(assigned, pods)]):
            file.verify(texts, zero=True)  # a kubelet migrates the former format, and keeps podEntries
        return pods

    def printed(
        self,
        assigned: _Assigned | None = None,
        pods: Mapping[str, str] | None = None,
        *,
        by_id: Mapping[str, str] | None = None,
        name: str = "",
    ) -> str:
        """CPUManagerCheckpoint as spew prints it; ``by_id`` and ``pods``: in the oldest and in the newest format."""
        if by_id is not None:
            entries = f"(map[string]string){printed_map(by_id)}"
        else:
            each = {uid: printed_map(of_pod) for uid, of_pod in (assigned or {}).items()}
            entries = f"(map[string]map[string]string){printed_map(each)}"
        fields = {
            "PolicyName": f"(string){self.file.text('policyName')}",
            "DefaultCPUSet": f"(string){self.file.text('defaultCpuSet')}",
            "Entries": entries,
        }
        if pods is not None:
            of_pods = {uid: self.printed_pod(cpus, uid) for uid, cpus in pods.items()}
            fields["PodEntries"] = f"(state.PodCPUAssignments){printed_map(of_pods)}"
        fields["Checksum"] = "(checksum.Checksum)0"
        return f"(*state.CPUManagerCheckpoint{name}){printed_struct(fields)}"

    def printed_pod(self, cpus: str, uid: str) -> str:
        numbers = self.numbers(cpus, f"podEntries.{uid}")
        return f"{{CPUSet:(cpuset.CPUSet){{elems:(map[int]struct {{}}){printed_map(dict.fromkeys(numbers, '{}'))}}}}}"

    def cpus(self, text: str, spot: str) -> str:
        return cpu_list(self.numbers(text, spot))

    def numbers(self, text: str, spot: str) -> frozenset[int]:
        try:
            self.count(text)
            return parse_cpu_list(text)
        except ValueError:
            raise self.file.refused(f"{spot}: {quoted(text)} is no list of CPUs") from None

    def count(self, text: str) -> None:
        """Counts the CPUs of a list before they are made.

        :raises ValueError: these are more than a node has.
        """
        for first, last in _RANGE.findall(text):
            self.seen += 1 + int(last or first) - int(first)
            if int(last or first) >= _MOST_CPUS or self.seen > _MOST_ASSIGNED:
                raise ValueError(text)

    def check(self, state: CpuManagerState) -> None:
        """validateState: assigned CPUs are not among the shared ones, and some are shared if some are assigned."""
        shared = parse_cpu_list(state.shared)
        if not shared and state.containers:
            raise self.file.refused("has no shared CPUs (defaultCpuSet)")
        for uid, of_pod in state.containers.items():
            for name, cpus in of_pod.items():
                if both := shared & parse_cpu_list(cpus):
                    who = f"{quoted(uid)}, {quoted(name)}"
                    raise self.file.refused(f"gives CPUs {cpu_list(both)} to {who}, and shares them too")
