"""The story that the demo tells: at most 60 lines of at most 100 columns."""

from __future__ import annotations

import json
from textwrap import shorten

from .shell import Shell

COLUMNS = 100
MACHINE = ("--cpus", "3", "--memory", "8Gi")
#: The trees by name, with the options of `fakecgroup mount`.
TREES = {"v1": ("--layout", "v1", *MACHINE), "v2": ("--layout", "v2", *MACHINE)}

#: What stands for `$NODE` in the commands.
NODE = f"--config examples/three-pods.kubelet.yaml {' '.join(MACHINE)}"
_PODS = "examples/three-pods.yaml"
#: CPUs that one cell of a bar stands for.
_CELL = 1 / 24
_BOLD, _GREEN, _PLAIN = "\033[1m", "\033[32m", "\033[0m"


class UnexpectedError(Exception):
    """A command did not print what the story says of it."""


def tell(shell: Shell, *, coloured: bool) -> None:
    """Types the story's commands and prints them with their output. Raises UnexpectedError."""
    _Telling(shell, coloured).whole()


def without_mount(reason: str) -> str:
    """The line before a story that the model tells, as nothing can be mounted for this reason."""
    return shorten(f"No mount here, so the model answers, in this process: {reason}", COLUMNS, placeholder=" …")


class _Telling:
    def __init__(self, shell: Shell, coloured: bool) -> None:
        self._shell = shell
        self._coloured = coloured

    def whole(self) -> None:
        for layout, options in TREES.items():
            self._show(f"$ fakecgroup mount {layout} {' '.join(options)}", _BOLD)
        self._refused()
        self._clamped()
        self._applied()
        self._shared_out()

    def _refused(self) -> None:
        self._part("1. Refused: a write that the kernel refuses is refused here, with the same errno")
        self._run("mkdir v1/cpu/app v1/cpu/app/child v1/cpuset/app v2/app")
        self._run("echo 999 > v1/cpu/app/cpu.cfs_quota_us      # the least is 1000 µs", "Invalid argument")
        self._run("echo 0 > v1/cpuset/app/tasks                # it has no CPUs yet", "No space left on device")
        self._run("echo +cpu > v2/app/cgroup.subtree_control   # its parent has none", "No such file or directory")
        self._run("rmdir v1/cpu/app                            # it has a child", "Device or resource busy")

    def _clamped(self) -> None:
        self._part("2. Clamped: one value is written, another is read back")
        self._reads_back("v1/cpu/app/cpu.shares", 1, "2")
        self._reads_back("v1/cpu/app/cpu.shares", 1000000, "262144")
        self._reads_back("v1/memory/memory.soft_limit_in_bytes", 1000000, "999424")

    def _applied(self) -> None:
        self._part("3. Applied: three pods get the cgroups that a kubelet makes")
        self._show(f'$ NODE="{NODE}"', _BOLD)
        self._run(
            f"cgroup-engine apply --root v2 $NODE {_PODS} | grep -v '/pod\\|subtree_control'", "made 10 directories"
        )
        self._run("echo 1G > v2/kubepods/burstable/memory.max")
        self._run(f"cgroup-engine plan --root v2 $NODE {_PODS} | head -2 | cut -c-90", "kubepods/burstable/memory.max")
        self._run(f"cgroup-engine apply --root v2 $NODE {_PODS} | tail -1", "wrote 1 values")
        self._run(f"cgroup-engine apply --root v2 $NODE {_PODS}", "nothing to do")

    def _shared_out(self) -> None:
        self._part("4. Shared out: the CPUs that each container gets when all want as much as they can get")
        line = f"cgroup-engine explain -o json $NODE {_PODS}"
        self._show(f"$ {line}   # cpu_cores_under_load_v2, drawn", _BOLD)
        for pod in json.loads(self._type(line))["pods"]:
            for container in pod["containers"]:
                cores = container["cpu_cores_under_load_v2"]
                name = f"{pod['pod'].rpartition('/')[2]}/{container['container']}"
                self._show(f"{name:28} {pod['qos_class']:10} {cores:.3f} {'█' * max(1, round(cores / _CELL))}", _GREEN)

    def _reads_back(self, file: str, value: int, expected: str) -> None:
        self._run(f"echo {value} > {file}")
        self._run(f"cat {file}", expected)

    def _run(self, line: str, expected: str = "") -> None:
        """Types a command and shows it with its output. Raises UnexpectedError if `expected` is not in that."""
        printed = self._type(line).rstrip("\n")
        if expected not in printed or (printed and not expected):
            raise UnexpectedError(f"{line}: printed {printed!r}, expected {expected!r}")
        self._show(f"$ {line}", _BOLD)
        if printed:
            self._show(printed)

    def _type(self, line: str) -> str:
        return self._shell.type(line.replace("$NODE", NODE))

    def _part(self, title: str) -> None:
        print()
        self._show(title, _BOLD + _GREEN)

    def _show(self, text: str, colour: str = "") -> None:
        print(f"{colour}{text}{_PLAIN}" if colour and self._coloured else text, flush=True)
