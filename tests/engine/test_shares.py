"""Millicores, shares, weights, quotas."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.shares import DEFAULT_PERIOD_US, milli_to_quota, milli_to_shares, shares_to_weight


def test_every_recorded_conversion_is_the_kubelets(recorded):
    for row in recorded("conversions"):
        if row["fn"] == "MilliCPUToShares":
            assert milli_to_shares(row["in"]) == row["out"], row
        elif row["fn"] == "cpu_weight" and row["in"] >= 2:
            assert shares_to_weight(row["in"]) == row["kubelet_getCpuWeight"], row
        elif row["fn"] == "MilliCPUToQuota":
            for period, quota in row["out"].items():
                # without the gate the kubelet's function takes 100 ms whatever it is given
                used = int(period) if row["gate"] else DEFAULT_PERIOD_US
                assert milli_to_quota(row["in"], used) == quota, row


@pytest.mark.parametrize(("milli", "shares"), [(0, 2), (1, 2), (1000, 1024), (1_000_000, 262144)])
def test_shares_are_kept_within_the_kernels_bounds(milli, shares):
    assert milli_to_shares(milli) == shares


def test_no_limit_is_no_quota():
    assert milli_to_quota(0, 100_000) == 0


def test_the_smallest_quota_is_a_millisecond():
    assert milli_to_quota(1, 100_000) == 1000


@given(st.integers(2, 262144), st.integers(2, 262144))
def test_more_shares_are_never_less_weight(a, b):
    low, high = sorted((a, b))
    assert 1 <= shares_to_weight(low) <= shares_to_weight(high) <= 10000
