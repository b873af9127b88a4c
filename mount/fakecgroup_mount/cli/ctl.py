"""`fakecgroup ctl DIR ...`: asks the daemon behind a tree to do something."""

from __future__ import annotations

import argparse
import json
import sys

from fakecgroup_mount.cli import table
from fakecgroup_mount.cli.name_options import add_name_options
from fakecgroup_mount.cli.table import GREEN, YELLOW
from fakecgroup_mount.control.client import ask
from fakecgroup_mount.control.errors import CommandError
from fakecgroup_mount.control.tracing_client import start_trace, stop_trace
from fakecgroup_mount.enforce.options import LIST_HELP, read_enforced
from fakecgroup_mount.hints import shown
from fakecgroup_mount.record.options import add_limit_option
from fakecgroup_mount.workload_options import read_text

_HEAD = ("NAME", "STATE", "PROCESSES", "CGROUP")
_COLOURS = {"runs": GREEN, "paused": YELLOW}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `ctl`: DIR, and a parser for each subject and verb."""
    parser.add_argument("dir", metavar="DIR", help="where the tree is")
    subjects = parser.add_subparsers(dest="subject", required=True, metavar="SUBJECT")
    workload = subjects.add_parser("workload", help="simulated processes")
    verbs = workload.add_subparsers(dest="verb", required=True, metavar="VERB")
    adding = verbs.add_parser("add", help="begin a scenario now; prints the names of its workloads")
    adding.add_argument("file", metavar="FILE", help="a scenario (YAML); - is standard input")
    adding.set_defaults(do=_add)
    listing = verbs.add_parser("list", help="show the workloads")
    listing.add_argument("-o", "--output", choices=("table", "json"), default="table", help="default: table")
    listing.set_defaults(do=_list)
    for verb, does in (
        ("remove", "end the processes of a workload, as if they had exited"),
        ("pause", "stop the processes of a workload, as SIGSTOP does"),
        ("resume", "let the processes of a paused workload go on"),
    ):
        changing = verbs.add_parser(verb, help=does)
        changing.add_argument("name", metavar="NAME", help="as `workload list` shows it")
        changing.set_defaults(do=_change)
    taking = subjects.add_parser("snapshot", help="take the tree into a file, as `fakecgroup snapshot DIR` does")
    taking.add_argument("-o", dest="output", metavar="FILE", required=True, help="the file to write")
    add_name_options(taking)
    taking.set_defaults(do=_snapshot)
    fault = subjects.add_parser("fault", help="rules that make operations fail, wait, or meet a change")
    verbs = fault.add_subparsers(dest="verb", required=True, metavar="VERB")
    adding = verbs.add_parser("add", help="add a rule; prints its id")
    adding.add_argument("rule", metavar="RULE", help="such as 'write */memory.max = 1*error(EBUSY)->off'")
    adding.add_argument(
        "--any-errno", action="store_true", help="take an errno that this kernel gives for no such call"
    )
    adding.set_defaults(do=_add_fault)
    listing = verbs.add_parser("list", help="show the rules, and how often each has fired")
    listing.add_argument("-o", "--output", choices=("table", "json"), default="table", help="default: table")
    listing.set_defaults(do=_list_faults)
    removing = verbs.add_parser("remove", help="take a rule back")
    removing.add_argument("id", metavar="ID", help="as `fault list` shows it")
    removing.set_defaults(do=lambda options: ask(options.dir, "fault remove", {"id": options.id}))
    trace = subjects.add_parser("trace", help="record what programs do")
    verbs = trace.add_subparsers(dest="verb", required=True, metavar="VERB")
    starting = verbs.add_parser("start", help="record from now on; the state of the tree comes first")
    starting.add_argument("file", metavar="FILE", help="the file to write; see fakecgroup trace and fakecgroup replay")
    add_limit_option(starting)
    starting.set_defaults(do=lambda options: start_trace(options.dir, options.file, options.trace_limit))
    stopping = verbs.add_parser("stop", help="end the trace; returns once it is written")
    stopping.set_defaults(do=lambda options: stop_trace(options.dir))
    enforcing = subjects.add_parser("enforce", help="show or change which limits act on real processes")
    enforcing.add_argument("list", nargs="?", metavar="LIST", type=read_enforced, help=LIST_HELP)
    enforcing.set_defaults(do=_enforce)


def run(options: argparse.Namespace) -> int:
    """Returns 0, or 1 or 2 for what the daemon refuses. Raises MountError."""
    try:
        options.do(options)
    except CommandError as error:
        print(f"fakecgroup ctl: {error}", file=sys.stderr)
        return error.status
    return 0


def _add(options: argparse.Namespace) -> None:
    name = "standard input" if options.file == "-" else shown(options.file)
    told = ask(options.dir, "workload add", {"text": read_text(options.file), "name": name})
    for key in _texts(told["left_out"]):
        print(f"fakecgroup ctl: {name}: {key} is left out here", file=sys.stderr)
    for added in _texts(told["added"]):
        print(shown(added))


def _snapshot(options: argparse.Namespace) -> None:
    from fakecgroup_mount.cli.snapshot import of_fake, tell  # takes a while to load

    tell("fakecgroup ctl", *of_fake(options.dir, options))


def _texts(value: object) -> list[str]:
    assert isinstance(value, list)
    return value


def _list(options: argparse.Namespace) -> None:
    told = ask(options.dir, "workload list", {})
    if options.output == "json":
        print(json.dumps({"version": 1, **told}, indent=2))
        return
    workloads = told["workloads"]
    assert isinstance(workloads, list)
    if not workloads:
        print("no workloads are here")
        return
    rows = [
        (shown(one["name"]), one["state"], str(len(one["pids"])), ", ".join(map(shown, one["cgroups"])))
        for one in workloads
    ]
    for line in table.lines([_HEAD, *rows], _COLOURS, sys.stdout):
        print(line)


def _add_fault(options: argparse.Namespace) -> None:
    arguments = {"text": options.rule, "any_errno": "yes" if options.any_errno else "no"}
    print(ask(options.dir, "fault add", arguments)["id"])


def _list_faults(options: argparse.Namespace) -> None:
    told = ask(options.dir, "fault list", {})
    if options.output == "json":
        print(json.dumps({"version": 1, **told}, indent=2))
        return
    rules = told["rules"]
    assert isinstance(rules, list)
    if not rules:
        print("no rules are here")
        return
    rows = [(str(one["id"]), str(one["fired"]), shown(one["rule"])) for one in rules]
    for line in table.lines([("ID", "FIRED", "RULE"), *rows], {}, sys.stdout):
        print(line)


def _change(options: argparse.Namespace) -> None:
    ask(options.dir, f"workload {options.verb}", {"name": options.name})


def _enforce(options: argparse.Namespace) -> None:
    wanted = {} if options.list is None else {"list": ",".join(sorted(options.list)) or "none"}
    print(", ".join(_texts(ask(options.dir, "enforce", wanted)["enforced"])) or "none")
