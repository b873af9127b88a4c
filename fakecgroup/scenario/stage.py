"""Sets a scenario up in a kernel: its cgroups, what is written to them, its processes."""

from __future__ import annotations

from os import strerror

from ..kernel import Kernel
from .read import ScenarioError
from .scenario import CgroupSetup, Placed, Write


class Stage:
    """A kernel that scenarios are set up in. Its methods raise ScenarioError for what the kernel refuses."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def make(self, setup: CgroupSetup) -> None:
        """Make a cgroup with those above it, and write what it is given."""
        path = ""
        v2 = self._kernel.layout == "v2"
        for part in setup.path.split("/"):
            if v2:
                for controller in self._needed(setup):
                    self.write(Write(f"{path}/cgroup.subtree_control", f"+{controller}", setup.place))
            path = f"{path}/{part}"
            try:
                self._kernel.mkdir(path)
            except FileExistsError:
                pass
            except OSError as error:
                raise ScenarioError(f"{setup.place}: cgroup {setup.path} cannot be made: {why(error)}") from None
        for write in setup.writes:
            self.write(write)

    def _needed(self, setup: CgroupSetup) -> list[str]:
        """The controllers of the files that a cgroup is given, on v2."""
        available = self._kernel.read("/cgroup.controllers").split()
        files = [write.path.rpartition("/")[2].partition(".")[0] for write in setup.writes]
        return [controller for controller in dict.fromkeys(files) if controller in available]

    def write(self, write: Write) -> None:
        """Write a text to a file."""
        try:
            self._kernel.write(f"/{write.path}", write.text)
        except OSError as error:
            raise ScenarioError(
                f"{write.place}: the kernel refuses {write.text!r} for {write.path.lstrip('/')}: {why(error)}"
            ) from None

    def spawn(self, placed: Placed) -> list[int]:
        """Start the processes of a workload; returns their pids."""
        try:
            return self._kernel.spawn([f"/{path}" for path in placed.cgroups], placed.workload)
        except OSError as error:
            raise ScenarioError(
                f"{placed.place}: no process can be in {', '.join(placed.cgroups)}: {why(error)}"
            ) from None
        except ValueError as error:
            raise ScenarioError(f"{placed.place}: {error}") from None


def why(error: OSError) -> str:
    """What an errno means, in words."""
    return strerror(error.errno) if error.errno else str(error)
