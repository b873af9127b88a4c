"""Takes out of answers what no two runs agree on: pids, counters, times.

The recorder does it once to the kernel's answers and the replay to the target's, so both are compared in one form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fakecgroup.base_files.attach import PID_FILES
from fakecgroup.conformance.case import Answer, Op

#: Counters, times and pressures: every number becomes ``#``, so keys and their order remain.
_COUNTERS = re.compile(
    r"""cpu\.stat(\.local)? | cpuacct\.\w+ | .*\.pressure | cgroup\.stat\.local
      | memory\.(stat|numa_stat|current|peak|memory_pressure) | memory\.(swap|zswap)\.(current|peak)
      | memory\.(memsw\.|kmem\.|kmem\.tcp\.)?(max_)?usage_in_bytes | memory\.kmem\.slabinfo
      | io\.stat | blkio\.throttle\.io_.* | blkio\.bfq\.io_.* | cpuset\.memory_pressure | net_prio\.prioidx""",
    re.X,
)
#: Event counts: how often is chance, whether at all is not.  These keys become ``+`` above zero.
_EVENTS = re.compile(r"memory\.(events(\.local)?|swap\.events) | memory\.(memsw\.|kmem\.|kmem\.tcp\.)?failcnt", re.X)
#: A line for each block device, in the order in which the machine happened to find them.
_BY_DEVICE = frozenset({"io.stat", "io.cost.qos", "io.cost.model"})
_EVENT_KEYS = frozenset({"low", "high", "max", "fail", "oom", "sock_throttled"})

_NUMBER = re.compile(r"(?<![^\s=])\d+(\.\d+)?(?=\s|$)")


class Normaliser:
    """Follows one case operation by operation; handles are known by the file they were opened on."""

    def __init__(self, pids: Mapping[int, str], raw: bool = False) -> None:
        """``pids`` may grow while the case runs; ``raw`` keeps counters."""
        self._pids = pids
        self._raw = raw
        self._handles: dict[str, str] = {}

    def __call__(self, op: Op, answer: Answer) -> Answer:
        error, value = answer
        while op[0] == "in":
            op = op[2:]
        if op[0] == "open" and error is None:
            self._handles[str(op[1])] = _file(op[2])
        if op[0] == "events" and error is None:
            return (error, sorted(value))  # a file's own change and a notification from the kernel race
        if error is not None or not isinstance(value, str):
            return answer
        if op[0] in ("read", "until"):
            return (error, self.text(_file(op[1]), value))
        if op[0] == "proc" and op[2] == "cgroup" and not self._raw:
            return (error, _places(value))
        if op[0] in ("fread", "fpread"):
            return (error, self.text(self._handles.get(str(op[1]), ""), value))
        return answer

    def text(self, file: str, text: str) -> str:
        """The text of a file, with what varies taken out."""
        if file in PID_FILES:
            return self._name_pids(text)
        if self._raw:
            return text
        if file in _BY_DEVICE:
            text = "".join(sorted(text.splitlines(keepends=True)))
        if _COUNTERS.fullmatch(file):
            return _NUMBER.sub("#", text)
        if _EVENTS.fullmatch(file):
            return "".join(_event(line) for line in text.splitlines(keepends=True))
        if file == "cgroup.stat":
            return re.sub(r"^(nr_dying_\w+) \d+$", r"\1 #", text, flags=re.M)
        return text

    def _name_pids(self, text: str) -> str:
        """Known pids as ``$name``; other processes of the machine are left out."""
        lines = []
        for line in text.splitlines(keepends=True):
            number = line.rstrip("\n")
            if not number.isdigit():
                lines.append(line)
            elif int(number) in self._pids:
                lines.append(line.replace(number, "$" + self._pids[int(number)]))
        return "".join(lines)


def _places(text: str) -> str:
    """/proc/PID/cgroup without hierarchy numbers, sorted, and without the v1 hierarchies whose root it is in."""
    if text.startswith("0::"):
        return text
    lines = sorted(line.partition(":")[2] for line in text.splitlines())
    return "".join(line + "\n" for line in lines if line == ":/" or not line.endswith(":/"))


def _file(path: Any) -> str:
    return str(path).rpartition("/")[2]


def _event(line: str) -> str:
    key, _, count = line.rpartition(" ")
    if count.strip().isdigit() and int(count) > 0 and (key in _EVENT_KEYS or not key):
        return line.replace(count, "+" + ("\n" if count.endswith("\n") else ""))
    return line
