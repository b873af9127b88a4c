"""Which runtime writes which cpu.weight: change logs of runc, crun and containerd."""

from __future__ import annotations

import pytest

from cgroup_engine.kubelet.oci_runtime import assumed, parse_oci_runtime
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.names import Runtime


@pytest.mark.parametrize(
    ("text", "quadratic"),
    [
        ("runc-1.3.1", False),
        ("runc-1.3.2", True),  # change 4897
        ("1.3.3", True),
        ("runc 1.4.0-rc.1", True),  # issue 4896: 2000 shares become 170
        ("v1.2.9", False),
        ("crun-1.22", False),
        ("crun-1.23", True),  # change 1767
        ("containerd-1.7.28", False),
        ("containerd-1.7.29", True),  # change 12480
        ("containerd-2.1.4", False),
        ("containerd-2.1.5", True),
        ("containerd-2.2.0", True),
        ("containerd-1.6.38", False),
    ],
)
def test_a_runtimes_formula_is_that_of_its_release(text: str, quadratic: bool) -> None:
    assert parse_oci_runtime(text, "containerd").quadratic is quadratic


def test_a_bare_number_is_cruns_with_crio_and_runcs_else() -> None:
    assert str(parse_oci_runtime("1.23", "crio")) == "crun 1.23.0"
    assert str(parse_oci_runtime("1.23", "docker")) == "runc 1.23.0"


def test_a_bundled_runc_says_who_brought_it() -> None:
    assert str(parse_oci_runtime("containerd-2.1.5", "containerd")) == "runc 1.3.3 of containerd 2.1.5"


@pytest.mark.parametrize("text", ["", "runc", "youki-0.5", "1", "1.3.3.4.5", "runc-1.x"])
def test_what_is_no_runtime_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no runtime version"):
        parse_oci_runtime(text, "containerd")


@pytest.mark.parametrize(
    ("minor", "runtime", "quadratic"),
    [(36, "containerd", True), (34, "containerd", False), (34, "crio", True), (33, "crio", False)],
)
def test_without_a_version_the_runtime_is_that_of_the_kubelets_time(
    minor: int, runtime: Runtime, quadratic: bool
) -> None:
    assert assumed(KubeletVersion(minor), runtime).quadratic is quadratic
