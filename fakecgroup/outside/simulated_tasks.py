"""The files of /proc/PID for simulated processes: stat, status, statm, comm, cmdline, oom_score, oom_score_adj.

What a workload does not say is 0, as for a process that has just been made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from errno import EINVAL

from ..effects.oom import badness
from ..named_tuple import NamedTuple
from ..parse import kstrtoint, strstrip
from ..refuse import refuse
from ..tasks.usage import CpuTime, MemoryUse

_TICK = 10_000_000  # ns, of the clock that programs see (USER_HZ 100)
_PAGE = 4096
_KIB = 1024
_INIT = 1
_COMM = 15  # letters
_RLIM_INFINITY = (1 << 64) - 1
LONGEST_ADJ = 12
"""Bytes that a write to oom_score_adj takes at most (PROC_NUMBUF - 1)."""
_MOST_ADJ = 1000  # OOM_SCORE_ADJ_MAX
_MACHINE = 1000  # oom_score of a process that has all memory is this, plus its oom_score_adj, before it is scaled


class SimulatedTask(NamedTuple):
    """A simulated process as /proc shows it. `started` is ns since the boot, `uid` as the reader sees it.

    `state` is the letter of stat. `memory` is what it holds, `machine` the bytes of memory and swap that there are.
    """

    pid: int
    name: str
    state: str
    uid: int
    threads: int
    nice: int
    oom_score_adj: int
    started: int
    cpu: CpuTime
    memory: MemoryUse
    machine: int

    @property
    def comm(self) -> str:
        return self.name.encode()[:_COMM].decode(errors="ignore")

    @property
    def resident(self) -> int:
        """Bytes."""
        return self.memory.anon + self.memory.file + self.memory.shmem


def stat(task: SimulatedTask) -> str:
    """/proc/PID/stat (do_task_stat): 52 fields."""
    fields: list[object] = [task.pid, f"({task.comm})", task.state, _INIT, task.pid, task.pid, 0, -1, 0]
    fields += [0, 0, 0, 0]  # faults
    fields += [task.cpu.user // _TICK, task.cpu.system // _TICK, 0, 0]
    fields += [20 + task.nice, task.nice, task.threads, 0, task.started // _TICK]
    fields += [task.resident + task.memory.swap, task.resident // _PAGE, _RLIM_INFINITY]
    fields += [0] * 12
    fields += [17]  # exit_signal: SIGCHLD
    fields += [0] * 14
    return " ".join(map(str, fields)) + "\n"


def status(task: SimulatedTask) -> str:
    """/proc/PID/status (proc_pid_status), without the lines of masks and switches."""
    words = {"R": "running", "S": "sleeping", "T": "stopped"}
    ids = "\t".join([str(task.uid)] * 4)
    size = task.resident + task.memory.swap
    sizes = {
        "VmPeak": size,
        "VmSize": size,
        "VmLck": 0,
        "VmPin": 0,
        "VmHWM": task.resident,
        "VmRSS": task.resident,
        "RssAnon": task.memory.anon,
        "RssFile": task.memory.file,
        "RssShmem": task.memory.shmem,
        "VmData": task.memory.anon,
        "VmStk": 0,
        "VmExe": 0,
        "VmLib": 0,
        "VmPTE": task.memory.tables,
        "VmSwap": task.memory.swap,
    }
    return "".join(
        [
            f"Name:\t{task.comm}\nUmask:\t0022\nState:\t{task.state} ({words[task.state]})\n",
            f"Tgid:\t{task.pid}\nNgid:\t0\nPid:\t{task.pid}\nPPid:\t{_INIT}\nTracerPid:\t0\n",
            f"Uid:\t{ids}\nGid:\t{ids}\nFDSize:\t64\nGroups:\t \n",
            "".join(f"{name}:\t{task.pid}\n" for name in ("NStgid", "NSpid", "NSpgid", "NSsid")),
            "".join(f"{name}:\t{amount // _KIB:8d} kB\n" for name, amount in sizes.items()),
            f"Threads:\t{task.threads}\n",
        ]
    )


def statm(task: SimulatedTask) -> str:
    """/proc/PID/statm (proc_pid_statm): pages."""
    shared = (task.memory.file + task.memory.shmem) // _PAGE
    size = (task.resident + task.memory.swap) // _PAGE
    return f"{size} {task.resident // _PAGE} {shared} 0 0 {(task.memory.anon + task.memory.swap) // _PAGE} 0\n"


def oom_score(task: SimulatedTask) -> int:
    """The number in /proc/PID/oom_score (proc_oom_score, since 5.9)."""
    pages = task.machine // _PAGE
    points = badness(
        rss=task.resident // _PAGE,
        swap=task.memory.swap // _PAGE,
        tables=task.memory.tables // _PAGE,
        adj=task.oom_score_adj,
        limit=pages,
    )
    return 0 if points is None else max(0, _MACHINE + int(points * 1000 / pages)) * 2 // 3


def parse_oom_score_adj(text: str) -> int:
    """What is written to /proc/PID/oom_score_adj (oom_score_adj_write). Only the first 12 bytes count.

    Raises EINVAL for no number and for one that is not from -1000 to 1000, ERANGE for one that does not fit in an int.
    """
    adj = kstrtoint(strstrip(text[:LONGEST_ADJ].partition("\0")[0]))
    if not -_MOST_ADJ <= adj <= _MOST_ADJ:
        raise refuse(EINVAL)
    return adj


FILES: Mapping[bytes, Callable[[SimulatedTask], str]] = {
    b"stat": stat,
    b"status": status,
    b"statm": statm,
    b"comm": lambda task: f"{task.comm}\n",
    b"cmdline": lambda task: f"{task.name}\0",
    b"oom_score": lambda task: f"{oom_score(task)}\n",
    b"oom_score_adj": lambda task: f"{task.oom_score_adj}\n",
}
"""The text of each file, by name."""
