"""The cgroups of a machine, v1 or v2: where their files are, and what the kernel counts in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


class Cgroups:
    """The cgroups below a root. They are named by their path below it, on v1 without the hierarchy."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.version = 2 if (root / "cgroup.controllers").exists() else 1
        self._hierarchies = [root] if self.version == 2 else sorted(_v1_hierarchies(root))

    def file(self, cgroup: str, name: str) -> Path:
        """An interface file; of ``cgroup.procs`` v1 has several."""
        return (self.root if self.version == 2 else self.root / name.split(".")[0]) / cgroup / name

    def value(self, cgroup: str, name: str) -> str:
        return self.file(cgroup, name).read_text().strip()

    def directories(self, cgroup: str) -> list[Path]:
        """The cgroup's directories, in each hierarchy that has it."""
        return [each / cgroup for each in self._hierarchies if (each / cgroup).is_dir()]

    def relative(self, path: Path) -> str:
        """As cgroup-engine names it: below the root, on v1 in the hierarchy itself and not in a link to it."""
        return str((path.parent.resolve() / path.name).relative_to(self.root.resolve()))

    def pids(self, cgroup: str) -> set[int]:
        """The processes that are in it in every hierarchy that has it."""
        each = [{int(pid) for pid in (at / "cgroup.procs").read_text().split()} for at in self.directories(cgroup)]
        return set.intersection(*each) if each else set()

    def usage(self, cgroup: str) -> float:
        """CPU time used by it and all below it, in seconds."""
        if self.version == 2:
            return int(self._counts(cgroup, "cpu.stat")["usage_usec"]) / 1e6
        return int(self.value(cgroup, "cpuacct.usage")) / 1e9

    def throttled(self, cgroup: str) -> int:
        """Periods in which its own quota was used up."""
        return self._counts(cgroup, "cpu.stat")["nr_throttled"]

    def oom_kills(self, cgroup: str) -> int:
        return self._counts(cgroup, "memory.events" if self.version == 2 else "memory.oom_control")["oom_kill"]

    def refused_forks(self, cgroup: str) -> int:
        """On v1, and before 6.11, they count where the process is; later in the cgroup whose limit was hit."""
        return self._counts(cgroup, "pids.events")["max"]

    def _counts(self, cgroup: str, name: str) -> dict[str, int]:
        return {key: int(number) for key, number in map(str.split, self.value(cgroup, name).splitlines())}


def _v1_hierarchies(root: Path) -> Iterator[Path]:
    """Each hierarchy once: names such as cpu may be links to cpu,cpuacct; unified is none of v1."""
    for path in root.iterdir():
        of_v2 = (path / "cgroup.controllers").exists()
        if path.is_dir() and not path.is_symlink() and (path / "cgroup.procs").exists() and not of_v2:
            yield path
