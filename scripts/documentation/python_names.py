"""The Python API: what the packages offer, as Sphinx' autodoc reads it."""

from __future__ import annotations

import inspect

import fakecgroup
from fakecgroup_mount.testing import plugin

FIXTURES = ("cgroupfs", "cgroup_kernel", "cgroupfs_options", "cgroupfs_factory")


def model() -> str:
    """Every public name of `fakecgroup`, classes with their public methods."""
    lines = ["```{eval-rst}", ".. currentmodule:: fakecgroup", ""]
    for name in sorted(fakecgroup.__all__, key=lambda name: (name != "Kernel", name.lower())):
        value = getattr(fakecgroup, name)
        if inspect.isclass(value):
            lines += [f".. autoclass:: {name}", "   :members:", "   :undoc-members:", ""]
        elif callable(value):
            lines += [f".. autofunction:: {name}", ""]
        else:
            lines += [f".. autodata:: {name}", "   :no-value:", ""]
    return "\n".join([*lines, "```"])


def fixtures() -> str:
    """The fixtures of the pytest plugin with their docstrings."""
    lines = []
    for name in FIXTURES:
        fixture = getattr(plugin, name)
        function = inspect.unwrap(getattr(fixture, "__wrapped__", fixture))
        lines += [f"### `{name}`", "", inspect.cleandoc(function.__doc__ or ""), ""]
    return "\n".join(lines)


def engine() -> str:
    """The modules of `cgroup_engine` that its guide names, with their public functions and classes."""
    modules = (
        "cgroup_engine.change.cgroup_manager",
        "cgroup_engine.kubelet.wanted",
        "cgroup_engine.plan.steps",
        "cgroup_engine.plan.resize",
        "cgroup_engine.change.apply",
        "cgroup_engine.errors",
    )
    lines = ["```{eval-rst}"]
    for name in modules:
        lines += [f".. automodule:: {name}", "   :members:", ""]
    return "\n".join([*lines, "```"])
