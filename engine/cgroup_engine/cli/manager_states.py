"""--cpu-manager-state and --memory-manager-state: what the kubelet's managers have assigned."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from cgroup_engine.errors import ConfigError
from cgroup_engine.inputs.config.checks import not_acted_on
from cgroup_engine.inputs.manager_state import read_cpu_manager_state, read_memory_manager_state
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.cpu_list import cpu_list, parse_cpu_list
from cgroup_engine.model.manager_state import CpuManagerState, MemoryManagerState


def with_manager_states(node: NodeConfig, options: argparse.Namespace) -> NodeConfig:
    """The node with the states in the files that the options name.

    :raises ConfigError: a file cannot be used, or a kubelet would not start with it.
    """
    if options.cpu_manager_state is not None:
        path = options.cpu_manager_state
        state = read_cpu_manager_state(Path(path), node.version)
        _check_policy(path, "cpuManagerPolicy", node.cpu_manager_policy, state.policy)
        if state.policy == "static":
            _check_cpus(path, state, node.cpus)
        node = _with_cpus(node, state)
    if options.memory_manager_state is not None:
        path = options.memory_manager_state
        memory = read_memory_manager_state(Path(path), node.version)
        _check_policy(path, "memoryManagerPolicy", node.memory_manager_policy, memory.policy)
        node = _with_memory(node, memory)
    return node


def with_states_of(node: NodeConfig, like: NodeConfig) -> NodeConfig:
    """The node with the states of another one, where its CPUs and policies are the same."""
    if node.cpu_manager_policy == like.cpu_manager_policy and node.cpus == like.cpus:
        node = _with_cpus(node, like.cpu_manager_state)
    if node.memory_manager_policy == like.memory_manager_policy:
        node = _with_memory(node, like.memory_manager_state)
    return node


def _with_cpus(node: NodeConfig, state: CpuManagerState | None) -> NodeConfig:
    return node if state is None else replace(_acted_on(node, "cpuManagerPolicy"), cpu_manager_state=state)


def _with_memory(node: NodeConfig, state: MemoryManagerState | None) -> NodeConfig:
    return node if state is None else replace(_acted_on(node, "memoryManagerPolicy"), memory_manager_state=state)


def _acted_on(node: NodeConfig, policy: str) -> NodeConfig:
    return replace(node, warnings=tuple(line for line in node.warnings if not_acted_on(policy) not in line))


def _check_policy(path: str, name: str, configured: str, stated: str) -> None:
    """Returns if the state is of the configured policy (restoreState).

    :raises ConfigError: it is not.
    """
    if configured != stated:
        raise ConfigError(
            f"{path}: is of the policy {stated!r}, and {name} is {configured}: a kubelet does not start with it",
            path=path,
            value=stated,
            todo="give the configuration of this node, or no state",
        )


def _check_cpus(path: str, state: CpuManagerState, cpus: int) -> None:
    """Returns if the state has as many CPUs as the node (validateState compares the CPUs themselves).

    :raises ConfigError: it has not.
    """
    lists = [state.shared, *state.by_id.values(), *state.pods.values()]
    lists += [given for of_pod in state.containers.values() for given in of_pod.values()]
    known = frozenset[int]().union(*map(parse_cpu_list, lists))
    if known and len(known) != cpus:
        raise ConfigError(
            f"{path}: is of a node with the {len(known)} CPUs {cpu_list(known)}, and this one has {cpus}: a kubelet "
            f"does not start with it",
            path=path,
            todo="give --cpus, or the file of this node",
        )
