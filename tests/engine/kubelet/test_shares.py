"""Millicores, shares, weights, quotas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgroup_engine.kubelet.cpu_weight import Formula, default_formula, linear, parse_formulas, quadratic, weight
from cgroup_engine.kubelet.oci_runtime import OciRuntime
from cgroup_engine.kubelet.shares import (
    milli_to_quota,
    milli_to_shares,
    quota_to_milli,
    shares_to_milli,
    weight_to_shares,
)
from cgroup_engine.model.limits import DEFAULT_PERIOD_US

INVERSES: dict[str, Callable[..., int]] = {
    "SharesToMilliCPU": shares_to_milli,
    "QuotaToMilliCPU": quota_to_milli,
    "cpuWeightToCPUShares": weight_to_shares,
}


NAMES = ("pod_cgroup_name", "NodeAllocatableRoot", "systemd_ExpandSlice")  # their rows are for test_names


def check_conversion(row: dict[str, Any], container_weight: Callable[..., Any] = quadratic) -> None:
    """A row of table B; fails for a function that it does not know."""
    if row["fn"] == "MilliCPUToShares":
        assert milli_to_shares(row["in"]) == row["out"], row
    elif row["fn"] == "cpu_weight":
        if row["in"] >= 2:  # the kernel has no fewer shares
            assert linear(row["in"]) == row["kubelet_getCpuWeight"], row
        if 2 <= row["in"] <= 262144:
            assert container_weight(row["in"]) == row["libct_ConvertCPUSharesToCgroupV2Value"], row
    elif row["fn"] == "MilliCPUToQuota":
        for period, quota in row["out"].items():
            # without the gate the kubelet's function takes 100 ms whatever it is given
            used = int(period) if row["gate"] else DEFAULT_PERIOD_US
            assert milli_to_quota(row["in"], used) == quota, row
    elif row["fn"] in INVERSES:
        given = row["in"] if isinstance(row["in"], list) else [row["in"]]
        assert INVERSES[row["fn"]](*given) == row["out"], row
    else:
        assert row["fn"] in NAMES, row


def test_every_recorded_conversion_is_the_kubelets(recorded: Callable[[str], list[dict[str, Any]]]) -> None:
    rows = recorded("conversions")
    assert {"MilliCPUToShares", "MilliCPUToQuota", "cpu_weight", *INVERSES, *NAMES} == {row["fn"] for row in rows}
    for row in rows:
        check_conversion(row)


def test_a_row_of_an_unknown_function_fails() -> None:
    with pytest.raises(AssertionError):
        check_conversion({"fn": "MilliCPUToShare", "in": 1, "out": 2})


@pytest.mark.parametrize(("milli", "shares"), [(0, 2), (1, 2), (1000, 1024), (1_000_000, 262144)])
def test_shares_are_kept_within_the_kernels_bounds(milli: int, shares: int) -> None:
    assert milli_to_shares(milli) == shares


def test_no_limit_is_no_quota() -> None:
    assert milli_to_quota(0, 100_000) == 0


def test_the_smallest_quota_is_a_millisecond() -> None:
    assert milli_to_quota(1, 100_000) == 1000


@pytest.mark.parametrize("formula", ["linear", "quadratic"])
@given(a=st.integers(2, 262144), b=st.integers(2, 262144))
def test_more_shares_are_never_less_weight(formula: Formula, a: int, b: int) -> None:
    low, high = sorted((a, b))
    assert 1 <= weight(low, formula) <= weight(high, formula) <= 10000


@pytest.mark.parametrize(("level", "formula"), [("pod", "linear"), ("container", "quadratic")])
def test_only_a_containers_formula_is_its_runtimes(level: str, formula: Formula) -> None:
    assert default_formula(level, OciRuntime("runc", (1, 3, 3))) == formula


def test_formulas_are_chosen_for_all_levels_or_for_some() -> None:
    assert set(parse_formulas("quadratic").values()) == {"quadratic"}
    assert parse_formulas("container=linear,pod=quadratic") == {"container": "linear", "pod": "quadratic"}


@pytest.mark.parametrize("text", ["", "cubic", "container=", "leaf=linear", "container=linear,"])
def test_what_is_no_choice_of_formulas_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not LEVEL=FORMULA"):
        parse_formulas(text)
