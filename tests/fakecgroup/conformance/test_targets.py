"""Who makes a target of a name."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from fakecgroup.conformance import targets
from fakecgroup.conformance.target import TargetError
from fakecgroup.conformance.targets import GROUP, Model, Wanted, provider


def declared(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    points = [EntryPoint(name, value, GROUP) for name, value in values.items()]
    monkeypatch.setattr(targets, "entry_points", lambda group: points if group == GROUP else [])


def test_the_model_needs_no_other_package(monkeypatch: pytest.MonkeyPatch) -> None:
    declared(monkeypatch)
    assert isinstance(provider("model"), Model)


def test_a_package_declares_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    declared(monkeypatch, host="math:pi", directory="math:e")
    assert str(provider("host")).startswith("3.14")


def test_every_other_name_is_a_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    declared(monkeypatch, host="math:pi", directory="math:e")
    assert str(provider("/sys/fs/cgroup")).startswith("2.71")


def test_without_a_package_there_is_the_model_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    declared(monkeypatch)
    with pytest.raises(TargetError, match=r"^no target host: there is model$"):
        provider("host")


def test_this_project_declares_directories_the_host_and_booted_kernels() -> None:
    assert provider("host") is provider("/nowhere")
    assert provider("vm") is not provider("host")


def test_the_model_is_compared_with_both_machines() -> None:
    assert [one.machine for one in Model().recordings(Wanted("model", "v1", "6.1"))] == ["plain", "swap"]


def test_the_model_is_compared_with_the_first_kernel() -> None:
    assert {(one.layout, one.kernel) for one in Model().recordings(Wanted("model"))} == {("v2", "6.12")}
