"""``cgroup-engine plan`` of many pods, beside only parsing the same file: YAML with PyYAML's C loader, JSON with json.

A third program says what the least is: it parses the JSON and writes as many lines as the plan has steps, and computes
nothing.

All are whole processes, one after the other in each round, and what counts is the CPU time of each.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from . import interruption
from .cpu_time import cpu_seconds
from .errors import BenchmarkError
from .spread import spread

_PARSE = "import sys, yaml; yaml.load(open(sys.argv[1]), Loader=yaml.CSafeLoader)"
_PARSE_JSON = "import sys, json; json.load(open(sys.argv[1]))"
_PLAN = "import sys; from cgroup_engine.cli import main; sys.exit(main(sys.argv[1:]))"
# a line has the fields of a step, and about as many bytes
_PRINT = """
import json, sys
pods = json.load(open(sys.argv[1]))["items"]
lines, write = int(sys.argv[2]), sys.stdout.write
for number in range(lines):
    pod = pods[number * len(pods) // lines]["metadata"]
    uid, name = pod["uid"], f"{pod['namespace']}/{pod['name']}"
    write(
        f'    {{"step": {number}, "do": "write", "path": "kubepods/burstable/pod{uid}/{number:064}/cpu.weight", "why": '
        f'"request cpu: {number}m", "value": "{number}", "before": "100", "unit": "weight", "for": "{name}"}},\\n'
    )
"""
PARSE = {"yaml": _PARSE, "json": _PARSE_JSON}
NODE = ("--cpus", "64", "--memory", "256Gi", "--max-pids", "4194304", "--hugepages", "")


def measure(counts: Sequence[int], rounds: int, directory: Path) -> dict[str, Any]:
    """For each number of pods: CPU seconds of both, and their ratio round by round.

    :raises BenchmarkError: one of them failed, or PyYAML has no C loader here.
    """
    root = empty_root(directory)
    result: dict[str, Any] = {}
    for count in counts:
        files = {kind: directory / f"{count}.{kind}" for kind in PARSE}
        files["yaml"].write_text("".join(pod_list(count)))
        files["json"].write_text(json.dumps(yaml.load(files["yaml"].read_bytes(), Loader=yaml.CSafeLoader)))
        times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in PARSE}
        printing: list[float] = []
        steps = _steps(files["json"], root)
        for _ in range(rounds):
            for kind, parse in PARSE.items():
                times[kind].append(
                    (cpu_seconds(parse, [str(files[kind])]), cpu_seconds(_PLAN, _plan(files[kind], root)))
                )
                interruption.check()
            printing.append(cpu_seconds(_PRINT, [str(files["json"]), str(steps)]))
        result[str(count)] = {
            kind: {
                "bytes": files[kind].stat().st_size,
                "parse_seconds": spread([parse for parse, _ in pairs]),
                "plan_seconds": spread([plan for _, plan in pairs]),
                "ratio": spread([plan / parse for parse, plan in pairs]),
            }
            for kind, pairs in times.items()
        }
        parsing = [parse for parse, _ in times["json"]]
        result[str(count)]["json"] |= {
            "steps": steps,
            "print_seconds": spread(printing),
            "print_ratio": spread([each / parse for each, parse in zip(printing, parsing, strict=True)]),
        }
    return {"run": {"rounds": rounds}, "pods": result}


def _plan(file: Path, root: str) -> list[str]:
    return ["plan", "--root", root, *NODE, "-o", "json", str(file)]


def _steps(file: Path, root: str) -> int:
    """The number of steps of a plan."""
    command = [sys.executable, "-c", _PLAN, *_plan(file, root)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        raise BenchmarkError(f"plan failed: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return len(json.loads(done.stdout)["steps"])


def empty_root(directory: Path) -> str:
    """A directory that looks like the root of cgroup2, without a cgroup."""
    root = directory / "root"
    root.mkdir()
    for name, text in (
        ("cgroup.controllers", "cpu memory pids\n"),
        ("cgroup.subtree_control", ""),
        ("cgroup.procs", ""),
    ):
        (root / name).write_text(text)
    return str(root)


def table(result: dict[str, Any]) -> str:
    """A row for each number of pods and kind of file: median seconds of both, and the ratio with its spread."""
    lines = [f"{'pods':>7}  file  {'parse s':>8}  {'plan s':>8}  ratio  (min–max)"]
    for count, kinds in result["pods"].items():
        for kind, figures in kinds.items():
            ratio = figures["ratio"]
            lines.append(
                f"{count:>7}  {kind}  {figures['parse_seconds']['median']:8.2f}  "
                f"{figures['plan_seconds']['median']:8.2f}  "
                f"{ratio['median']:5.2f}  ({ratio['min']:.2f}–{ratio['max']:.2f})"
            )
        least = kinds["json"]["print_ratio"]
        lines.append(
            f"{'':7}  a loop that writes {kinds['json']['steps']} lines  "
            f"{kinds['json']['print_seconds']['median']:5.2f}  {least['median']:5.2f}  "
            f"({least['min']:.2f}–{least['max']:.2f})"
        )
    lines += ["", f"{result['run']['rounds']} rounds; CPU time of whole processes"]
    return "\n".join(lines)


def pod_list(count: int, most: int = 3) -> Iterator[str]:
    """A List of pods of all classes with one to ``most`` containers, always the same."""
    chance = random.Random(1)
    yield "apiVersion: v1\nkind: List\nitems:\n"
    for number in range(count):
        uid = uuid.UUID(int=chance.getrandbits(128), version=4)
        yield (
            f"- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: app-{number}\n    namespace: team-{number % 20}\n"
            f"    uid: {uid}\n    labels:\n      app: app-{number}\n      tier: backend\n"
            "  spec:\n    nodeName: node-1\n    containers:\n"
        )
        for container in range(1 + number % most):
            yield (
                f"    - name: c{container}\n      image: registry.example/app:{number}\n      ports:\n"
                "      - containerPort: 8080\n        protocol: TCP\n      resources:"
            )
            if number % 5 == 4:
                yield " {}\n"
                continue
            cpu, memory = chance.choice((50, 250, 500)), chance.choice((64, 256, 512))
            for kind in ("requests", "limits") if number % 2 else ("requests",):
                more = 4 if kind == "limits" else 1
                yield f"\n        {kind}:\n          cpu: {cpu * more}m\n          memory: {memory * more}Mi"
            yield "\n"
        yield "  status:\n    phase: Running\n"
