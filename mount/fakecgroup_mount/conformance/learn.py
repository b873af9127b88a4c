"""`fakecgroup learn`: asks a kernel all cases and writes what it is as a learnt kernel's file."""

from __future__ import annotations

import argparse
import datetime
import os
import signal
import sys
from pathlib import Path

from fakecgroup.conformance.case import LAYOUTS
from fakecgroup.conformance.learning import learn
from fakecgroup.machine.learnt import LearntKernel, parse
from fakecgroup.machine.learnt_files import SUFFIX
from fakecgroup_mount.conformance.asked_kernel import AskedKernel
from fakecgroup_mount.conformance.learn_host import ask_host
from fakecgroup_mount.conformance.learn_vm import ask_vm
from fakecgroup_mount.errors import MountError


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `fakecgroup learn`."""
    parser.add_argument("-o", dest="file", required=True, metavar="FILE.kernel", help="where to write what was learnt")
    parser.add_argument(
        "--target",
        choices=("host", "vm"),
        default="host",
        help="host (default): this machine's kernel, in own cgroups; vm: the kernel of --image, booted",
    )
    parser.add_argument("--image", metavar="FILE", help="the kernel to boot: a bzImage of x86 or an Image of arm64")
    parser.add_argument(
        "--initrd", metavar="FILE", help="is unpacked beside the guest; the NVMe driver is loaded from its modules"
    )
    parser.add_argument(
        "--layout",
        action="append",
        choices=LAYOUTS,
        help="only this one; may be given more than once (default: all that the kernel has)",
    )


def run(options: argparse.Namespace) -> int:
    """Returns 0. Raises MountError."""
    path = Path(options.file)
    if not path.name.endswith(SUFFIX):
        raise MountError(f"-o {path}: call the file NAME{SUFFIX}, so that --kernel takes it for a file")
    if (options.target == "vm") != (options.image is not None):
        raise MountError("--target vm boots the kernel of --image FILE: say both")
    if options.initrd is not None and options.image is None:
        raise MountError("--initrd goes with --image: which kernel has these modules?")
    if not os.access(path.parent, os.W_OK) or path.is_dir():
        raise MountError(f"{path} cannot be written: asking takes minutes, so this is looked at first")
    layouts = options.layout or list(LAYOUTS)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # the case under way removes its cgroups
    try:
        asked = ask_vm(options.image, options.initrd, layouts, _say) if options.image else ask_host(layouts, _say)
    finally:
        signal.signal(signal.SIGTERM, before)
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    data = learn({"release": asked.release}, asked.machine, date, asked.options, asked.recordings, path.name, _say)
    _write(path, data)
    _tell(parse(data, path.name), asked)
    return 0


def _write(path: Path, data: bytes) -> None:
    """Writes the file, or leaves what was there."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_bytes(data)
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise MountError(f"{path}: {error.strerror}") from None


def _tell(learnt: LearntKernel, asked: AskedKernel) -> None:
    """Prints what was learnt, and the known gaps."""
    print(f"{learnt.release}, learnt in {learnt.called}")
    for recorded in asked.recordings:
        one = learnt.layouts[recorded.layout]
        number = sum(map(len, one.gaps.values()))
        operations = sum(len(each.answers) for each in recorded.cases)
        rules = "{}.{}".format(*one.rules)
        print(
            f"  {recorded.layout}: {operations} operations; with the rules of {rules}, {number} are answered otherwise"
        )
        for name, numbers in one.gaps.items():
            print(f"    {len(numbers):4} in: {name}")


def _say(text: str) -> None:
    print(f"fakecgroup learn: {text}", file=sys.stderr, flush=True)
