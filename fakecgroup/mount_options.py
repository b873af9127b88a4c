"""How the unified hierarchy is mounted (kernel/cgroup/cgroup.c, cgroup2_fs_parameters, cgroup_show_options)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .personality import Personality, Version

SINCE: dict[str, Version] = {
    "nsdelegate": (4, 15),
    "favordynmods": (6, 0),
    "memory_localevents": (5, 2),
    "memory_recursiveprot": (5, 7),
    "memory_hugetlb_accounting": (6, 6),
    "pids_localevents": (6, 12),
}
"""The kernel that each came with, in the order in which they are shown."""

SYSTEMD = ("nsdelegate", "memory_recursiveprot")
"""As machines mount it."""


def read(value: object) -> tuple[str, ...]:
    """The options of "nsdelegate,memory_recursiveprot" or of the single ones, in the kernel's order; "" for none.

    Raises ValueError for one that no kernel has.
    """
    if isinstance(value, str):
        value = value.split(",") if value else ()
    if not isinstance(value, Iterable) or isinstance(value, (bytes, Mapping)):
        raise ValueError(f"{value!r} is not OPTION,..., such as 'nsdelegate,memory_recursiveprot'")
    given = list(value)
    for option in given:
        if not isinstance(option, str) or option not in SINCE:
            raise ValueError(f"a unified hierarchy has no mount option {option!r}; there are {', '.join(SINCE)}")
    return tuple(option for option in SINCE if option in given)


def of_kernel(personality: Personality) -> tuple[str, ...]:
    """The options that a kernel has."""
    return tuple(option for option, since in SINCE.items() if personality.at_least(*since))


def vet(options: tuple[str, ...], personality: Personality) -> None:
    """Raises ValueError, which names the argument, for an option that the kernel does not have."""
    known = of_kernel(personality)
    for option in options:
        if option not in known:
            raise ValueError(
                f"mount_options: kernel {personality.name} has no {option!r}; there are {', '.join(known)}"
            )
