"""memory_manager_state: on which NUMA nodes the static memory manager put whose memory.

Source: ``pkg/kubelet/cm/memorymanager/state/checkpoint.go`` and ``state_checkpoint.go``. Two formats: of containers,
and since 1.36 with the gate PodLevelResourceManagers with blocks of pods too. What 1.37 adds is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cgroup_engine.inputs.manager_state.checkpoint import Checkpoint, printed_map, printed_struct
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.manager_state import MemoryManagerState

_TABLE = {
    "TotalMemSize": "total",
    "SystemReserved": "systemReserved",
    "Allocatable": "allocatable",
    "Reserved": "reserved",
    "Free": "free",
}


def read_memory_manager_state(path: Path, version: KubeletVersion) -> MemoryManagerState:
    """The state in a file, as a kubelet of ``version`` restores it.

    :raises ConfigError: it cannot be read, or the kubelet would not start with it.
    """
    file = Checkpoint(path)
    entries = {
        uid: {
            name: file.list(blocks, f"entries.{uid}.{name}")
            for name, blocks in file.mapping(of_pod, f"entries.{uid}").items()
        }
        for uid, of_pod in file.mapping(file.fields.get("entries", {}), "entries").items()
    }
    if version.enabled("PodLevelResourceManagers"):
        pods = {
            uid: file.list(file.mapping(entry, f"podEntries.{uid}").get("memoryBlocks", []), f"podEntries.{uid}")
            for uid, entry in file.mapping(file.fields.get("podEntries", {}), "podEntries").items()
        }
        if not file.matches([_printed(file, "", entries, pods)]):
            file.verify([_printed(file, "", entries)], zero=True)
    else:
        # 1.36 accepts its own name of the format, and a missing checksum
        newer = version.at_least(36)
        names = ["", "V1"] if newer else [""]
        file.verify([_printed(file, name, entries) for name in names], zero=newer)
    return MemoryManagerState(
        file.text("policyName"),
        {
            uid: {name: _nodes(file, blocks, f"entries.{uid}.{name}") for name, blocks in of_pod.items()}
            for uid, of_pod in entries.items()
        },
    )


def _nodes(file: Checkpoint, blocks: list[Any], spot: str) -> tuple[int, ...]:
    """GetMemoryNUMANodes: the nodes of all blocks."""
    return tuple(sorted({node for block in blocks for node in _affinity(file, file.mapping(block, spot), spot)}))


def _affinity(file: Checkpoint, block: Mapping[str, Any], spot: str) -> list[int]:
    nodes = file.list(block.get("numaAffinity"), f"{spot}.numaAffinity")
    return [file.number(node, f"{spot}.numaAffinity") for node in nodes]


def _printed(
    file: Checkpoint,
    name: str,
    entries: Mapping[str, Mapping[str, list[Any]]],
    pods: Mapping[str, list[Any]] | None = None,
) -> str:
    """MemoryManagerCheckpoint as spew prints it; ``pods``: in the format with blocks of pods."""
    machine = file.mapping(file.fields.get("machineState", {}), "machineState")
    nodes: dict[int, str] = {}
    for key, node in machine.items():
        if not key.isascii() or not key.isdigit() or len(key) > 5 or (key[0] == "0" and key != "0"):
            raise file.refused(f"machineState: {key!r} is no NUMA node")
        nodes[int(key)] = _printed_node(file, file.mapping(node, f"machineState.{key}"), f"machineState.{key}")
    assigned = {
        uid: printed_map(
            {each: _printed_blocks(file, blocks, f"entries.{uid}.{each}") for each, blocks in of_pod.items()}
        )
        for uid, of_pod in entries.items()
    }
    fields = {
        "PolicyName": f"(string){file.text('policyName')}",
        "MachineState": f"(state.NUMANodeMap){printed_map(nodes)}",
        "Entries": f"(state.ContainerMemoryAssignments){printed_map(assigned)}",
    }
    if pods is not None:
        each = {
            uid: f"{{MemoryBlocks:([]state.Block){_printed_blocks(file, blocks, f'podEntries.{uid}')}}}"
            for uid, blocks in pods.items()
        }
        fields["PodEntries"] = f"(state.PodMemoryAssignments){printed_map(each)}"
    fields["Checksum"] = "(checksum.Checksum)0"
    return f"(*state.MemoryManagerCheckpoint{name}){printed_struct(fields)}"


def _printed_node(file: Checkpoint, node: Mapping[str, Any], spot: str) -> str:
    memory = file.mapping(node.get("memoryMap"), f"{spot}.memoryMap")
    tables = {
        name: "<*>"
        + printed_struct(
            {
                field: f"(uint64){file.number(file.mapping(table, spot).get(key, 0), f'{spot}.{name}.{key}')}"
                for field, key in _TABLE.items()
            }
        )
        for name, table in memory.items()
    }
    cells = [str(file.number(cell, f"{spot}.cells")) for cell in file.list(node.get("cells"), f"{spot}.cells")]
    number = file.number(node.get("numberOfAssignments", 0), f"{spot}.numberOfAssignments")
    return "<*>" + printed_struct(
        {
            "NumberOfAssignments": f"(int){number}",
            "MemoryMap": f"(map[v1.ResourceName]*state.MemoryTable){printed_map(tables)}",
            "Cells": f"([]int)[{' '.join(cells)}]",
        }
    )


def _printed_blocks(file: Checkpoint, blocks: list[Any], spot: str) -> str:
    printed = []
    for block in blocks:
        fields = file.mapping(block, spot)
        nodes = " ".join(str(node) for node in _affinity(file, fields, spot))
        printed.append(
            printed_struct(
                {
                    "NUMAAffinity": f"([]int)[{nodes}]",
                    "Type": f"(v1.ResourceName){file.of_text(fields.get('type', ''), f'{spot}.type')}",
                    "Size": f"(uint64){file.number(fields.get('size', 0), f'{spot}.size')}",
                }
            )
        )
    return f"[{' '.join(printed)}]"
