"""The model with its cases in cgroups in place of its roots, as a target on a machine in use has them."""

from __future__ import annotations

from fakecgroup import Kernel
from fakecgroup.conformance.case import Answer, Case, Op
from fakecgroup.conformance.setting import Setting
from fakecgroup.conformance.stand_in import HOME, ROOT, UNIFIED, filled, moved, seen_from, to_home
from fakecgroup.conformance.target_model import ModelTarget
from fakecgroup.kernfs.inode import Symlink
from fakecgroup.machine import mount_options
from fakecgroup.machine.learnt import LearntKernel
from fakecgroup.machine.personality import Personality, choose

_PLACE = "p"


def _personality(layout: str, version: str | LearntKernel) -> Personality:
    return version.personality(layout) if isinstance(version, LearntKernel) else choose(layout, version)


class PlacedModel(ModelTarget):
    """The model of a kernel in a `Setting`. Cases name files as if the cgroups in place of the roots were these."""

    def __init__(self, layout: str, version: str | LearntKernel, setting: Setting) -> None:
        machine = dict(setting.machine)
        if "mount_options" in machine:
            known = mount_options.of_kernel(_personality(layout, version))
            machine["mount_options"] = [option for option in machine["mount_options"] if option in known]
        super().__init__(layout, version, description=machine)
        self._setting = setting

    @staticmethod
    def controllers_of(layout: str, version: str | LearntKernel) -> tuple[str, ...]:
        """The controllers of the unified hierarchy of a kernel."""
        if layout == "v1":
            return ()
        kernel = Kernel(layout, version)
        return tuple(kernel.read("cgroup.controllers" if layout == "v2" else f"{UNIFIED}/cgroup.controllers").split())

    def start(self, case: Case) -> None:
        super().start(case)
        self._roots: dict[str, tuple[str, ...]] = {}
        if self._layout == "v2":
            self._make_unified("")
        else:
            for name in self.kernel.listdir("/"):
                if name == UNIFIED:
                    self._make_unified(f"{UNIFIED}/")
                elif not isinstance(self.kernel.walk(name, follow=False), Symlink):
                    self._make_legacy(name, case)
        setting = self._setting
        if setting.uid:
            self._do_as(setting.uid, setting.gid)

    def _make_unified(self, top: str) -> None:
        kernel, place, setting = self.kernel, f"{top}{_PLACE}", self._setting
        there = set(kernel.read(f"{top}cgroup.controllers").split()) & set(setting.controllers)
        enable = " ".join(f"+{name}" for name in there)
        kernel.write(f"{top}cgroup.subtree_control", enable)
        kernel.mkdir(place)
        for file, value in setting.files.items():
            kernel.write(f"{place}/{file}", value)
        kernel.write(f"{place}/cgroup.subtree_control", enable)
        for name in (HOME, ROOT):
            kernel.mkdir(f"{place}/{name}")
        kernel.write(f"{place}/{HOME}/cgroup.procs", str(self.actor.tid))
        if setting.uid:
            for path in (place, f"{place}/{HOME}", f"{place}/{ROOT}"):
                for name in (".", *kernel.listdir(path)):
                    kernel.chown(f"{path}/{name}", setting.uid, setting.gid)
        self._roots[""] = (f"/{_PLACE}/{ROOT}", f"/{_PLACE}/{HOME}")

    def _make_legacy(self, name: str, case: Case) -> None:
        kernel, place = self.kernel, f"{name}/{_PLACE}"
        kernel.mkdir(place)
        files = set(kernel.listdir(place))
        for file in filled(case):
            if file in files:
                kernel.write(f"{place}/{file}", kernel.read(f"{name}/{file}"))
        kernel.write(f"{place}/tasks", str(self.actor.tid))
        self._roots["name=systemd" if name == "systemd" else name] = (f"/{_PLACE}",)

    def do(self, op: Op) -> Answer:
        if op[0] == "in":
            return super().do(op)  # which comes back with the operation that a helper does
        error, value = super().do(moved(op, self._move))
        if op[0] == "proc" and isinstance(value, str):
            value = seen_from(value, self._roots)
        return (error, value)

    def _move(self, path: str) -> str:
        if not path or path.startswith("/"):
            return path
        path = to_home(path, self._layout)
        if self._layout == "v2":
            return f"{_PLACE}/{ROOT}/{path}"
        name, slash, rest = path.partition("/")
        place = f"{name}/{_PLACE}/{ROOT}" if name == UNIFIED else f"{name}/{_PLACE}"
        return f"{place}{slash}{rest}"
