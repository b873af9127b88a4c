"""The reference of one controller: every interface file by kernel and layout."""

from __future__ import annotations

from fakecgroup import personalities

from .behaviour import Kind, kinds
from .conformance_cases import anchor, families_of
from .interface_files import CORE, KERNELS, InterfaceFile, controllers, files_of
from .tables import table

_TITLES = {True: "On the unified hierarchy", False: "On v1 hierarchies"}


def page(controller: str) -> str:
    """The tables of one controller. Raises ValueError for a name that no controller has."""
    if controller not in controllers():
        raise ValueError(f"no controller {controller!r}: there are {', '.join(controllers())}")
    parts = []
    for unified, title in _TITLES.items():
        files = files_of(controller, unified=unified)
        parts.append(f"## {title}\n")
        parts.append(_table(files, unified=unified) if files else f"{_named(controller)} has no files there.\n")
    return "\n".join(parts)


def _named(controller: str) -> str:
    return "The core" if controller == CORE else f"`{controller}`"


def _table(files: tuple[InterfaceFile, ...], *, unified: bool) -> str:
    layout = "v2" if unified else "v1"
    kernels = [kernel for kernel in KERNELS if (layout, kernel) in personalities()]
    return table(
        ("file", *kernels, "since, until", "mode", "in cgroups", "text", "cases"),
        (
            (
                f"`{file.name}`",
                *(" ".join(file.layouts.get(kernel, ["–"])) for kernel in kernels),
                _life(file, kernels),
                file.mode,
                file.where,
                _text(file),
                _cases(file, unified=unified),
            )
            for file in files
        ),
    )


def _life(file: InterfaceFile, kernels: list[str]) -> str:
    """The first kernel with the file and the first without it again, where it is not in all; what it is built with."""
    have = [kernel in file.layouts for kernel in kernels]
    said = []
    if not have[0]:
        said.append(f"since {kernels[have.index(True)]}")
    if not have[-1]:
        said.append(f"until {kernels[len(have) - have[::-1].index(True)]}")
    said += sorted(f"`{config}`" for config in file.configs)
    return ", ".join(said)


def _text(file: InterfaceFile) -> str:
    """What decides the text: one word where it is the same on all kernels, in the root and below."""
    below, root = (_kinds(file, root=root) for root in (False, True))
    said = _joined(below)
    if root and root != below:
        said += ("; in the root " if said else "") + _joined(root)
    return said


def _kinds(file: InterfaceFile, *, root: bool) -> dict[Kind, list[str]]:
    """The kernels on which the file's text is of each kind. Kernels without the file in such a cgroup are left out."""
    layout = "v2" if file.unified else "v1"
    found: dict[Kind, list[str]] = {}
    for kernel in file.kernels:
        if layout in file.layouts[kernel]:
            kind = kinds(kernel, unified=file.unified).get((file.name, root))
            if kind is not None:
                found.setdefault(kind, []).append(kernel)
    return found


def _joined(found: dict[Kind, list[str]]) -> str:
    if len(found) == 1:
        return next(iter(found)).value
    return ", ".join(f"{kind.value} ({' '.join(kernels)})" for kind, kernels in found.items())


def _cases(file: InterfaceFile, *, unified: bool) -> str:
    families = families_of(file.name, unified=unified).most_common(3)
    return ", ".join(f"[{family.replace('_', ' ')}](#{anchor(family)}) {count}" for family, count in families)
