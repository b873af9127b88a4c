"""Mount options of the unified hierarchy (kernel/cgroup/cgroup.c, cgroup2_fs_parameters, cgroup_show_options)."""

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
"""The first kernel with each option, in the order in which kernels show them."""

SYSTEMD = ("nsdelegate", "memory_recursiveprot")
"""The options that systemd mounts with."""


def read(value: object) -> tuple[str, ...]:
    """The options in the kernel's order, from "nsdelegate,memory_recursiveprot" or a list; "" gives none.

    Raises ValueError for an option that no kernel has.
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
    """The options of one kernel."""
    return tuple(option for option, since in SINCE.items() if personality.at_least(*since))


def vet(options: tuple[str, ...], personality: Personality) -> None:
    """Check that the kernel has these options. Raises ValueError that names the argument."""
    known = of_kernel(personality)
    for option in options:
        if option not in known:
            raise ValueError(
                f"mount_options: kernel {personality.name} has no {option!r}; there are {', '.join(known)}"
            )
