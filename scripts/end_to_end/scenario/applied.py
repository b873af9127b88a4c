"""What ``explain`` says of every cgroup is what the kernel shows there, read without the engine."""

from __future__ import annotations

from .checks import Checks
from .node import Node
from .tree import Tree

#: Bytes from which on a figure is no limit: what kubelet and kernel write for that, they round differently.
_NO_LIMIT = 1 << 61


def shown(node: Node, tree: Tree, checks: Checks) -> None:
    pairs = []
    for about in node.explained().values():
        files = {file: text for value in about["values"] for file, text in value[f"v{tree.version}"].items()}
        paths = {tree.file(about["cgroup"], file): text for file, text in files.items()}
        # a kernel need not have them all, such as those of hugetlb
        shown = {path: path.read_text().strip() for path in paths if path.exists()}
        pairs += [(_plain(text), _plain(paths[path])) for path, text in shown.items()]
    checks.equal("values in the kernel's files that explain names", sum(a == b for a, b in pairs), len(pairs))


def _plain(text: str) -> str:
    unlimited = text == "-1" or (text.isdecimal() and int(text) >= _NO_LIMIT)
    return "max" if unlimited else text
