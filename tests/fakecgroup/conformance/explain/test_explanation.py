"""One case beside each other on all recorded kernels."""

from __future__ import annotations

import json

import pytest

from fakecgroup import Kernel, personalities
from fakecgroup.conformance.case import Case
from fakecgroup.conformance.explain.as_json import json_text
from fakecgroup.conformance.explain.as_table import table_text
from fakecgroup.conformance.explain.cftypes import handlers_of
from fakecgroup.conformance.explain.explanation import Explanation, NoCaseError, case_named, explanations
from fakecgroup.conformance.explain.kernel_functions import functions_of
from fakecgroup.machine.learnt_files import read_learnt


def shown(name: str, layout: str, machine: str = "plain") -> list[str]:
    return table_text(name, explanations(name, [layout], machine)).splitlines()


def test_a_part_of_a_name_finds_the_case() -> None:
    assert case_named("moving in is NEVER") == "moving in is never refused"


def test_a_whole_name_is_taken_though_others_have_it_in_theirs() -> None:
    assert case_named("statfs") == "statfs"


def test_a_title_finds_the_case() -> None:
    assert case_named("a child with rdma shows the files of it") == "files of rdma in a child with it"


def test_a_part_of_many_names_tells_some() -> None:
    with pytest.raises(NoCaseError, match=r"^\d+ cases have 'parses' in their names: .*; .* and \d+ more$"):
        case_named("parses")


@pytest.mark.hostile("names of cases that there are not, for conformance explain", times=3)
@pytest.mark.parametrize("text", ["no such case", "\udcff\0", "." * 100_000])
def test_a_name_that_no_case_has_is_told(text: str) -> None:
    with pytest.raises(NoCaseError, match=r"^no case has .{1,120} in its name$"):
        case_named(text)


def test_a_case_is_explained_on_each_layout_that_has_it() -> None:
    assert [one.case.layout for one in explanations("moving in is never refused")] == ["v2", "v1"]


def test_each_kernel_has_an_answer_to_each_operation() -> None:
    (one,) = explanations("moving in is never refused", ["v2"])
    assert {kernel: len(answers) for kernel, answers in one.answers.items()} == dict.fromkeys(
        ("5.10", "6.1", "6.12", "7.2"), len(one.case.ops)
    )


def test_where_kernels_differ_the_line_is_marked() -> None:
    lines = shown("moving in is never refused", "v2")
    assert lines[0] == "v2, pids: moving in is never refused"
    assert lines[1].split() == ["5.10", "6.1", "6.12", "7.2"]
    assert next(line for line in lines if " 8 " in line).split() == [
        *("*", "8", "read", "a/pids.peak", "ENOENT@open", '"2\\n"', "=", "=")
    ]
    assert next(line for line in lines if " 0 " in line).split()[-4:] == ["ok", "=", "=", "="]


def test_a_case_that_stops_a_machine_says_so() -> None:
    case = Case("c", "v2", (("mkdir", "a"), ("mkdir", "b"), ("mkdir", "c")))
    answers = {"6.1": ((None, None), ("HANG", None), ("-", None)), "6.12": ((None, None),) * 3}
    text = table_text("c", [Explanation("f", case, "plain", answers, ())])
    assert "the machine stopped" in text
    assert "not asked" in text


def test_long_operations_and_answers_are_cut() -> None:
    assert max(map(len, shown("pids.max parses length", "v2"))) < 200


def test_the_kernels_function_is_that_of_the_files_row() -> None:
    lines = shown("moving in is never refused", "v2")
    assert "  write pids.max: pids_max_write (kernel/cgroup/pids.c)" in lines
    assert "  read pids.peak: pids_peak_read (kernel/cgroup/pids.c)" in lines
    assert "  mkdir: cgroup_mkdir (kernel/cgroup/cgroup.c)" in lines


def test_each_file_of_the_model_has_the_functions_of_the_kernels_tables() -> None:
    for layout, kernel in personalities():
        for hierarchy in Kernel(layout, kernel).hierarchies:
            for name in {**hierarchy.root_table, **hierarchy.child_table}:
                assert handlers_of(name, dfl=hierarchy.dfl) is not None, (layout, kernel, name)


def test_renaming_is_another_function_on_v1() -> None:
    case = Case("c", "hybrid", (("rename", "pids/a", "pids/b"),))
    assert [one.names for one in functions_of(case, ["6.1"])] == [("cgroup1_rename",)]


def test_a_learnt_kernel_is_a_column() -> None:
    learnt = read_learnt("debian-6.16-cloud-amd64.kernel")
    (one,) = explanations("io.max takes rbps", ["v2"], learnt=[learnt])
    assert list(one.answers)[-1] == "debian-6.16-cloud-amd64.kernel"
    assert one.answers["debian-6.16-cloud-amd64.kernel"][7] == (None, None)
    assert one.answers["6.12"][7] == ("EINVAL@write", None)


@pytest.mark.parametrize(
    ("layout", "path", "names"),
    [
        ("v1", "cpu,cpuacct/a/cpuacct.stat", ("cpuacct_stats_show",)),
        ("v1", "cpu/a/cpu.stat", ("cpu_cfs_stat_show",)),
        ("hybrid", "unified/a/cgroup.events", ("cgroup_events_show",)),
        ("v2", "a/cgroup.freeze", ("cgroup_freeze_show",)),
    ],
)
def test_files_are_found_in_every_hierarchy(layout: str, path: str, names: tuple[str, ...]) -> None:
    (found,) = functions_of(Case("c", layout, (("read", path),)), ["6.1"])
    assert (found.file, found.does, found.names) == (path.rpartition("/")[2], "read", names)


def test_an_open_file_is_known_by_its_path() -> None:
    ops = (("open", "h", "a/cgroup.kill", "O_WRONLY"), ("in", "w", "fwrite", "h", "1"))
    found = functions_of(Case("c", "v2", ops), ["6.12"])
    assert [(one.file, one.does) for one in found] == [("", "open"), ("cgroup.kill", "write")]


def test_a_file_that_no_kernel_has_has_no_function() -> None:
    assert functions_of(Case("c", "v2", (("read", "a/no.such"),)), ["6.12"]) == ()


def test_json_has_every_answer_whole() -> None:
    (one,) = explanations("pids.max parses length", ["v2"])
    (layout,) = json.loads(json_text(one.case.name, [one]))["layouts"]
    assert [step["operation"] for step in layout["steps"]] == [json.loads(json.dumps(op)) for op in one.case.ops]
    assert layout["kernels"] == ["5.10", "6.1", "6.12", "7.2"]
    assert layout["steps"][0]["answers"]["6.12"] == list(one.answers["6.12"][0])
    assert ["pids_max_write"] in [function["names"] for function in layout["functions"]]
