"""`fakecgroup conformance explain`: what each recorded kernel said to one case."""

from __future__ import annotations

import argparse

from fakecgroup.conformance.case import LAYOUTS
from fakecgroup.conformance.explain.as_json import json_text
from fakecgroup.conformance.explain.as_table import table_text
from fakecgroup.conformance.explain.explanation import NoCaseError, case_named, explanations
from fakecgroup.conformance.recording import MACHINES, PLAIN, RecordingError
from fakecgroup.machine.learnt import LearntError
from fakecgroup.machine.learnt_files import read_learnt
from fakecgroup_mount.errors import MountError


def add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its options."""
    parser = commands.add_parser(
        "explain",
        help="say what each recorded kernel answered to one case",
        description="Shows the operations of a case, what each recorded kernel answered, and which of the kernel's "
        "functions read and write the files. Lines where kernels differ begin with *.",
    )
    parser.add_argument("case", metavar="CASE", help="the case's name, or a part of it that no other has")
    parser.add_argument("--layout", choices=LAYOUTS, help="only on this layout (default: on each that has the case)")
    parser.add_argument("--machine", choices=MACHINES, default=PLAIN, help="of the recordings (default: plain)")
    parser.add_argument(
        "--kernel",
        action="append",
        default=[],
        dest="learnt",
        metavar="FILE.kernel",
        help="also what this learnt kernel answered; may be given more than once",
    )
    parser.add_argument("-o", dest="output", choices=("table", "json"), default="table", help="default: table")
    parser.set_defaults(run=explain)


def explain(options: argparse.Namespace) -> int:
    """Returns 0. Raises MountError where no case has the name."""
    try:
        name = case_named(options.case)
        learnt = [read_learnt(file) for file in options.learnt]
        found = explanations(name, [options.layout] if options.layout else LAYOUTS, options.machine, learnt)
    except (NoCaseError, RecordingError, LearntError) as error:
        raise MountError(str(error)) from None
    if not found:
        where = f" on {options.layout}" if options.layout else ""
        raise MountError(f"no recorded kernel was asked {name!r}{where} on the machine {options.machine}")
    print((json_text if options.output == "json" else table_text)(name, found))
    return 0
