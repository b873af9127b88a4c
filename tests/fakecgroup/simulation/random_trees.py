"""Random trees of cgroups with limits, in which random workloads live. The same seed gives the same tree."""

from __future__ import annotations

from random import Random

from fakecgroup import Kernel, Workload

_CONTROLLERS = "+cpu +cpuset +memory +io"
_DEPTH = 3


def make_tree(seed: int, *, quotas: bool = True) -> tuple[Kernel, list[str]]:
    """A kernel, and the paths of its cgroups."""
    chance = Random(seed)
    cpus = chance.choice((1, 2, 4, 8))
    kernel = Kernel(
        kernel=chance.choice(("5.10", "6.1", "6.12", "7.2")),
        cpus=cpus,
        memory="16Gi",
        swap=chance.choice((0, 1 << 30)),
        block_devices="259:0",
        clock=lambda: 0,
        seed=seed,
    )
    kernel.write("/cgroup.subtree_control", _CONTROLLERS)
    paths: list[str] = []
    leaves = _grow(kernel, chance, "", paths, quotas=quotas)
    for leaf in leaves:
        for _ in range(chance.choice((0, 1, 1, 2, 3))):
            kernel.spawn(leaf, _workload(chance))
    return kernel, paths


def _grow(kernel: Kernel, chance: Random, above: str, paths: list[str], *, quotas: bool) -> list[str]:
    """Make cgroups below one. Returns those without any below."""
    leaves = []
    for name in "abc"[: chance.randrange(1, 4)]:
        path = f"{above}/{name}"
        kernel.mkdir(path)
        paths.append(path)
        _limit(kernel, chance, path, quotas=quotas)
        if path.count("/") < _DEPTH and chance.random() < 0.6:
            kernel.write(f"{path}/cgroup.subtree_control", _CONTROLLERS)
            leaves += _grow(kernel, chance, path, paths, quotas=quotas)
        else:
            leaves.append(path)
    return leaves


def _limit(kernel: Kernel, chance: Random, path: str, *, quotas: bool) -> None:
    if chance.random() < 0.5:
        kernel.write(f"{path}/cpu.weight", str(chance.choice((1, 10, 20, 50, 100, 300, 1000))))
    if quotas and chance.random() < 0.35:
        period = chance.choice((20, 50, 100, 100, 100, 250, 1000)) * 1000
        quota = period * chance.choice((5, 10, 20, 50, 75, 100, 150, 250)) // 100
        kernel.write(f"{path}/cpu.max", f"{quota} {period}")
        if chance.random() < 0.2 and "cpu.max.burst" in kernel.listdir(path):
            kernel.write(f"{path}/cpu.max.burst", str(quota * chance.choice((10, 50, 100)) // 100))
    if chance.random() < 0.1:
        first = chance.randrange(kernel.machine.cpus)
        kernel.write(f"{path}/cpuset.cpus", f"{first}-{chance.randrange(first, kernel.machine.cpus)}")
    if chance.random() < 0.2:
        kernel.write(f"{path}/{chance.choice(('memory.high', 'memory.max'))}", chance.choice(("30M", "60M", "200M")))
    if chance.random() < 0.2:
        kernel.write(f"{path}/io.max", f"259:0 rbps={chance.choice((1, 5, 20)) << 20}")


def _workload(chance: Random) -> Workload:
    return Workload(
        [_phase(chance) for _ in range(chance.randrange(1, 4))],
        instances=chance.choice((1, 1, 2, 4)),
        threads=chance.choice((2, 2, 3, 8)),
        nice=chance.choice((0, 0, 0, 5, -5)),
        delay=f"{chance.randrange(1500)}ms",
        loop=chance.choice(("forever", "forever", 5)),
        restart=chance.choice(("never", "never", "always")),
    )


def _phase(chance: Random) -> dict[str, object]:
    kind = chance.choice(("for", "for", "run", "run", "sleep"))
    phase: dict[str, object] = {}
    if kind == "for":
        phase = {"for": f"{chance.choice((100, 333, 1000, 2500, 7001))}ms"}
        phase["cpu"] = chance.choice((0, 0.05, 0.1, 0.3, 0.5, 1, 1.5, 2))
        if chance.random() < 0.2:
            phase["io"] = {"device": "259:0", "read": "10Mi/s"}
    elif kind == "run":
        phase = {"run": f"{chance.choice((3, 10, 30, 35, 120, 600))}ms"}
    else:
        phase = {"sleep": f"{chance.choice((5, 65, 165, 900, 2000))}ms"}
    if chance.random() < 0.2:
        phase["memory"] = chance.choice(("10Mi", "50Mi", {"start": "5Mi", "grow": "20Mi/s"}))
    return phase


def read_all(kernel: Kernel, paths: list[str]) -> dict[str, str]:
    """What all files of the root and of cgroups say."""
    files = {}
    for path in ("", *paths):
        for name in kernel.listdir(path or "/"):
            file = f"{path}/{name}"
            if file not in paths and kernel.stat(file).mode & 0o400:
                files[file] = kernel.read(file)
    return files
