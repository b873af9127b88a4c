"""The state files of a kubelet's managers, below its ``--root-dir``: cpu_manager_state and memory_manager_state.

They are read as data, and their checksums are verified as the kubelet does at its start.
"""

from cgroup_engine.inputs.manager_state.cpu import read_cpu_manager_state
from cgroup_engine.inputs.manager_state.memory import read_memory_manager_state

__all__ = ["read_cpu_manager_state", "read_memory_manager_state"]
