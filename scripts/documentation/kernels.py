"""Which kernels can be played in which layout, and with which controllers."""

from __future__ import annotations

from fakecgroup import personalities

from .interface_files import KERNELS, machine
from .tables import table

_LAYOUTS = ("v2", "v1", "hybrid")


def page() -> str:
    """A row for each kernel: its layouts, and the controllers of the unified hierarchy and of v1."""
    return table(
        ("kernel", "layouts", "default for", "controllers on v2", "controllers on v1"),
        (
            (kernel, _layouts(kernel), _default(kernel), *(_controllers(of, kernel) for of in ("v2", "v1")))
            for kernel in KERNELS
        ),
    )


def _layouts(kernel: str) -> str:
    return ", ".join(layout for layout in _LAYOUTS if (layout, kernel) in personalities())


def _default(kernel: str) -> str:
    """The layouts for which it is played where none is asked for: the first pair of each."""
    first = dict(reversed(personalities()))
    return ", ".join(layout for layout in _LAYOUTS if first[layout] == kernel)


def _controllers(layout: str, kernel: str) -> str:
    if (layout, kernel) not in personalities():
        return "–"
    found = [
        controller for hierarchy in machine(layout, kernel).hierarchies for controller in hierarchy.controllers.values()
    ]
    return " ".join((layout == "v1" and controller.legacy_name) or controller.name for controller in found)
