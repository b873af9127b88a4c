"""Agents that watch memory and kill, beside simulated processes.

earlyoom looks at all processes, the machine's own too, so it only says whom it would kill.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..program import Program, Step

_OOMD = Path("/usr/lib/systemd/systemd-oomd")
_MANAGED = Path(__file__).with_name("managed_oom.py")
_SCENARIO = Path(__file__).with_name("memory_pressure.yaml")
_SHORTAGE = Path(__file__).with_name("memory_shortage.yaml")
_SLICE = "/sys/fs/cgroup/app.slice"


def _systemd_oomd(layout: str) -> Sequence[Step]:
    return [
        Step(
            "systemd-oomd (ManagedOOMMemoryPressure=kill, 35 % for 3 s)",
            "of two cgroups the one with the most reclaim is killed, 3 s after their slice came over the limit",
            f"""mkdir -p systemd/oomd.conf.d systemd/oom
            limit='DefaultMemoryPressureLimit=35%' duration='DefaultMemoryPressureDurationSec=3s'
            printf '[OOM]\\n%s\\n%s\\n' "$limit" "$duration" >systemd/oomd.conf.d/a.conf
            python3 {_MANAGED} /run/systemd/io.system.ManagedOOM /app.slice=ManagedOOMMemoryPressure &
            until [ -e systemd/io.system.ManagedOOM ]; do sleep 0.05; done
            ln -s io.system.ManagedOOM systemd/io.systemd.ManagedOOM # as 257 calls it
            SYSTEMD_LOG_TARGET=console {_OOMD} >log 2>&1 & oomd=$!
            over() {{ awk '/full/ {{ split($2, a, "="); exit !(a[2] > 35) }}' {_SLICE}/memory.pressure; }}
            until over; do sleep 0.05; done; since=$(date +%s%3N)
            until grep -q 'populated 0' {_SLICE}/hog.service/cgroup.events; do sleep 0.05; done
            took=$(($(date +%s%3N) - since))
            if [ $took -gt 2900 ] && [ $took -lt 6000 ]; then echo in time; else cat log {_SLICE}/memory.pressure; fi
            until grep -q 'due to memory pressure' log; do sleep 0.05; done
            kill $oomd; sed -nE 's/^(Killed|Marked) (\\S+) .*for (\\S+) being.*/killed \\2 for \\3/p' log
            cat /proc/$(cat {_SLICE}/idle.service/cgroup.procs)/comm""",
            "in time\nkilled /app.slice/hog.service for /app.slice\nidle",
        ),
    ]


def _earlyoom(layout: str) -> Sequence[Step]:
    return [
        Step(
            "earlyoom --dryrun -m 10",
            "under 10 % of the simulated machine's memory it would end the process with the most points in /proc",
            """earlyoom --dryrun -m 10 -r 1 >log 2>&1 & agent=$!
            until grep -q 'sending SIGTERM to process' log; do sleep 0.05; done; kill $agent
            said=$(sed -n 's/^sending SIGTERM to process \\([0-9]*\\) .*/\\1/p' log | head -1)
            [ "$said" = "$(cat /sys/fs/cgroup/hog/cgroup.procs)" ] && cat /proc/$said/comm || cat log""",
            "hog",
        ),
    ]


def _version() -> str:
    """Of Debian's package, as the program has it."""
    said = subprocess.run([_OOMD, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\((\S+)\)", said)
    return found[1] if found else ""


def _earlyoom_version() -> str:
    done = subprocess.run(["earlyoom", "-v"], capture_output=True, text=True, check=False)
    found = re.search(r"earlyoom v?(\S+)", done.stdout + done.stderr)
    return found[1] if found else ""


_ALSO = ("python3-yaml",)  # for fakecgroup itself, to read a scenario

PROGRAMS = (
    Program(
        "systemd-oomd",
        "systemd-oomd",
        ("python3", "awk"),
        _systemd_oomd,
        layouts=("v2",),
        also=_ALSO,
        options=("--workload", str(_SCENARIO)),
        missing=lambda: "" if _OOMD.exists() else "not installed: systemd-oomd",
        version=_version,
    ),
    Program(
        "earlyoom",
        "earlyoom",
        ("earlyoom",),
        _earlyoom,
        layouts=("v2",),
        also=_ALSO,
        options=("--workload", str(_SHORTAGE)),
        version=_earlyoom_version,
    ),
)
