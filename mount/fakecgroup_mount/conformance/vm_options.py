"""The kernel that `--target vm` boots, by the options of the command."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path

from fakecgroup import personalities
from fakecgroup.machine.options import READERS
from fakecgroup_mount.conformance import oracle
from fakecgroup_mount.conformance.question import Question
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.vm.image import Image, read_image
from fakecgroup_mount.vm.kernels import cached


def add_vm_options(parser: argparse.ArgumentParser) -> None:
    """The options that only `--target vm` has."""
    group = parser.add_argument_group("a booted kernel, for --target vm")
    group.add_argument(
        "--image",
        metavar="FILE",
        help="the kernel to boot: a bzImage of x86 or an Image of arm64 (default: Debian's of --kernel, which "
        "scripts/oracle has fetched)",
    )
    group.add_argument(
        "--initrd", metavar="FILE", help="is unpacked beside the guest; the NVMe driver is loaded from its modules"
    )
    group.add_argument(
        "--baseline",
        metavar="VERSION|FILE.kernel",
        help="whose answers to compare with, as --kernel; the exit status is one for git bisect run: 0 the same, 1 "
        "something differs, 125 the kernel did not boot or could not be asked",
    )


def check_vm_options(options: argparse.Namespace) -> None:
    """Raises MountError for options that do not go together."""
    for name in ("image", "initrd", "baseline"):
        if getattr(options, name) is not None and options.target != "vm":
            raise MountError(f"--{name} is about a booted kernel: say --target vm too")
        if getattr(options, name) is not None and options.fuzz is not None:
            raise MountError(f"--{name} and --fuzz do not go together: random operations are asked of Debian's kernels")
    if options.initrd is not None and options.image is None:
        raise MountError("--initrd goes with --image: which kernel has these modules?")
    if options.image is not None and options.kernel and options.baseline and str(options.kernel) != options.baseline:
        raise MountError("--kernel and --baseline both name the answers to compare with: leave one of them out")


def read_baseline(options: argparse.Namespace) -> None:
    """Puts a learnt kernel in the place of its file's name. Raises MountError for a file that is none."""
    if options.baseline is not None:
        try:
            options.baseline = READERS["kernel"](options.baseline)
        except ValueError as error:
            raise MountError(f"--baseline: {error}") from None


def take_nearest_kernel(options: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Without --kernel and --baseline an image is compared with the recorded kernel that is nearest to its release.

    Raises MachineError for a file that is no image.
    """
    if options.image is None or options.kernel or options.baseline:
        return
    release = read_image(Path(options.image)).release
    nearest = nearest_kernel(release, options.layout or "v2")
    if nearest is not None:
        options.kernel = nearest
        say(f"{options.image} is {release}: compared with {nearest}")


def nearest_kernel(release: str, layout: str) -> str | None:
    """The newest recorded kernel that is not newer than a release, else the oldest; None if it is no version."""
    found = re.match(r"(\d{1,4})\.(\d{1,4})", release)
    if found is None:
        return None
    versions = sorted(tuple(map(int, name.split("."))) for of, name in personalities() if of == layout)
    older = [version for version in versions if version <= (int(found[1]), int(found[2]))]
    return ".".join(map(str, older[-1] if older else versions[0]))


def image_to_boot(options: argparse.Namespace, asked: Question) -> Image | None:
    """The image that is named, or Debian's kernel if it is in the cache, else None. Raises MachineError.

    None is for a kernel that scripts/oracle can fetch; MountError tells that it cannot.
    """
    if options.image is not None:
        return read_image(Path(options.image), Path(options.initrd) if options.initrd is not None else None)
    kernel = options.kernel or asked.kernel
    found = cached(kernel)
    if found is not None:
        return found.image
    if kernel != asked.kernel or not oracle.ORACLE.exists():
        raise MountError(
            f"kernel {kernel} is not in the cache: name a kernel with --image FILE, or fetch Debian's with "
            "scripts/oracle fetch of the project's checkout"
        )
    return None
