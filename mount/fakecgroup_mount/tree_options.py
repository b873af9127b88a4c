"""The tree options of the command line, and the model for them."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from fakecgroup.machine.chosen import read_choice
from fakecgroup.machine.machine import Machine
from fakecgroup.machine.options import DEFAULTS, READERS
from fakecgroup.machine.personality import Personality, personalities
from fakecgroup.machine.size import SUFFIXES
from fakecgroup.named_tuple import NamedTuple

if TYPE_CHECKING:
    from fakecgroup import Kernel, Processes
    from fakecgroup.snapshot import Snapshot

#: The tree options, by their names in a namespace.
TREE_OPTIONS = (
    *("layout", "kernel", "cpus", "numa_nodes", "memory", "swap", "hugepages", "block_devices", "mount_options"),
)


_OF_MACHINE = ("cpus", "numa_nodes", "memory", "swap", "hugepages")  # what programs see of it outside of the tree


class _Given(argparse.Action):
    """Stores the value, and adds the option's name to `given` in the namespace."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: object, name: str | None = None
    ) -> None:
        setattr(namespace, self.dest, value)
        namespace.given = {*getattr(namespace, "given", ()), self.dest}


def add_tree_options(parser: argparse.ArgumentParser, machine: str | None = None) -> None:
    """Adds the tree options: which kernel, on which machine.

    `given` in the namespace has the names of the options that are given. With `machine`, a text that says where the
    defaults come from, an option that is not given is None.
    """
    layouts = list(dict.fromkeys(layout for layout, _ in personalities()))
    known = "; ".join(f"{of}: {' '.join(v for layout, v in personalities() if layout == of)}" for of in layouts)
    group = parser.add_argument_group("the tree")
    add = partial(group.add_argument, action=_Given)
    add(
        "--layout",
        choices=layouts,
        default="v2",
        help="v2: the unified hierarchy; v1: a directory per hierarchy; hybrid: v1 and unified/",
    )
    add(
        "--kernel",
        type=_read("kernel"),
        metavar="V|FILE.kernel",
        help=f"whose answers to give: {known} (default: the layout's first); or a learnt kernel's file",
    )
    add("--cpus", type=_read("cpus"), metavar="N", default=os.cpu_count() or 1, help="default: this machine's")
    add("--numa-nodes", type=_read("numa_nodes"), metavar="N", default=1, help="default: 1")
    add(
        "--memory",
        type=_read("memory"),
        metavar="SIZE",
        default=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        help=f"suffixes: {SUFFIXES}; default: this machine's",
    )
    add(
        "--swap",
        type=_read("swap"),
        metavar="SIZE",
        default=0,
        help="default: none; it shows in no file of the tree, as no cgroup here has memory that could be swapped out",
    )
    add(
        "--hugepages",
        type=_read("hugepages"),
        metavar="SIZE=N,...",
        default=DEFAULTS["hugepages"],
        help="such as 2Mi=64,1Gi=0: which sizes have files (default: these two, and for run what else this "
        "machine has, such as 64Ki and 32Mi on arm64; no page of any). How many there are shows under run alone",
    )
    add(
        "--block-devices",
        type=_read("block_devices"),
        metavar="M:N,...",
        default=(),
        help="whole disks by number, such as 259:0,259:1 (default: none)",
    )
    add(
        "--mount-options",
        type=_read("mount_options"),
        metavar="OPTION,...",
        default=DEFAULTS["mount_options"],
        help="how the unified hierarchy is mounted (default: nsdelegate,memory_recursiveprot, as systemd mounts it)",
    )
    group.add_argument(
        "--from",
        dest="snapshot",
        type=_snapshot,
        metavar="FILE",
        help="a snapshot (`fakecgroup snapshot`) or Talos's cgroup.tar.gz: the same tree on the same machine, with "
        "simulated processes; of the other tree options, --kernel goes with it",
    )
    if machine is not None:
        group.description = f"Of what is not given: {machine}."
        parser.set_defaults(**dict.fromkeys(TREE_OPTIONS))


class Vetted(NamedTuple):
    """What parsed options choose. `differs` and `lives` are those of the kernel that a snapshot gives."""

    layout: str
    personality: Personality
    machine: Machine
    differs: tuple[str, ...] = ()
    lives: bool = False


def vet(options: argparse.Namespace) -> Vetted:
    """What the options choose; it takes no model, but for --from. Raises ValueError as `make_kernel`."""
    if options.snapshot is None:
        return Vetted(*read_choice({name: getattr(options, name) for name in TREE_OPTIONS})[:3])
    kernel = make_kernel(options)
    return Vetted(kernel.layout, kernel.personality, kernel.machine, kernel.differs, kernel.lives)


def make_kernel(
    options: argparse.Namespace, processes: Processes | None = None, *, clock: Callable[[], int] = time.time_ns
) -> Kernel:
    """The model for parsed options. `clock` gives ns.

    Raises ValueError for a kernel version without this layout, and for an option that does not go with --from.
    """
    if options.snapshot is not None:
        from fakecgroup.snapshot import restore  # takes a while to load

        return restore(
            options.snapshot,
            options.kernel,
            processes=processes,
            clock=clock,
            seed=getattr(options, "seed", 0),
        )
    from fakecgroup import Kernel  # takes a while to load

    given = {name: getattr(options, name) for name in TREE_OPTIONS}
    return Kernel(**given, processes=processes, clock=clock, seed=getattr(options, "seed", 0))


def vet_snapshot(options: argparse.Namespace) -> None:
    """Checks that no option says otherwise than the snapshot of --from, and takes the layout from there.

    Raises ValueError.
    """
    snapshot: Snapshot | None = options.snapshot
    if snapshot is None:
        return
    for name in sorted(getattr(options, "given", {*()}) & set(TREE_OPTIONS) - {"kernel", "layout"}):
        raise ValueError(f"--{name.replace('_', '-')}: the machine is that of the snapshot {snapshot.called}")
    if "layout" in getattr(options, "given", ()) and options.layout != snapshot.layout:
        raise ValueError(f"--layout: the snapshot {snapshot.called} has {snapshot.layout}; leave the option out")
    options.layout = snapshot.layout
    options.given = {*getattr(options, "given", ()), *_OF_MACHINE}


def tell_differences(options: argparse.Namespace, kernel: Kernel | Vetted) -> None:
    """Says in what a restored tree differs from its snapshot, in a line for each kind."""
    for line in kernel.differs:
        print(f"fakecgroup {options.command}: {options.snapshot.called}: {line}", file=sys.stderr)


def _snapshot(path: str) -> Snapshot:
    from fakecgroup.snapshot import read_snapshot  # takes a while to load

    try:
        return read_snapshot(path)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _read(name: str) -> Callable[[str], object]:
    """The reader of an option. It raises argparse's exception for a wrong value."""

    def read(text: str) -> object:
        try:
            return READERS[name](text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read
