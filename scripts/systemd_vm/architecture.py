"""What differs between machines of Debian's architectures."""

from __future__ import annotations

from typing import NamedTuple


class Architecture(NamedTuple):
    """QEMU's options for the processor; the port that the kernel writes to; another port for what a script prints, and
    QEMU's options for that one, whose character device is called ``output``.
    """

    processor: tuple[str, ...]
    console: str
    output: str
    output_port: tuple[str, ...]


ARCHITECTURES = {
    "amd64": Architecture(("-cpu", "max,la57=off"), "ttyS0", "ttyS1", ("-serial", "chardev:output")),
    "arm64": Architecture(
        ("-machine", "virt", "-cpu", "cortex-a76"), "ttyAMA0", "ttyS0", ("-device", "pci-serial,chardev=output")
    ),
}
