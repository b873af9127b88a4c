"""`fakecgroup run`: what it takes to start, beside a bare user namespace and a booted kernel, and what it costs a
compile job that runs under it.

Starts are those of an ordinary installation (`installed`), whose modules are compiled. All take turns in each round.
What counts for a start is the time by the clock; for the job also that on CPUs, with the daemon's, as the clock's
depends on what else the machine does. `profile_ms` is where the time of a start goes: Python's own, loading modules,
and the rest, each from the same rounds.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from fakecgroup_mount.testing.options import read
from fakecgroup_mount.testing.trees import Trees
from fakecgroup_mount.warm import VARIABLE

from . import interruption
from .environment import environment
from .errors import BenchmarkError, UnavailableError
from .installed import installed

_HERE = Path(__file__).parent
_FAKECGROUP = ("-c", "import sys; from fakecgroup_mount.cli import main; sys.exit(main())")
RUN = (sys.executable, *_FAKECGROUP, "run")
BARE = "unshare -Urm true"
PASS = "python -c pass"
START = "fakecgroup run -- true"
MOUNT = "fakecgroup mount"
WARM_START, WARM_MOUNT = f"{START}, under warm", f"{MOUNT}, under warm"
TREE, GONE = "a test's tree, mounted", "a test's tree, taken down"
_LOADS = """
import atexit, gc, sys
gc.disable()  # as `fakecgroup_mount.cli.main` has it
atexit.register(gc.freeze)
import fakecgroup_mount.cli.program, {}
print(sum(name.startswith("fakecgroup") for name in sys.modules))
"""
_LOADED = {  # what the front loads, and the server
    START: "fakecgroup_mount.run.command, fakecgroup_mount.run.server",
    MOUNT: "fakecgroup_mount.cli.mount, fakecgroup_mount.fuse.serve",
}
_VM = (sys.executable, str(_HERE.parent / "program.py"), "oracle_vm", "ask", "--kernel", "6.12", "--layout", "v2", "-")
VM = "a kernel booted under QEMU"
_VM_ROUNDS = 3
_TEST = 0.05  # seconds between two trees
COMPILES = 8  # runs of the compiler, one after the other
JOBS: dict[str, tuple[str, ...]] = {"bare": (), "unshare -Urm": ("unshare", "-Urm"), "fakecgroup run": (*RUN, "--")}


def measure(rounds: int, directory: Path) -> dict[str, Any]:
    """Milliseconds until each has started and ended or mounted a tree, and of the compile job; ratios round by round.

    The job's time is taken within, so that it has no part of the start. Raises BenchmarkError, StoppedError.
    """
    python = installed(directory / "installed")
    fakecgroup = (python, *_FAKECGROUP)
    commands: dict[str, tuple[str, ...]] = {
        BARE: ("unshare", "-Urm", "true"),
        PASS: (python, "-c", "pass"),
        START: (*fakecgroup, "run", "--", "true"),
        "fakecgroup run --layout v1 -- true": (*fakecgroup, "run", "--layout", "v1", "--", "true"),
    }
    starts: dict[str, list[float]] = {name: [] for name in (*commands, MOUNT, WARM_START, WARM_MOUNT)}
    loads: dict[str, list[float]] = {name: [] for name in _LOADED}
    tree = directory / "tree"
    tree.mkdir()
    jobs: dict[str, list[tuple[float, float]]] = {name: [] for name in JOBS}
    missing: dict[str, str] = {}
    job = compile_job(directory)
    for turn in range(rounds):
        for name, command in commands.items():
            starts[name].append(_elapsed(command))
            interruption.check()
        for name in _LOADED:
            loads[name].append(_elapsed(_loading(python, name)))
        starts[MOUNT].append(_mounting(fakecgroup, tree))
        with _warm(fakecgroup) as server:
            starts[WARM_START].append(_elapsed(commands[START], more=server))
            starts[WARM_MOUNT].append(_mounting(fakecgroup, tree, server))
        names = list(JOBS)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            clock, used = output((*JOBS[name], *job)).split()
            jobs[name].append((float(clock), float(used)))
            interruption.check()
    starts |= dict(zip((TREE, GONE), _trees_of_tests(rounds), strict=True))
    try:
        _booted()  # the first may fetch the kernel
        starts[VM] = [_booted() for _ in range(min(rounds, _VM_ROUNDS))]
    except UnavailableError as reason:
        missing[VM] = str(reason)
    return {
        "run": {"rounds": rounds, "cpus": len(os.sched_getaffinity(0)), "compiles": COMPILES},
        "starts_ms": {name: spread(times) for name, times in starts.items()},
        "profile_ms": {name: _profile(starts[PASS], loads[name], starts[name]) for name in _LOADED},
        "modules": {name: int(output(_loading(python, name))) for name in _LOADED},
        "compile": {
            name: {
                kind: {
                    "ms": spread([pair[at] for pair in times]),
                    "ratio": spread([here[at] / bare[at] for here, bare in zip(times, jobs["bare"], strict=True)], 3),
                }
                for at, kind in enumerate(("clock", "cpu"))
            }
            for name, times in jobs.items()
        },
        "missing": missing,
    }


def table(result: dict[str, Any]) -> str:
    """A row for each start and each way to run the job."""
    width = max(map(len, (*result["starts_ms"], *result["compile"])))
    bare = result["starts_ms"][BARE]["median"]
    lines = [f"{'started and ended':{width}}      ms  (min–max)            to {BARE}"]
    for name, times in result["starts_ms"].items():
        shown = f"({times['min']:.1f}–{times['max']:.1f})"
        lines.append(f"{name:{width}}  {times['median']:6.1f}  {shown:20}  {times['median'] / bare:.1f}")
    lines += ["", f"{'compile job':{width}}      ms  to bare  (min–max)         CPU ms  to bare  (min–max)"]
    for name, figures in result["compile"].items():
        cells = []
        for kind in ("clock", "cpu"):
            times, ratio = figures[kind]["ms"], figures[kind]["ratio"]
            shown = f"({ratio['min']:.3f}–{ratio['max']:.3f})"
            cells.append(f"{times['median']:6.0f}  {ratio['median']:7.3f}  {shown:15}")
        lines.append(f"{name:{width}}  {'  '.join(cells)}".rstrip())
    run = result["run"]
    lines += ["", f"{run['rounds']} rounds on {run['cpus']} CPUs; the job is {run['compiles']} runs of the C compiler"]
    lines += ["", *(f"{name}: {where_it_goes(result, name)}" for name in _LOADED)]
    lines += [f"no {name}: {reason}" for name, reason in result["missing"].items()]
    return "\n".join(lines)


def where_it_goes(result: dict[str, Any], name: str) -> str:
    """What bounds a start, for people; empty if that was not measured."""
    if name not in result.get("profile_ms", {}):
        return ""
    python, loading, rest = (figures["median"] for figures in result["profile_ms"][name].values())
    return (
        f"{python:.0f} ms are Python's own start, {loading:.0f} ms go into loading {result['modules'][name]} modules, "
        f"{rest:.0f} ms into all else: processes, threads, namespaces, mounts, and their end."
    )


def _mounting(fakecgroup: Sequence[str], tree: Path, more: Mapping[str, str] = {}) -> float:
    """Milliseconds until a tree is mounted, which is then unmounted. Raises BenchmarkError."""
    took = _elapsed((*fakecgroup, "mount", str(tree)), more=more)
    output((*fakecgroup, "umount", "--force", str(tree)))  # other sandboxes may have a copy
    return took


@contextmanager
def _warm(fakecgroup: Sequence[str]) -> Iterator[dict[str, str]]:
    """A server of `fakecgroup warm`; gives the environment of what it serves. Raises BenchmarkError."""
    command = (*fakecgroup, "warm", "--", "sh", "-c", f"echo ${VARIABLE}; exec cat")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        name = process.stdout.readline().strip()
        if not name:
            raise BenchmarkError(f"fakecgroup warm: exit status {process.wait()}")
        try:
            yield {VARIABLE: name}
        finally:
            process.stdin.close()


def _loading(python: str, name: str) -> tuple[str, ...]:
    """A command that loads what a start loads, and prints how many modules of ours that are."""
    return python, "-c", _LOADS.format(_LOADED[name])


def _profile(bare: Sequence[float], loads: Sequence[float], whole: Sequence[float]) -> dict[str, dict[str, float]]:
    """Milliseconds of the parts of a start, round by round."""
    return {
        "python": spread(bare),
        "modules": spread([loaded - python for loaded, python in zip(loads, bare, strict=True)]),
        "rest": spread([all_of_it - loaded for all_of_it, loaded in zip(whole, loads, strict=True)]),
    }


def _trees_of_tests(rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds until the pytest plugin has mounted a tree, and until it has taken it down, after the first one."""
    ready, gone = [], []
    with Trees() as trees:
        for turn in range(rounds + 1):
            began = time.monotonic()
            tree = trees.mount(read({}))
            mounted = time.monotonic()
            os.listdir(tree)
            looked = time.monotonic()
            trees.take_down(tree)
            if turn:
                ready.append((mounted - began) * 1000)
                gone.append((time.monotonic() - looked) * 1000)
            time.sleep(_TEST)
            interruption.check()
    return ready, gone


def compile_job(directory: Path) -> list[str]:
    """The command of the job; it prints its milliseconds by the clock, and on CPUs with the daemon's."""
    compiler, source = shlex.split(os.environ.get("CC", "cc")), _HERE / "nullfs.c"
    flags = subprocess.run(["pkg-config", "--cflags", "fuse3"], capture_output=True, text=True, check=False).stdout
    if not flags:
        source = _HERE / "client.c"
    command = [*compiler, *flags.split(), "-O2", "-c", str(source), "-o", str(directory / "out.o")]
    return [sys.executable, str(_HERE / "compile_job.py"), str(COMPILES), *command]


def _elapsed(command: Sequence[str], stdin: str | None = None, more: Mapping[str, str] = {}) -> float:
    """Milliseconds. `more` is added to the environment. Raises BenchmarkError."""
    begin = time.monotonic()
    output(command, stdin, more)
    return (time.monotonic() - begin) * 1000


def output(command: Sequence[str], stdin: str | None = None, more: Mapping[str, str] = {}) -> str:
    """What a command prints. `more` is added to the environment. Raises BenchmarkError if it fails."""
    env = {**environment(), **more}
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, env=env)
    except FileNotFoundError:
        raise BenchmarkError(f"{command[0]} is not there") from None
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise BenchmarkError(f"{' '.join(command[-4:])}: {said}")
    return done.stdout


def _booted() -> float:
    """Milliseconds until a kernel was booted, asked for one mkdir, and gone. Raises UnavailableError."""
    interruption.check()
    try:
        return _elapsed(_VM, '["mkdir", "a"]\n')
    except BenchmarkError as error:
        raise UnavailableError(str(error)) from None


def spread(values: Sequence[float], digits: int = 1) -> dict[str, float]:
    """The least, the median and the greatest."""
    return {
        "min": round(min(values), digits),
        "median": round(median(values), digits),
        "max": round(max(values), digits),
    }
