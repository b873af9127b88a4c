"""What the memory controller keeps per cgroup, for both versions (mm/memcontrol.c).

Limits are in pages as the kernel's page counters have them. Nothing is charged by itself in a fake cgroup, so usage
is 0 and every statistic is that of an idle cgroup.
"""

from __future__ import annotations

from errno import EINVAL

from ...cftype import PAGE_SIZE
from ...css import Css
from ...parse import memparse, strstrip
from ...personality import Personality
from ...refuse import refuse

PAGE_COUNTER_MAX = ((1 << 63) - 1) // PAGE_SIZE  # pages; "no limit"


class Memory(Css):
    """Limits in pages, `PAGE_COUNTER_MAX` for none; `usage` in pages."""

    min: int = 0
    low: int = 0
    high: int = PAGE_COUNTER_MAX
    max: int = PAGE_COUNTER_MAX
    swap_high: int = PAGE_COUNTER_MAX
    swap_max: int = PAGE_COUNTER_MAX
    zswap_max: int = PAGE_COUNTER_MAX
    zswap_writeback: bool = True
    usage: int = 0
    oom_group: bool = False
    # v1
    memsw_max: int = PAGE_COUNTER_MAX
    soft_limit: int = PAGE_COUNTER_MAX
    kmem_max: int = PAGE_COUNTER_MAX
    tcpmem_max: int = PAGE_COUNTER_MAX
    use_hierarchy: bool = True
    swappiness: int = 60
    oom_kill_disable: bool = False
    move_charge: int = 0

    def online(self) -> None:
        """A v1 child takes over swappiness, oom_kill_disable and use_hierarchy (mem_cgroup_css_alloc)."""
        if isinstance(self.parent, Memory) and not self.on_dfl:
            self.swappiness = self.parent.swappiness
            self.oom_kill_disable = self.parent.oom_kill_disable
            self.use_hierarchy = self.parent.use_hierarchy


def parse_pages(text: str, unlimited: str, kernel: Personality) -> int:
    """Pages of a size in bytes, rounded down; `unlimited` is the word for none (page_counter_memparse).

    Raises EINVAL for what follows a size.
    """
    text = strstrip(text)
    if text == unlimited:
        return PAGE_COUNTER_MAX
    size, rest = memparse(text, saturate=kernel.saturates)
    if rest:
        raise refuse(EINVAL)
    return min(size // PAGE_SIZE, PAGE_COUNTER_MAX)
