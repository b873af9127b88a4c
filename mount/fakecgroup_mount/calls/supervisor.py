"""The seccomp supervisor's handlers: one for each trapped system call of `calls.table` (seccomp_unotify(2))."""

from __future__ import annotations

import os
import threading

from fakecgroup import JoinedProcesses
from fakecgroup.outside.simulated_tasks import FILES
from fakecgroup_mount.calls.access import AccessCalls
from fakecgroup_mount.calls.bpf import BpfCall
from fakecgroup_mount.calls.cgroup_namespaces import CgroupNamespaces
from fakecgroup_mount.calls.child_marks import ChildMarks
from fakecgroup_mount.calls.clone3 import Clone3Call
from fakecgroup_mount.calls.detached_mounts import copy_mount_namespace
from fakecgroup_mount.calls.exit import ExitCalls
from fakecgroup_mount.calls.fork import ForkCalls
from fakecgroup_mount.calls.fsmount import FsmountCalls
from fakecgroup_mount.calls.getdents64 import Getdents64Call
from fakecgroup_mount.calls.kill import KillCalls
from fakecgroup_mount.calls.machine_files import MachineFiles
from fakecgroup_mount.calls.mount import MountCalls
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.mountinfo_files import MountinfoFiles, Show
from fakecgroup_mount.calls.name_to_handle_at import NameToHandleAtCall
from fakecgroup_mount.calls.open import OpenCalls
from fakecgroup_mount.calls.pidfd import PidfdCalls
from fakecgroup_mount.calls.prlimit import PrlimitCalls
from fakecgroup_mount.calls.proc_files import ProcFiles
from fakecgroup_mount.calls.ptrace import PtraceCall
from fakecgroup_mount.calls.rt_sigaction import rt_sigaction
from fakecgroup_mount.calls.sched_affinity import SchedAffinityCalls
from fakecgroup_mount.calls.simulated_files import SimulatedFiles
from fakecgroup_mount.calls.stat import StatCalls
from fakecgroup_mount.calls.statfs import StatfsCalls
from fakecgroup_mount.calls.sysinfo import SysinfoCall
from fakecgroup_mount.calls.unshare import UnshareCall
from fakecgroup_mount.enforce.enforcement import Enforcement
from fakecgroup_mount.host.affinities import HostAffinities
from fakecgroup_mount.host.processes import HostProcesses
from fakecgroup_mount.live.passing_time import PassingTime
from fakecgroup_mount.seccomp.listener import Handler, later
from fakecgroup_mount.seccomp.syscalls import HERE


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
    stats = StatCalls(simulated_files, first)
    access = AccessCalls(simulated_files)
    machine = MachineFiles(tree, parts, simulated_files.memory_used, affinities, len(os.sched_getaffinity(0)))

    def text_of_task(name: bytes, pid: int, reader: int) -> bytes:
        return simulated_files.text_of_task(name, pid) if name in FILES else proc.text(name, pid, reader)

    shows: dict[bytes, Show] = {b"mountinfo": proc.mountinfo, b"mounts": proc.mounts}
    mountinfo = MountinfoFiles(*files, shows, machine.texts, simulated_files, text_of_task)
    tree.tell_events(mountinfo.tell)
    threading.Thread(target=mountinfo.serve, daemon=True).start()
    opens = OpenCalls(proc, mountinfo, simulated_files, machine)
    kills = KillCalls(tree, *simulated, first)
    pidfds = PidfdCalls(tree, *simulated, kills)
    statfs = StatfsCalls(tree, tree.kernel.vfs, mountinfo)
    child_marks = ChildMarks(tree, processes)
    forks = ForkCalls(tree, namespaces, processes, child_marks)
    exits = ExitCalls(tree, processes, known.hand_down)
    mounts = MountCalls(tree, namespaces, copy_mount_namespace(home))
    fsmounts = FsmountCalls(mounts)
    decides_at_once: dict[str, Handler] = {
        "open": opens.open,
        "openat": opens.openat,
        "openat2": opens.openat2,
        "stat": stats.stat,
        "lstat": stats.lstat,
        "newfstatat": stats.newfstatat,
        "statx": stats.statx,
        "access": access.access,
        "faccessat": access.faccessat,
        "faccessat2": access.faccessat2,
        "getdents64": Getdents64Call(tree, simulated[0], first).getdents64,
        "fork": forks.fork,
        "vfork": forks.fork,
        "clone": forks.clone,
        "clone3": Clone3Call(tree, namespaces, processes, forks, child_marks, enforcement.stir).clone3,
        "exit": exits.exit,
        "exit_group": exits.exit_group,
        "rt_sigaction": rt_sigaction,
    }
    may_wait = {
        "statfs": statfs.statfs,
        "fstatfs": statfs.fstatfs,
        "name_to_handle_at": NameToHandleAtCall(tree).name_to_handle_at,
        "kill": kills.kill,
        "tkill": kills.tkill,
        "tgkill": kills.tgkill,
        "pidfd_open": pidfds.pidfd_open,
        "pidfd_send_signal": pidfds.pidfd_send_signal,
        "ptrace": PtraceCall(enforcement.let_go_for_debugger).ptrace,
        "prlimit64": limits.prlimit64,
        "setrlimit": limits.setrlimit,
        "getrlimit": limits.getrlimit,
        "unshare": UnshareCall(namespaces).unshare,
        "mount": mounts.mount,
        "umount2": mounts.umount2,
        "fsopen": fsmounts.fsopen,
        "fsconfig": fsmounts.fsconfig,
        "fsmount": fsmounts.fsmount,
        "move_mount": fsmounts.move_mount,
        "sched_setaffinity": affinities.sched_setaffinity,
        "sched_getaffinity": affinities.sched_getaffinity,
        "sysinfo": SysinfoCall(machine).sysinfo,
        "bpf": BpfCall(tree, first).bpf,
    }
    return HERE.by_number({**decides_at_once, **{name: later(answer) for name, answer in may_wait.items()}})
