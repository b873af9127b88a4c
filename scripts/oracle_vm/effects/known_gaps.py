"""Where the model is known to do otherwise than a kernel, each with its reason.

The one list: the tests take these numbers as expected failures, and the page of effects shows them.
"""

from __future__ import annotations

from collections.abc import Mapping

_SLICES = (
    "tasks run in slices of 3 to 4 ms: with a few ms in 20 ms a group is throttled at times though its share is below "
    "its quota, or misses a turn; the model is fluid"
)
_PLACED = (
    "few tasks of unlike weight on two CPUs: the model divides the CPUs as if loads were equal; a kernel cannot make "
    "them so, and probably moves a task to and fro, for which the lighter ones pay"
)
_INTERRUPTS = "interrupts and timers take 1 to 3 % of the CPU"
_TURNS = (
    "the machine's two CPUs take turns of a few ms, so that groups count as throttled later, and interrupts as longer"
)
_LATENCY = "a disk takes some 0.2 ms to answer, and a sleep is as much longer; the model's take none"
_MORE = "a real process has some 100 pages more: a stack, its program, a file that is read ahead; the model's has none"
_ROUNDS = "modelled: how much a round of reclaim frees depends on what was used and reclaimed lately"
_OVERSHOOT = "modelled: reclaim frees more than was asked for, and from whom depends on the lists"
_SWAP_ENDS = "swap ran out in the middle: each page that was to go to it counts, until reclaim gives up"
_STOCK = "near the limit each page is asked for as a batch first, which is refused and counts; the model has no stock"
_NEXT_STALL = "5.10 looks for the first time when the next stall begins, later kernels at once; so does the model"
_NEXT_CHANGE = (
    "of a cgroup with one task averages are due 2 s after the task's next change, here up to 80 ms later; in the model "
    "2 s after the last ones"
)
_ON_THE_WAY = (
    "7.2 throttles tasks on their way to user mode: of groups below a quota, those with less weight get more than their"
    " share; the model knows no difference"
)
_GIVES_WAY = "of a task that wakes and works for 20 ms, an idle group has one tick (3 ms); the model's gives way"
_FIRST = "a group that is no longer throttled has more than its share at first, and its quota is used up earlier"
_SAMPLED = "nice_usec is sampled at ticks, at which 7.2 often has the other task; cpu.stat's usage agrees"
_USER_SAMPLED = "user time is sampled at ticks, and so more than cpuacct.usage, which agrees"

#: By the kernel ("" for all), the scenario, and the number as `Compared.what` has it ("" for any).
GAPS: Mapping[tuple[str, str, str], str] = {
    ("", "io-enough", ""): _LATENCY,
    ("", "io-operations", "app/io.pressure some.total"): _LATENCY,
    ("", "io-weight-left", ""): _LATENCY,
    ("", "quota-half", "app/cpu.stat throttled_usec"): _TURNS,
    ("", "quota-three", "app/cpu.stat throttled_usec"): _TURNS,
    ("", "tree-1-04", "a/cpu.stat usage_usec"): _SLICES,
    ("", "tree-1-08", "a/b/a/cpu.stat usage_usec"): _SLICES,
    ("", "tree-1-44", "b/cpu.stat usage_usec"): _SLICES,
    ("", "tree-2-03", "b/cpu.stat usage_usec"): _PLACED,
    ("", "tree-2-09", ""): _PLACED,
    ("", "tree-2-11", ""): _PLACED,
    ("5.10", "tree-2-04", "c/cpu.stat usage_usec"): _PLACED,
    ("6.1", "tree-2-00", "b/cpu.stat usage_usec"): _PLACED,
    ("6.12", "tree-2-10", "a/cpu.stat usage_usec"): _INTERRUPTS,
    ("7.2", "tree-2-10", "a/cpu.stat usage_usec"): _INTERRUPTS,
    ("5.10", "quota-beside", "limited/cpu.stat throttled_usec"): _FIRST,
    ("6.1", "idle-free", "busy/cpu.stat usage_usec"): _GIVES_WAY,
    ("6.1", "io-bytes", "app/io.pressure some.total"): _LATENCY,
    ("6.1", "quota-beside", "limited/cpu.stat throttled_usec"): _FIRST,
    ("7.2", "cpus-pinned", ""): _TURNS,
    ("7.2", "quota-nested", "outer/a/cpu.stat usage_usec"): _ON_THE_WAY,
    ("5.10", "cache-dropped", "app/memory.events max"): _MORE,
    ("6.1", "cache-dropped", "app/memory.events max"): _MORE,
    ("", "cache-protected", "app/other/memory.stat file"): _OVERSHOOT,
    ("", "swap-out", "app/memory.events max"): _ROUNDS,
    ("", "swap-high", "app/memory.events high"): _ROUNDS,
    ("", "v1-quota", "cpu/app/cpuacct.usage_user"): _USER_SAMPLED,
    ("", "v1-above", "memory/app/in/memory.failcnt"): _STOCK,
    ("5.10", "trigger-cpu", "app/cpu.pressure `some 150000 1000000`: first after"): _NEXT_STALL,
    ("5.10", "trigger-cpu", "app/cpu.pressure `some 500000 2000000`: first after"): _NEXT_STALL,
    ("6.1", "swap-max", "app/memory.swap.events max"): _SWAP_ENDS,
    ("6.1", "swap-max", "app/memory.swap.events fail"): _SWAP_ENDS,
    ("7.2", "cache-dropped", "app/memory.events max"): _ROUNDS,
    ("6.12", "trigger-full", "app/cpu.pressure `some 300000 2000000`, a user: distance"): _NEXT_CHANGE,
    ("7.2", "io-above", ""): "turns at io.max are not quite equal on a kernel",
    ("7.2", "io-bytes", "app/io.pressure some.total"): _LATENCY,
    ("7.2", "nice-five", "app/cpu.stat nice_usec"): _SAMPLED,
    ("7.2", "tree-1-04", ""): _ON_THE_WAY,
    ("7.2", "tree-1-36", ""): _ON_THE_WAY,
    ("7.2", "tree-1-42", ""): _ON_THE_WAY,
    ("7.2", "tree-1-46", ""): _ON_THE_WAY,
    ("7.2", "tree-1-55", ""): _ON_THE_WAY,
}


def reason(kernel: str, name: str, what: str) -> str | None:
    """Why a number is known to differ; None for one that is to agree."""
    keys = ((of, name, number) for of in (kernel, "") for number in (what, ""))
    return next((GAPS[key] for key in keys if key in GAPS), None)
