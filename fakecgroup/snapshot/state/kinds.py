"""The classes whose state a snapshot of a fake keeps.

A class declares its state by the annotations in its body: each is kept but for those below, which follow from others or
belong to open files. Whoever adds state to one of these classes adds an annotation.
"""

from __future__ import annotations

from hashlib import sha256

from ...controllers.cpuset.domains import SchedulerDomains
from ...controllers.cpuset.state import CpusetState, Partition
from ...controllers.devices import Device
from ...controllers.io.css import Counters, IoCost
from ...controllers.io.css import Group as DiskGroup
from ...controllers.memory.css import Memory
from ...controllers.net_prio import Ids
from ...core.baseline import Baseline
from ...core.cgroup import Cgroup
from ...core.cgroup_file import CgroupFile
from ...core.css import Css
from ...core.hierarchy import Hierarchy
from ...core.membership import Membership
from ...credentials.capability import Privileges
from ...effects.bandwidth import Group as Bandwidth
from ...effects.bandwidth import Runner
from ...effects.pressure_averages import Averages
from ...effects.stalls import Stalls
from ...kernfs.inode import Symlink, TopDirectory
from ...kernfs.xattrs import Order, Xattrs
from ...machine.online_cpus import OnlineCpus
from ...simulation.clock import VirtualClock
from ...simulation.cpu import CpuResource
from ...simulation.cpu_demand import Demand
from ...simulation.cpu_scheduler import Scheduler
from ...simulation.holding import Holding
from ...simulation.hugetlb import HugetlbResource
from ...simulation.io import IoResource
from ...simulation.kill import Kill
from ...simulation.memory import MemoryResource
from ...simulation.phase import Growth, Phase, Transfer
from ...simulation.process import Process
from ...simulation.restarts import Restart, Restarts
from ...simulation.serial import Serial
from ...simulation.workload import Workload
from ...simulation.world import World
from ...tasks.affinity import Affinity, AffinityTable
from ...tasks.charges import Account as MemoryAccount
from ...tasks.charges import Charge, MemoryCharges
from ...tasks.cputime import Account as CpuAccount
from ...tasks.cputime import CpuAccounts, GoneChild, MovedThread
from ...tasks.css_sets import CssSet, CssSets
from ...tasks.process_table import ProcessTable
from ...tasks.processes import TaskInfo
from ...tasks.usage import CpuTime, CpuUse, Faults, MemoryUse
from .codec import Kinds

#: Made before the state is read: the tree, and what there is one of.
GIVEN = (Cgroup, Css, CgroupFile)
ALONE = (
    *(VirtualClock, OnlineCpus, TopDirectory, Symlink, Hierarchy, Membership, CssSets, CpuAccounts, MemoryCharges),
    *(AffinityTable, ProcessTable, World, Restarts, CpuResource, Scheduler, MemoryResource, HugetlbResource),
    IoResource,
)
#: Several refer to one.
SHARED = (CssSet, Workload, Process, Ids)
#: Each belongs to one other object. Two are called `Group`: a module that has none of them at run time, as
#: `controllers.cpu.css`, means the later one, `Bandwidth`.
OWNED = (
    *(Xattrs, Stalls, Averages, DiskGroup, Bandwidth, Runner, Demand, Holding, Counters, IoCost, SchedulerDomains),
    *(MemoryAccount, Charge, CpuAccount, Phase, Growth, Transfer, Serial, Privileges),
)
_NAMED = (
    *(Affinity, Baseline, CpuTime, CpuUse, Device, Faults, GoneChild, Kill, MemoryUse, MovedThread, Order, Partition),
    *(Restart, TaskInfo),
)
WITHOUT = {
    Cgroup: "hierarchy parent name children order promised made made_for css_counts files ino",  # the tree itself
    CgroupFile: "row cgroup css subject has_trigger notify_pending ino",
    Css: "cgroup parent",
    CpusetState: "parent",
    Memory: "event_fds oom_event_fds pressure_listeners peaks swap_peaks thresholds",  # of open files
    Bandwidth: "groups runners rate queues halted",  # of the processes, when they are next looked at
    Demand: "limited",
    MemoryAccount: "image",  # simulated programs execute no other
    Holding: "counters",
    TopDirectory: "content",
    Symlink: "target",
}

KINDS = Kinds((*OWNED, *_NAMED), SHARED, GIVEN, WITHOUT)


def schema() -> str:
    """A digest of all that is kept. A state with another one is of another version."""
    classes = sorted((*GIVEN, *ALONE, *SHARED, *OWNED), key=lambda cls: f"{cls.__module__}.{cls.__name__}")
    csses = sorted(_below(Css), key=lambda cls: f"{cls.__module__}.{cls.__name__}")
    text = "".join(f"{cls.__name__} {KINDS.texts(cls)}\n" for cls in (*classes, *csses))
    return sha256(text.encode()).hexdigest()[:16]


def _below(cls: type) -> set[type]:
    return set(cls.__subclasses__()).union(*map(_below, cls.__subclasses__()))
