"""Memory that a file has shown: the state with which it shows it again."""

from __future__ import annotations

from ...core.cftype import PAGE_SIZE, shown_number
from .css import Memory


def items(text: str) -> dict[str, str]:
    """The items of a text of `NAME VALUE` lines."""
    return {name: value for name, _, value in (line.partition(" ") for line in text.splitlines())}


def recall_bytes_used(css: Memory, text: str) -> None:
    """Set the bytes used here and below: what `memory.stat` does not tell of is the kernel's, or else not a file's.

    It is nobody's who could be killed, as page cache that outlives its processes. The root shows the machine's instead.
    """
    if css.parent is None:
        return
    use = css.cgroup.memory
    rest = shown_number(text) - css.usage * PAGE_SIZE - (use.total - use.slab)
    css.cgroup.memory = use._replace(slab=max(0, rest), file=max(0, use.file + min(0, rest)))


def recall_bytes_and_swap(css: Memory, text: str) -> None:
    """Set what is in swap, beside the bytes used; not in the root."""
    if css.parent is None:
        return
    css.cgroup.memory = css.cgroup.memory._replace(swap=max(0, shown_number(text) - css.bytes_used()))


def recall_swap(css: Memory, text: str) -> None:
    """Set the bytes in swap."""
    css.cgroup.memory = css.cgroup.memory._replace(swap=shown_number(text))
