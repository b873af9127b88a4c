"""A fake of the Linux kernel's cgroup file system: a pure model, without FUSE, I/O or a clock of its own.

>>> from fakecgroup import Kernel
>>> kernel = Kernel(layout="v1", kernel="6.1")
>>> kernel.mkdir("/cpu/app")
>>> kernel.write("/cpu/app/cpu.shares", "1")
>>> kernel.read("/cpu/app/cpu.shares")
'2\\n'

A call that the kernel refuses raises ``OSError`` with the kernel's errno. The package has no exceptions of its own; a
`Kernel` that cannot be made raises ValueError.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .credentials.caller import ROOT, Caller, EventFd
    from .credentials.capability import Capability, Privileges
    from .kernel import Kernel
    from .kernel_fs import KernelFs
    from .machine.personality import personalities
    from .simulation.kill import Kill
    from .simulation.workload import Workload
    from .tasks.huge_pages import FilePage, HugePages
    from .tasks.joined_processes import JoinedProcesses
    from .tasks.process_table import ProcessTable
    from .tasks.processes import End, Processes, TaskInfo
    from .tasks.usage import CpuTime, CpuUse, Faults, MemoryUse, ProcessMemory
    from .vfs.openfile import OpenFile

__all__ = [
    "ROOT",
    "Caller",
    "Capability",
    "CpuTime",
    "CpuUse",
    "End",
    "EventFd",
    "Faults",
    "FilePage",
    "HugePages",
    "JoinedProcesses",
    "Kernel",
    "KernelFs",
    "Kill",
    "MemoryUse",
    "OpenFile",
    "Privileges",
    "ProcessMemory",
    "ProcessTable",
    "Processes",
    "TaskInfo",
    "Workload",
    "personalities",
]

_NAMES = {
    "credentials.caller": ("ROOT", "Caller", "EventFd"),
    "credentials.capability": ("Capability", "Privileges"),
    "kernel": ("Kernel",),
    "kernel_fs": ("KernelFs",),
    "machine.personality": ("personalities",),
    "simulation.kill": ("Kill",),
    "simulation.workload": ("Workload",),
    "tasks.huge_pages": ("FilePage", "HugePages"),
    "tasks.joined_processes": ("JoinedProcesses",),
    "tasks.process_table": ("ProcessTable",),
    "tasks.processes": ("End", "Processes", "TaskInfo"),
    "tasks.usage": ("CpuTime", "CpuUse", "Faults", "MemoryUse", "ProcessMemory"),
    "vfs.openfile": ("OpenFile",),
}  # by module: most programs need few of them
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    """What is imported when somebody asks for it."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    """All names, those too that nobody has asked for yet."""
    return sorted({*globals(), *__all__})
