"""The seccomp supervisor's handlers: one for each trapped system call of `calls.table` (seccomp_unotify(2)).

What few programs call is loaded with the first such call.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from fakecgroup import JoinedProcesses
from fakecgroup.outside.simulated_tasks import FILES
from fakecgroup_mount.calls.cgroup_namespaces import CgroupNamespaces
from fakecgroup_mount.calls.child_marks import ChildMarks
from fakecgroup_mount.calls.detached_mounts import copy_mount_namespace
from fakecgroup_mount.calls.exit import ExitCalls
from fakecgroup_mount.calls.fork import ForkCalls
from fakecgroup_mount.calls.kill import KillCalls
from fakecgroup_mount.calls.machine_files import MachineFiles
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.mountinfo_files import MountinfoFiles, Show
from fakecgroup_mount.calls.open import OpenCalls
from fakecgroup_mount.calls.prlimit import PrlimitCalls
from fakecgroup_mount.calls.proc_files import ProcFiles
from fakecgroup_mount.calls.rt_sigaction import rt_sigaction
from fakecgroup_mount.calls.sched_affinity import SchedAffinityCalls
from fakecgroup_mount.calls.simulated_files import SimulatedFiles
from fakecgroup_mount.enforce.enforcement import Enforcement
from fakecgroup_mount.host.affinities import HostAffinities
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.live.passing_time import PassingTime
from fakecgroup_mount.seccomp.listener import Answer, Call, Handler, later
from fakecgroup_mount.seccomp.syscalls import HERE

if TYPE_CHECKING:
    from fakecgroup_mount.calls.access import AccessCalls
    from fakecgroup_mount.calls.bpf import BpfCall
    from fakecgroup_mount.calls.clone3 import Clone3Call
    from fakecgroup_mount.calls.fsmount import FsmountCalls
    from fakecgroup_mount.calls.getdents64 import Getdents64Call
    from fakecgroup_mount.calls.mount import MountCalls
    from fakecgroup_mount.calls.name_to_handle_at import NameToHandleAtCall
    from fakecgroup_mount.calls.pidfd import PidfdCalls
    from fakecgroup_mount.calls.ptrace import PtraceCall
    from fakecgroup_mount.calls.stat import StatCalls
    from fakecgroup_mount.calls.statfs import StatfsCalls
    from fakecgroup_mount.calls.sysinfo import SysinfoCall
    from fakecgroup_mount.calls.unshare import UnshareCall

_T = TypeVar("_T")


def _once(make: Callable[[], _T]) -> Callable[[], _T]:
    """Gives what `make` makes, and the same each time. Threads that ask at once get the same too."""
    made: dict[None, _T] = {}
    return lambda: made[None] if made else made.setdefault(None, make())


def handlers(
    tree: MountedTree,
    processes: HostProcesses,
    first: int,
    home: int,
    files: tuple[int, int, str],
    simulated: tuple[JoinedProcesses, PassingTime],
    parts: frozenset[str],
    known: HostAffinities,
    enforcement: Enforcement,
) -> dict[int, Handler]:
    """The handler of each trapped system call, by its number on this processor.

    `first` is the process that becomes the command, `home` its mount namespace. `files` are the first arguments of
    `MountinfoFiles`, `simulated` has the tree's simulated processes and their time. `parts` of the stated machine are
    shown; the affinities of threads are `known`. `enforcement` makes limits act on real
    processes.
    """
    namespaces = CgroupNamespaces(tree, first)
    tree.use_namespaces(namespaces.root_to_delegate)
    limits = PrlimitCalls(tree, processes, first)
    proc = ProcFiles(tree, namespaces, limits)
    affinities = SchedAffinityCalls(tree, processes, known)
    simulated_files = SimulatedFiles(tree, *simulated, first, enforcement)
    machine = MachineFiles(tree, parts, simulated_files.memory_used, affinities, len(os.sched_getaffinity(0)))

    def text_of_task(name: bytes, pid: int, reader: int) -> bytes:
        return simulated_files.text_of_task(name, pid) if name in FILES else proc.text(name, pid, reader)

    shows: dict[bytes, Show] = {b"mountinfo": proc.mountinfo, b"mounts": proc.mounts}
    mountinfo = MountinfoFiles(*files, shows, machine.texts, simulated_files, text_of_task)
    tree.tell_events(mountinfo.tell)
    threading.Thread(target=mountinfo.serve, daemon=True).start()
    opens = OpenCalls(proc, mountinfo, simulated_files, machine)
    kills = KillCalls(tree, *simulated, first)
    child_marks = ChildMarks(tree, processes)
    forks = ForkCalls(tree, namespaces, processes, child_marks)
    exits = ExitCalls(tree, processes, known.hand_down)
    home = copy_mount_namespace(home)

    @_once
    def access() -> AccessCalls:
        from fakecgroup_mount.calls.access import AccessCalls

        return AccessCalls(simulated_files)

    @_once
    def bpf() -> BpfCall:
        from fakecgroup_mount.calls.bpf import BpfCall

        return BpfCall(tree, first)

    @_once
    def clone3() -> Clone3Call:
        from fakecgroup_mount.calls.clone3 import Clone3Call

        return Clone3Call(tree, namespaces, processes, forks, child_marks, enforcement.stir)

    @_once
    def fsmounts() -> FsmountCalls:
        from fakecgroup_mount.calls.fsmount import FsmountCalls

        return FsmountCalls(mounts())

    @_once
    def getdents64() -> Getdents64Call:
        from fakecgroup_mount.calls.getdents64 import Getdents64Call

        return Getdents64Call(tree, simulated[0], first)

    @_once
    def handles() -> NameToHandleAtCall:
        from fakecgroup_mount.calls.name_to_handle_at import NameToHandleAtCall

        return NameToHandleAtCall(tree)

    @_once
    def mounts() -> MountCalls:
        from fakecgroup_mount.calls.mount import MountCalls

        return MountCalls(tree, namespaces, home)

    @_once
    def pidfds() -> PidfdCalls:
        from fakecgroup_mount.calls.pidfd import PidfdCalls

        return PidfdCalls(tree, *simulated, kills)

    @_once
    def ptrace() -> PtraceCall:
        from fakecgroup_mount.calls.ptrace import PtraceCall

        return PtraceCall(enforcement.let_go_for_debugger)

    @_once
    def stats() -> StatCalls:
        from fakecgroup_mount.calls.stat import StatCalls

        return StatCalls(simulated_files, first)

    @_once
    def statfs() -> StatfsCalls:
        from fakecgroup_mount.calls.statfs import StatfsCalls

        return StatfsCalls(tree, tree.kernel.vfs, mountinfo)

    @_once
    def sysinfo() -> SysinfoCall:
        from fakecgroup_mount.calls.sysinfo import SysinfoCall

        return SysinfoCall(machine)

    @_once
    def unshare() -> UnshareCall:
        from fakecgroup_mount.calls.unshare import UnshareCall

        return UnshareCall(namespaces)

    decides_at_once: dict[str, Handler] = {
        "open": opens.open,
        "openat": opens.openat,
        "openat2": opens.openat2,
        "stat": lambda call: stats().stat(call),
        "lstat": lambda call: stats().lstat(call),
        "newfstatat": lambda call: stats().newfstatat(call),
        "statx": lambda call: stats().statx(call),
        "access": lambda call: access().access(call),
        "faccessat": lambda call: access().faccessat(call),
        "faccessat2": lambda call: access().faccessat2(call),
        "getdents64": lambda call: getdents64().getdents64(call),
        "fork": forks.fork,
        "vfork": forks.fork,
        "clone": forks.clone,
        "clone3": lambda call: clone3().clone3(call),
        "exit": exits.exit,
        "exit_group": exits.exit_group,
        "rt_sigaction": rt_sigaction,
    }
    may_wait: dict[str, Callable[[Call], Answer]] = {
        "statfs": lambda call: statfs().statfs(call),
        "fstatfs": lambda call: statfs().fstatfs(call),
        "name_to_handle_at": lambda call: handles().name_to_handle_at(call),
        "kill": kills.kill,
        "tkill": kills.tkill,
        "tgkill": kills.tgkill,
        "pidfd_open": lambda call: pidfds().pidfd_open(call),
        "pidfd_send_signal": lambda call: pidfds().pidfd_send_signal(call),
        "ptrace": lambda call: ptrace().ptrace(call),
        "prlimit64": limits.prlimit64,
        "setrlimit": limits.setrlimit,
        "getrlimit": limits.getrlimit,
        "unshare": lambda call: unshare().unshare(call),
        "mount": lambda call: mounts().mount(call),
        "umount2": lambda call: mounts().umount2(call),
        "fsopen": lambda call: fsmounts().fsopen(call),
        "fsconfig": lambda call: fsmounts().fsconfig(call),
        "fsmount": lambda call: fsmounts().fsmount(call),
        "move_mount": lambda call: fsmounts().move_mount(call),
        "sched_setaffinity": affinities.sched_setaffinity,
        "sched_getaffinity": affinities.sched_getaffinity,
        "sysinfo": lambda call: sysinfo().sysinfo(call),
        "bpf": lambda call: bpf().bpf(call),
    }
    return HERE.by_number({**decides_at_once, **{name: later(answer) for name, answer in may_wait.items()}})
