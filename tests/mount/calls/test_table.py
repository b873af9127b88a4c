"""The table of trapped system calls names the files that answer them."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from fakecgroup import outside
from fakecgroup_mount import calls
from fakecgroup_mount.calls.table import REFUSED_CALLS, TRAPPED_CALLS, trapped

SAME_PAGE = {"prlimit64": "prlimit"}  # the man page that has the call


def files() -> dict[str, set[str]]:
    """The man pages of the calls that the room's docstring lists, by file."""
    lines = re.findall(r"^    (\w+)\.py +(\w+\(2\).*)$", calls.__doc__ or "", re.MULTILINE)
    return {module: set(re.findall(r"(\w+)\(2\)", text)) for module, text in lines}


@pytest.mark.parametrize("name", TRAPPED_CALLS)
def test_the_file_that_answers_a_call_says_so_in_its_first_line(name: str) -> None:
    module = import_module(f"fakecgroup_mount.calls.{TRAPPED_CALLS[name].module}")
    assert f"{SAME_PAGE.get(name, name)}(2)" in (module.__doc__ or "").splitlines()[0]


def test_the_rooms_docstring_lists_each_call_under_its_file() -> None:
    listed: dict[str, set[str]] = {}
    for name, call in TRAPPED_CALLS.items():
        listed.setdefault(call.module, set()).add(SAME_PAGE.get(name, name))
    assert files() == listed


def test_every_call_has_a_sentence() -> None:
    texts = {name: call.gets for name, call in TRAPPED_CALLS.items()}
    texts |= {name: call.why for name, call in REFUSED_CALLS.items()}
    assert {name for name, text in texts.items() if not text.endswith(".")} == set()


def test_no_call_is_both_answered_and_refused() -> None:
    assert not TRAPPED_CALLS.keys() & REFUSED_CALLS.keys()


@pytest.mark.parametrize("room", [calls, outside])
def test_the_rooms_docstring_names_each_of_its_modules(room: ModuleType) -> None:
    modules = {path.stem for path in Path(str(room.__file__)).parent.glob("*.py")} - {"__init__"}
    assert modules - set(re.findall(r"\w+", room.__doc__ or "")) == set()


@pytest.mark.parametrize(
    ("parts", "calls"),
    [
        ((), set()),
        (("cpus",), {"sched_setaffinity", "sched_getaffinity"}),
        (("memory",), {"sysinfo"}),
        (("cpus", "memory"), {"sched_setaffinity", "sched_getaffinity", "sysinfo"}),
    ],
)
def test_what_tells_of_the_machine_is_trapped_only_for_another_one(parts: tuple[str, ...], calls: set[str]) -> None:
    of_the_machine = {"sched_setaffinity", "sched_getaffinity", "sysinfo"}
    assert trapped(frozenset(parts)).keys() & of_the_machine == calls
