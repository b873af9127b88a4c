"""The generated reference says what the code has."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

import fakecgroup
from documentation import commands, conformance_cases, controllers, kernels, metrics, parts, python_names, system_calls
from documentation.behaviour import Kind, kinds
from documentation.command_line import PARSERS
from documentation.interface_files import CORE
from documentation.interface_files import controllers as every_controller
from fakecgroup import Kernel, personalities
from fakecgroup_mount.calls.table import REFUSED, TRAPPED, TRAPPED_CALLS

DOCS = Path(__file__).parents[2] / "docs"
Cells = dict[tuple[str, str], set[str]]


def cells(page: str) -> dict[str, Cells]:
    """The layouts of each (file, kernel) of a page, by the heading of the table."""
    found: dict[str, Cells] = {}
    for part in page.split("## ")[1:]:
        title, _, text = part.partition("\n")
        rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
        found[title] = {
            (row[0].strip("`"), kernel): set(cell.split()) - {"–"}
            for row in rows[2:]
            for kernel, cell in zip(rows[0], row, strict=False)
            if re.fullmatch(r"[\d.]+", kernel)
        }
    return found


def of_the_model(controller: str, *, unified: bool) -> Cells:
    """The layouts of each (file, kernel) that the model has."""
    found: Cells = {}
    for layout, version in personalities():
        for hierarchy in Kernel(layout, version).hierarchies:
            if hierarchy.dfl is unified:
                for name, entry in {**hierarchy.child_table, **hierarchy.root_table}.items():
                    if (entry.controller or CORE) == controller:
                        found.setdefault((name, version), set()).add(layout)
    return found


@pytest.mark.parametrize("controller", every_controller())
def test_the_page_of_a_controller_has_each_file_of_each_kernel_in_each_layout(
    controller: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controllers, "_text", lambda file: "")  # takes seconds, and is tested below
    shown = cells(controllers.page(controller))
    for title, unified in (("On the unified hierarchy", True), ("On v1 hierarchies", False)):
        assert {at: layouts for at, layouts in shown[title].items() if layouts} == of_the_model(
            controller, unified=unified
        )


def test_the_page_of_cpu_says_since_when_a_file_is_there() -> None:
    page = controllers.page("cpu")
    assert re.search(r"^\| `cpu.max.burst` \| – \| v2 \| v2 \| v2 \| since 6.1 \| 0644 \|", page, re.MULTILINE)
    assert re.search(r"^\| `cpu.rt_period_us` .* since 6.18, until 7.2, `RT_GROUP_SCHED` ", page, re.MULTILINE)


@pytest.mark.parametrize(
    ("file", "root", "kind"),
    [
        ("memory.max", False, Kind.STORED),
        ("cpuset.cpus.partition", False, Kind.STORED),
        ("cgroup.pressure", False, Kind.STORED),
        ("memory.current", False, Kind.COMPUTED),
        ("memory.events", False, Kind.COMPUTED),
        ("cgroup.events", False, Kind.COMPUTED),
        ("cgroup.procs", True, Kind.COMPUTED),
        ("cpuset.cpus.effective", False, Kind.COMPUTED),
        ("io.pressure", False, Kind.CONSTANT),
        ("cgroup.controllers", True, Kind.CONSTANT),
        ("cgroup.kill", False, Kind.WRITE_ONLY),
    ],
)
def test_it_is_tried_out_what_decides_a_file(file: str, root: bool, kind: Kind) -> None:
    assert kinds("6.12", unified=True)[file, root] is kind


def test_every_controller_has_a_page() -> None:
    pages = {page.stem for page in (DOCS / "reference" / "controllers").glob("*.md")} - {"index"}
    assert pages == set(every_controller())


def test_every_generated_part_is_asked_for_and_none_is_missing() -> None:
    asked = {
        part
        for page in DOCS.rglob("*.md")
        for part in re.findall(r"^<!-- generated: ([\w-]+)", page.read_text(), re.MULTILINE)
    }
    assert asked == parts.PARTS.keys()


def test_a_part_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="no generated part 'nothing'"):
        parts.filled("<!-- generated: nothing -->")


def options(parser: argparse.ArgumentParser) -> set[str]:
    """Every option of every command below a parser."""
    found = {name for action in parser._actions for name in action.option_strings}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                found |= options(command)
    return found


@pytest.mark.parametrize("program", PARSERS)
def test_the_page_of_a_program_has_each_option_of_each_command(program: str) -> None:
    page = commands.page(program)
    named = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", page))
    assert options(PARSERS[program]()) <= named


def test_every_trapped_and_refused_call_is_listed() -> None:
    listed = set(re.findall(r"^\| `(\w+)`", system_calls.page(), re.MULTILINE))
    assert listed == TRAPPED.keys() | REFUSED.keys()


@pytest.mark.parametrize("name", TRAPPED_CALLS)
def test_the_line_of_a_trapped_call_has_its_sentence_and_the_file_that_answers_it(name: str) -> None:
    call = TRAPPED_CALLS[name]
    (line,) = re.findall(rf"^\| `{name}`.*$", system_calls.page(), re.MULTILINE)
    assert call.gets in line
    assert f"| `calls/{call.module}.py` |" in line


def test_a_call_that_not_every_processor_has_is_listed_with_those_that_have_it() -> None:
    partly = set(re.findall(r"^\| `(\w+)` \(x86_64\) \|", system_calls.page(), re.MULTILINE))
    assert partly == {"access", "open", "stat", "lstat", "fork", "vfork"}


def test_every_kernel_is_listed_with_its_layouts() -> None:
    rows = re.findall(r"^\| (\d[\d.]*) \| ([\w, ]+) \|", kernels.page(), re.MULTILINE)
    listed = {(layout, version) for version, layouts in rows for layout in layouts.split(", ")}
    assert listed == set(personalities())


def test_every_metric_has_its_labels() -> None:
    assert "| `cgroup_engine_build_info` | info | version, kubelet_version, layout |" in metrics.page()


def test_every_public_name_is_in_the_api() -> None:
    named = set(re.findall(r"^\.\. auto\w+:: (\w+)$", python_names.model(), re.MULTILINE))
    assert named == set(fakecgroup.__all__)


def test_every_fixture_has_its_text() -> None:
    assert re.findall(r"^### `(\w+)`\n\n\S", python_names.fixtures(), re.MULTILINE) == list(python_names.FIXTURES)


def test_the_cases_that_ask_about_a_file_are_counted() -> None:
    families = conformance_cases.families_of("cpu.max", unified=True)
    assert families.most_common(1)[0][0] == "cpu"
    assert f"({conformance_cases.anchor('cpu')})=" in conformance_cases.page()
