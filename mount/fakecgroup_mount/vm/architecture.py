"""What differs between machines of Debian's architectures."""

from __future__ import annotations

from fakecgroup.named_tuple import NamedTuple


class Architecture(NamedTuple):
    """``machine``: as uname(1) has it. ``emulator``: QEMU's program; ``package``: the Debian package that has it;
    ``processor``: its options for the machine and the CPU. ``compiler``: the cross compiler for C;
    ``compiler_packages``: its Debian packages. ``console``: the port that the kernel writes to; ``output``: the port
    for what a script prints; ``output_port``: QEMU's options for that one, whose character device is called ``output``.
    """

    machine: str
    emulator: str
    package: str
    processor: tuple[str, ...]
    compiler: str
    compiler_packages: str
    console: str
    output: str
    output_port: tuple[str, ...]


#: By Debian's names.
ARCHITECTURES = {
    "amd64": Architecture(
        machine="x86_64",
        emulator="qemu-system-x86_64",
        package="qemu-system-x86",
        processor=("-cpu", "max,la57=off"),
        compiler="x86_64-linux-gnu-gcc",
        compiler_packages="gcc-x86-64-linux-gnu libc6-dev-amd64-cross",
        console="ttyS0",
        output="ttyS1",
        output_port=("-serial", "chardev:output"),
    ),
    "arm64": Architecture(
        machine="aarch64",
        emulator="qemu-system-aarch64",
        package="qemu-system-arm",
        processor=("-machine", "virt", "-cpu", "cortex-a76"),
        compiler="aarch64-linux-gnu-gcc",
        compiler_packages="gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
        console="ttyAMA0",
        output="ttyS0",
        output_port=("-device", "pci-serial,chardev=output"),
    ),
}
