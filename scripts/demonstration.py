"""The demo behind scripts/demo: a kubelet's cgroups on a fake v1 and a fake v2 tree."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path

from cgroup_engine.cli import main as engine_main
from cgroup_engine.tree.fs import CgroupFs, OsFs
from fakecgroup import Kernel

BIN = Path(sys.executable).parent
NODE = "--config examples/three-pods.kubelet.yaml --kubelet-version 1.28 --cpus 3 --memory 8Gi".split()
PODS = "examples/three-pods.yaml"
SHOWN = {
    "v1": ("cpu.shares", "cpu.cfs_quota_us", "memory.limit_in_bytes", "pids.max"),
    "v2": ("cpu.weight", "cpu.max", "memory.max", "pids.max"),
}


class ModelFs(CgroupFs):
    """The engine's view of a tree that exists only in this process."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def mkdir(self, path: str) -> None:
        self._kernel.mkdir("/" + path)

    def rmdir(self, path: str) -> None:
        self._kernel.rmdir("/" + path)

    def read(self, path: str) -> str:
        return self._kernel.read("/" + path)

    def write(self, path: str, data: str) -> None:
        self._kernel.write("/" + path, data)

    def listdir(self, path: str) -> list[str]:
        return self._kernel.listdir("/" + path)

    def is_dir(self, path: str) -> bool:
        try:
            return stat.S_ISDIR(self._kernel.stat("/" + path).mode)
        except FileNotFoundError:
            return False


def heading(text: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}", flush=True)


def fuse_works() -> str | None:
    """None where a fake can be mounted, else the reason why not."""
    with tempfile.TemporaryDirectory(prefix="fakecgroup-") as directory:
        tried = subprocess.run([BIN / "fakecgroup", "mount", directory], capture_output=True, text=True, check=False)
        if tried.returncode == 0:
            subprocess.run([BIN / "fakecgroup", "umount", directory], check=True)
            return None
    return tried.stderr.strip().splitlines()[-1] if tried.stderr.strip() else "fakecgroup mount failed"


@contextmanager
def mounted(layout: str) -> Iterator[CgroupFs]:
    with tempfile.TemporaryDirectory(prefix="fakecgroup-") as directory:
        words = ["fakecgroup", "mount", directory, "--layout", layout, "--cpus", "3", "--memory", "8Gi"]
        heading("$ " + " ".join(words))
        subprocess.run([BIN / words[0], *words[1:]], check=True)
        try:
            yield OsFs(directory)
            heading(f"$ fakecgroup umount {directory}")
        finally:
            subprocess.run([BIN / "fakecgroup", "umount", directory], check=True)


@contextmanager
def in_process(layout: str) -> Iterator[CgroupFs]:
    heading(f"Kernel(layout={layout!r}, cpus=3, memory=8 << 30)")
    yield ModelFs(Kernel(layout, cpus=3, memory=8 << 30))


def engine(fs: CgroupFs, command: str, *words: str, whole: bool = True) -> None:
    """One cgroup-engine command on the tree; unless `whole`, only the last line that it prints is shown."""
    root = fs.root if isinstance(fs, OsFs) else "/"
    arguments = [command, *(() if command == "explain" else ("--root", root)), *NODE, *words]
    heading("$ cgroup-engine " + " ".join(arguments))
    printed = io.StringIO()
    with nullcontext() if whole else redirect_stdout(printed):
        code = engine_main(arguments, open_root=lambda _: fs)
    if not whole:
        print("".join(printed.getvalue().splitlines(keepends=True)[-1:]), end="")
    if code:
        raise SystemExit(1)


def show_tree(fs: CgroupFs, layout: str) -> None:
    """Every cgroup below kubepods with the values that matter."""
    heading("the tree")
    rows: dict[str, list[str]] = {}
    for hierarchy in ("cpu", "memory", "pids") if layout == "v1" else ("",):
        stack = [os.path.join(hierarchy, "kubepods")]
        while stack:
            path = stack.pop()
            name = os.path.relpath(path, hierarchy or ".")
            names = fs.listdir(path)
            values = [f"{file}={fs.read(os.path.join(path, file)).strip()}" for file in SHOWN[layout] if file in names]
            rows.setdefault(name, []).extend(values)
            stack += [child for each in names if fs.is_dir(child := os.path.join(path, each))]
    for name in sorted(rows):
        depth = name.count("/")
        leaf = name.rpartition("/")[2]
        print(f"{'  ' * depth}{leaf if len(leaf) < 50 else leaf[:12] + '…'}  {'  '.join(rows[name])}")


def main() -> int:
    os.chdir(Path(__file__).resolve().parent.parent)
    reason = fuse_works()
    if reason is not None:
        print(f"No mount here ({reason}), so this runs on the model in this process.")
    for layout in ("v1", "v2"):
        with (mounted if reason is None else in_process)(layout) as fs:
            engine(fs, "plan", PODS)
            engine(fs, "apply", PODS, whole=False)
            show_tree(fs, layout)
            engine(fs, "apply", PODS)
            if layout == "v1":
                engine(fs, "explain", PODS)
            engine(fs, "down", whole=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
