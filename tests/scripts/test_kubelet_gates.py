"""How the table of feature gates is read from the sources of Kubernetes, with small trees of the same form."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubelet_gates_table import Needs, States, gates_of, table

ONE_SPEC = """
const (
	Old featuregate.Feature = "OldName"
)

var gates = map[featuregate.Feature]featuregate.FeatureSpec{
	Old: {Default: true, PreRelease: featuregate.GA, LockToDefault: true}, // remove in 1.99
	genericfeatures.Shared: {Default: false, PreRelease: featuregate.Alpha},
}
"""
VERSIONS = """
const New featuregate.Feature = "New"

var gates = map[featuregate.Feature]featuregate.VersionedSpecs{
	New: {
		{Version: version.MustParse("1.32"), Default: false, PreRelease: featuregate.Alpha},
		{Version: version.MustParse("1.34"), Default: true, PreRelease: featuregate.Beta},
	},
}

var needs = map[featuregate.Feature][]featuregate.Feature{
	New: {Other, featuregate.Feature(clientfeatures.Third)},
	Other: {},
}
"""
SHARED = """
const (
	Shared featuregate.Feature = "Shared"
	Other featuregate.Feature = "Other"
	Third Feature = "Third"
)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "pkg/features/kube_features.go": ONE_SPEC,
        "pkg/kubelet/server/server.go": "package server\n",
        "pkg/cluster/ports/ports.go": "package ports\n",
        "staging/src/k8s.io/apiserver/pkg/features/kube_features.go": SHARED,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_gates_with_one_spec_have_its_state(tree: Path) -> None:
    states, needs = gates_of(tree, 30)
    assert states == {"AllAlpha": "alpha-", "AllBeta": "beta-", "OldName": "ga+!", "Shared": "alpha-"}
    assert needs == {}


@pytest.mark.parametrize(("minor", "state"), [(31, None), (32, "alpha-"), (33, "alpha-"), (34, "beta+"), (36, "beta+")])
def test_gates_with_a_spec_per_version_have_the_last_one_up_to_the_release(
    tree: Path, minor: int, state: str | None
) -> None:
    (tree / "pkg/features/kube_features.go").write_text(VERSIONS, encoding="utf-8")
    states, needs = gates_of(tree, minor)
    assert states.get("New") == state
    assert needs == {"New": ("Other", "Third")}


def test_a_tree_without_a_kubelet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no pkg/features"):
        gates_of(tmp_path, 36)


def test_the_table_has_the_releases_where_something_changes() -> None:
    releases: dict[int, tuple[States, Needs]] = {
        30: ({"A": "alpha-"}, {}),
        31: ({"A": "beta+"}, {"A": ("B",)}),
        32: ({"B": "ga+!"}, {}),
    }
    lines = [line for line in table(releases).splitlines() if not line.startswith("#")]
    assert lines == ["A 30:alpha- 31:beta+ 32:gone", "B 32:ga+!", "needs 31 A B", "needs 32 A"]
