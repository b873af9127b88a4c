"""The options of a tree: one name and one way to write each, for `Kernel`, the marker and the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import pytest

from fakecgroup import Kernel
from fakecgroup_mount.testing.options import read
from fakecgroup_mount.tree_options import add_tree_options, make_kernel

SAME = [
    {"layout": "v1", "kernel": "6.1"},
    {"layout": "v2", "kernel": "5.10"},
    {"cpus": "3", "numa_nodes": "2"},
    {"memory": "8Gi", "swap": "64Mi"},
    {"hugepages": "2Mi=64"},
    {"hugepages": "64Ki=0,1Gi=2"},
    {"block_devices": "259:0,259:1"},
]


def by_command_line(given: dict[str, str]) -> Kernel:
    parser = argparse.ArgumentParser()
    add_tree_options(parser)
    return make_kernel(parser.parse_args([f"--{name.replace('_', '-')}={value}" for name, value in given.items()]))


def by_marker(given: dict[str, str]) -> Kernel:
    return make_kernel(read(given))


def described(kernel: Kernel) -> tuple[object, ...]:
    return kernel.layout, kernel.personality, kernel.machine


@pytest.mark.parametrize("given", SAME, ids=str)
@pytest.mark.parametrize("door", [by_command_line, by_marker])
def test_what_the_command_line_takes_kernel_and_marker_take(
    door: Callable[[dict[str, str]], Kernel], given: dict[str, Any]
) -> None:
    machine = {"cpus": "4", "memory": "8Gi"}  # their default is this machine's
    assert described(door({**machine, **given})) == described(Kernel(**given))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ({"cpus": "3"}, {"cpus": 3}),
        ({"memory": "8Gi"}, {"memory": 8 << 30}),
        ({"hugepages": "2Mi=64,1Gi=0"}, {"hugepages": {"2Mi": 64, "1Gi": 0}}),
        ({"hugepages": "2Mi=64"}, {"hugepages": {2 << 20: 64}}),
        ({"block_devices": "259:0,259:1"}, {"block_devices": ["259:0", "259:1"]}),
        ({"block_devices": ""}, {"block_devices": None}),
        ({}, {"layout": None, "kernel": None, "cpus": None, "memory": None, "swap": None, "hugepages": None}),
    ],
    ids=str,
)
def test_a_python_value_is_what_the_text_says(text: dict[str, Any], value: dict[str, Any]) -> None:
    assert described(Kernel(**text)) == described(Kernel(**value))


@pytest.mark.parametrize(
    ("old", "new"),
    [({"version": "6.1"}, {"kernel": "6.1"}), ({"huge_pages": (2 << 20,)}, {"hugepages": "2Mi=0"})],
    ids=str,
)
def test_an_old_name_works_and_warns(old: dict[str, Any], new: dict[str, Any]) -> None:
    (name,), (today,) = old, new
    with pytest.warns(DeprecationWarning, match=f"^{name}= is called {today}= now$") as warned:
        made = Kernel(**old)
    assert described(made) == described(Kernel(**new))
    assert warned[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=f"^{name}= is called {today}= now$"):
        assert described(by_marker({"cpus": "4", "memory": "8Gi", **old})) == described(made)


@pytest.mark.filterwarnings("ignore:version= is called")
@pytest.mark.parametrize("make", [lambda given: Kernel(**given), read])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"layout": "v3"}, "no layout 'v3': there is .*"),
        ({"layout": 2}, "layout: 2 is no text, such as 'v2'"),
        ({"layout": {"v2": 1}}, "layout: .* is no text, such as 'v2'"),
        ({"kernel": "4.4"}, "no kernel '4.4' for layout v2: there is .*"),
        ({"kernel": ""}, "no kernel '' for layout v2: there is .*"),
        ({"kernel": 6.1}, "kernel: 6.1 is no text: quote it, kernel='6.1'"),
        ({"version": 6.1}, "version: 6.1 is no text: quote it, kernel='6.1'"),
        ({"kernel": b"6.1"}, "kernel: b'6.1' is no text, such as '6.12'"),
        ({"cpus": 0}, "cpus: 0 is not a whole number from 1 to 8192"),
        ({"cpus": "x"}, "cpus: 'x' is not a whole number from 1 to 8192"),
        ({"cpus": 10**12}, "cpus: 1000000000000 is not a whole number from 1 to 8192"),
        ({"numa_nodes": 1025}, "numa_nodes: 1025 is not a whole number from 1 to 1024"),
        ({"cpus": 2.5}, "cpus: 2.5 is neither text nor a whole number"),
        ({"numa_nodes": True}, "numa_nodes: True is neither text nor a whole number"),
        ({"memory": "8Q"}, "memory: '8Q' is no size; .*"),
        ({"memory": 0}, "memory: a machine without memory cannot be played"),
        ({"memory": {}}, "memory: {} is neither text nor a whole number"),
        ({"swap": -1}, "swap: -1 is less than nothing"),
        ({"hugepages": "2Mi"}, "hugepages: '2Mi' is not SIZE=N, such as 2Mi=64"),
        ({"hugepages": {"3Mi": 1}}, "hugepages: there are no huge pages of 3Mi: .* are known"),
        ({"hugepages": {"2Mi": 1.5}}, "hugepages: '2Mi=1.5' is not SIZE=N, such as 2Mi=64"),
        ({"hugepages": 2 << 20}, "hugepages: 2097152 is not SIZE=N,..., such as '2Mi=64,1Gi=0'"),
        ({"block_devices": "sda"}, "block_devices: 'sda' is no block device: .*"),
        ({"block_devices": 259}, "block_devices: 259 is not M:N,..., such as '259:0,259:1'"),
        ({"block_devices": {259}}, "block_devices: 259 is no block device: .*"),
        ({"mount_options": [["nsdelegate"]]}, r"mount_options: .* has no mount option \['nsdelegate'\]; there are .*"),
        ({"kernle": "6.1"}, "there is no option 'kernle'; there are layout, kernel, .*"),
        ({"kernel": "6.1", "version": "6.1"}, "version: this is the old name of kernel, which is given too"),
    ],
    ids=str,
)
def test_a_wrong_one_is_a_value_error_that_names_it(
    make: Callable[[dict[str, Any]], object], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        make(given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"processes": [1]}, r"processes: \[1\] does not have all methods of fakecgroup.Processes"),
        ({"clock": 7}, "clock: 7 is no function that returns ns"),
    ],
    ids=str,
)
def test_what_only_python_can_give_is_named_too(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        Kernel(**given)


@pytest.mark.parametrize("given", [{"memory": "8Q"}, {"cpus": "0"}, {"hugepages": "2Mi"}, {"swap": "-1"}], ids=str)
def test_the_command_line_gives_the_same_reason(given: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError) as refused:
        Kernel(**given)
    with pytest.raises(SystemExit):
        by_command_line(given)
    (name,) = given
    reason = str(refused.value).removeprefix(f"{name}: ")
    assert capsys.readouterr().err.endswith(f"error: argument --{name.replace('_', '-')}: {reason}\n")
