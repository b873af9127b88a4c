"""Pages that processes have and a kernel would have taken from them."""

from __future__ import annotations

from fakecgroup import MemoryUse, ProcessMemory
from fakecgroup_mount.host.taken_pages import TakenPages

MIB = 1 << 20


def has(anon: int, file: int = 0, image: object = "sh") -> ProcessMemory:
    return ProcessMemory(MemoryUse(anon * MIB, file * MIB), image, (anon + file) * MIB)


def left(taken: TakenPages, memory: ProcessMemory) -> tuple[int, int, int]:
    """MiB of anonymous memory, of files, in swap."""
    use = taken.left(7, memory).use
    return use.anon // MIB, use.file // MIB, use.swap // MIB


def test_what_is_taken_is_in_swap_or_gone() -> None:
    taken = TakenPages()
    taken.take(7, "sh", swapped=20 * MIB, dropped=3 * MIB)
    assert left(taken, has(50, 5)) == (30, 2, 20)
    assert left(taken, has(60, 6)) == (40, 3, 20)


def test_what_is_freed_was_not_in_swap_while_there_is_other() -> None:
    taken = TakenPages()
    taken.take(7, "sh", swapped=20 * MIB)
    assert left(taken, has(25)) == (5, 0, 20)
    assert left(taken, has(15)) == (0, 0, 15)
    assert left(taken, has(50)) == (35, 0, 15)


def test_what_is_refused_is_given_later() -> None:
    taken = TakenPages()
    taken.take(7, "sh", refused=6 * MIB)
    assert left(taken, has(70)) == (64, 0, 0)
    taken.give(7)
    assert left(taken, has(70)) == (70, 0, 0)


def test_another_program_has_lost_nothing() -> None:
    taken = TakenPages()
    taken.take(7, "sh", swapped=20 * MIB)
    assert left(taken, has(50, image="top")) == (50, 0, 0)
    assert left(taken, has(50)) == (50, 0, 0)
