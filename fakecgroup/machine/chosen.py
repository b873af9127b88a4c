"""What the options of a `Kernel` choose: a layout, a kernel and a machine. Commands look at it without the model."""

from __future__ import annotations

from collections.abc import Mapping

from ..named_tuple import NamedTuple
from . import options
from .machine import Machine
from .mount_options import vet
from .personality import Personality, choose


class Chosen(NamedTuple):
    """A kernel and the machine that it runs on."""

    layout: str
    personality: Personality
    machine: Machine
    mount_options: tuple[str, ...]


def read_choice(given: Mapping[str, object]) -> Chosen:
    """The choice of options by their current names; None is the default.

    Raises ValueError that names the option for a wrong value, and a kernel without the layout.
    """
    layout = options.read("layout", given["layout"])
    kernel = options.read("kernel", given["kernel"])
    personality = choose(layout, kernel) if kernel is None or isinstance(kernel, str) else kernel.personality(layout)
    machine = Machine(
        cpus=options.read("cpus", given["cpus"]),
        numa_nodes=options.read("numa_nodes", given["numa_nodes"]),
        memory=options.read("memory", given["memory"]),
        swap=options.read("swap", given["swap"]),
        huge_pages=options.read("hugepages", given["hugepages"]),
        block_devices=options.read("block_devices", given["block_devices"]),
    )
    mount_options = options.read("mount_options", given["mount_options"])
    vet(mount_options, personality)
    return Chosen(layout, personality, machine, mount_options)
