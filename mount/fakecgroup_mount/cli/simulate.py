"""`fakecgroup simulate`: plays a scenario on virtual time and says what happened."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from fakecgroup import Kernel
from fakecgroup.scenario import Scenario, ScenarioError, play, read_scenario
from fakecgroup.scenario.page import LibraryMissingError, page, plotly_js
from fakecgroup.scenario.report import as_csv, as_json, table, unmet
from fakecgroup.simulation.words import parse_duration
from fakecgroup_mount.errors import MountError
from fakecgroup_mount.hints import shown
from fakecgroup_mount.tree_options import (
    TREE_OPTIONS,
    add_tree_options,
    make_kernel,
    tell_differences,
    vet_snapshot,
)
from fakecgroup_mount.workload_options import read_text

_MOST_SAMPLES = 100_000
_POINTS = 600  # of a line in a page


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `fakecgroup simulate`."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a YAML file; - is standard input")
    parser.add_argument(
        "--until", type=_duration, metavar="TIME", help="such as 60s or 2h (default: the last `at` or `expect`)"
    )
    parser.add_argument(
        "--every",
        type=_duration,
        metavar="TIME",
        help="between two samples of json and csv (default: a 60th, with --html a 600th, at least 1s)",
    )
    parser.add_argument("--seed", type=_seed, metavar="N", help="of what is random (default: the scenario's, else 0)")
    parser.add_argument("-o", dest="output", choices=("table", "json", "csv"), default="table", help="default: table")
    parser.add_argument(
        "--html", metavar="FILE", help="also write a page with timelines; this needs pip install 'fakecgroup[html]'"
    )
    add_tree_options(parser, machine="the scenario's, else 4 CPUs and 8Gi")


def run(options: argparse.Namespace) -> int:
    """Returns 0 if all expectations hold, 1 if one does not, 2 for a wrong scenario. Raises MountError."""
    name = options.scenario
    if options.html is not None:
        _check_library()
    text = read_text(name)
    machine = {option: getattr(options, option) for option in TREE_OPTIONS}
    try:
        vet_snapshot(options)
        scenario = read_scenario(text, "standard input" if name == "-" else shown(name))
        until = scenario.ends if options.until is None else options.until
        every = options.every or max(1_000_000_000, (until or 0) // (60 if options.html is None else _POINTS))
        if options.output == "table" and options.html is None:
            every = until or every
        if until is not None and until // every > _MOST_SAMPLES:
            raise ScenarioError(f"--every: over {_MOST_SAMPLES:,} samples until {until / 1e9:g} s: take a longer time")
        kernel = _restored(options, scenario)
        outcome = play(scenario, machine=machine, until=options.until, every=every, seed=options.seed, kernel=kernel)
    except ValueError as error:
        print(f"fakecgroup simulate: {error}", file=sys.stderr)
        return 2
    if options.html is not None:
        called = "standard input" if name == "-" else os.path.basename(name)
        _write_page(options.html, page(outcome, f"fakecgroup simulate {called}", table(outcome)))
    if options.output == "table":
        print("\n".join(table(outcome)))
    else:
        print(
            as_json(outcome) if options.output == "json" else as_csv(outcome),
            end="" if options.output == "csv" else "\n",
        )
        for one in outcome.checked:
            if not one.holds:
                print(f"fakecgroup simulate: {unmet(one)}", file=sys.stderr)
    return 0 if outcome.holds else 1


def _restored(options: argparse.Namespace, scenario: Scenario) -> Kernel | None:
    """The kernel of --from; None without it. Raises ValueError."""
    if options.snapshot is None:
        return None
    if options.seed is None:
        options.seed = scenario.seed or 0
    kernel = make_kernel(options, clock=lambda: 0)
    tell_differences(options, kernel)
    return kernel


def _check_library() -> None:
    """Before a long simulation rather than after it. Raises MountError."""
    try:
        plotly_js()
    except LibraryMissingError as error:
        raise MountError(f"--html: {error}") from None


def _write_page(name: str, text: str) -> None:
    try:
        with open(name, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise MountError(f"--html {shown(name)}: {error.strerror}") from None


def _duration(text: str) -> int:
    return _checked(lambda: parse_duration(text)) or _refuse_zero()


def _refuse_zero() -> int:
    raise argparse.ArgumentTypeError("a time of 0 is none")


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def _checked(parse: Callable[[], int]) -> int:
    try:
        return parse()
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
