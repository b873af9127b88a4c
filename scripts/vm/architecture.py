"""What differs between machines of Debian's architectures."""

from __future__ import annotations

from typing import NamedTuple


class Architecture(NamedTuple):
    """``emulator``: QEMU's program; ``package``: the Debian package that it comes from; ``processor``: its options for
    the machine and the CPU. ``console``: the port that the kernel writes to; ``output``: the port for what a script
    prints; ``output_port``: QEMU's options for that one, whose character device is called ``output``.
    """

    emulator: str
    package: str
    processor: tuple[str, ...]
    console: str
    output: str
    output_port: tuple[str, ...]


#: By Debian's names.
ARCHITECTURES = {
    "amd64": Architecture(
        emulator="qemu-system-x86_64",
        package="qemu-system-x86",
        processor=("-cpu", "max,la57=off"),
        console="ttyS0",
        output="ttyS1",
        output_port=("-serial", "chardev:output"),
    ),
    "arm64": Architecture(
        emulator="qemu-system-aarch64",
        package="qemu-system-arm",
        processor=("-machine", "virt", "-cpu", "cortex-a76"),
        console="ttyAMA0",
        output="ttyS0",
        output_port=("-device", "pci-serial,chardev=output"),
    ),
}
