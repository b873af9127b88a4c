"""The kernel's files hold the values that ``explain`` gives; they are read without the engine."""

from __future__ import annotations

from .cgroups import Cgroups
from .checks import Checks
from .node import Node

#: Bytes. A larger figure means no limit: the kubelet and the kernel round it differently.
_NO_LIMIT = 1 << 61


def check_values(node: Node, cgroups: Cgroups, checks: Checks) -> None:
    pairs = []
    for about in node.explained().values():
        files = {file: text for value in about["values"] for file, text in value[f"v{cgroups.version}"].items()}
        paths = {cgroups.file(about["cgroup"], file): text for file, text in files.items()}
        # a kernel need not have them all, such as those of hugetlb
        shown = {path: path.read_text().strip() for path in paths if path.exists()}
        pairs += [(_plain(text), _plain(paths[path])) for path, text in shown.items()]
    checks.equal("values in the kernel's files that explain names", sum(a == b for a, b in pairs), len(pairs))


def _plain(text: str) -> str:
    unlimited = text == "-1" or (text.isdecimal() and int(text) >= _NO_LIMIT)
    return "max" if unlimited else text
