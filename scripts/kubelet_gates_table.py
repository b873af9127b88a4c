"""The program behind scripts/kubelet_gates: the feature gates that kubelets know, read from the sources of Kubernetes.

A kubelet knows the gates of ``pkg/features``, and those of the API server's, the API extensions', client-go's and
component-base's packages that it imports. A tree of sources is a checkout (``staging/src/k8s.io``), or a module that
vendors Kubernetes. Gates that a vendor registers in files of its own are not read.

The table has one line per gate: its name, then ``RELEASE:STATE`` where the state changes. A state is the stage, ``+``
or ``-`` for the default, and ``!`` if it is locked; ``gone`` from where a kubelet refuses the name. ``needs`` begins a
line with the gates that another gate needs: ``needs RELEASE GATE GATE...``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from cgroup_engine.model.known_gates import GONE, TABLE, gate_states, needed_gates

_CONSTANT = re.compile(
    r'^\s*(?:const\s+|var\s+)?(\w+)\s+(?:(?:featuregate\.)?Feature\s*)?=\s*(?:featuregate\.Feature\()?"(\w+)"', re.M
)
_MAP = re.compile(r"map\[(?:featuregate\.)?Feature\](?:featuregate\.)?(FeatureSpec|VersionedSpecs)\s*\{")
_NEEDS = re.compile(r"map\[featuregate\.Feature\]\[\]featuregate\.Feature\s*\{")
_ENTRY = re.compile(r"^\s*(?:\w+\.)?(\w+)\s*:\s*\{", re.M)
_SPEC = re.compile(r"\{([^{}]*?\bPreRelease:[^{}]*)\}")
_HEAD = """\
# The feature gates that kubelets know. scripts/kubelet_gates writes this from the sources of Kubernetes.
# GATE RELEASE:STATE...: stage, + or - for the default, ! if it is locked; "gone": a kubelet refuses the name from then.
# needs RELEASE GATE GATE...: from that release on the first gate cannot be on without the others.
# 1.24: from the comments in the sources of 1.25 and the documentation's list of removed gates.
"""

States = dict[str, str]
Needs = dict[str, tuple[str, ...]]


def gates_of(tree: Path, minor: int) -> tuple[States, Needs]:
    """The gates of a kubelet 1.``minor`` with their states, and what they need, from a tree of sources.

    :raises ValueError: the tree has no kubelet, or a gate that cannot be read.
    """
    texts = list(_texts(tree))
    names = {identifier: name for text in texts for identifier, name in _CONSTANT.findall(text)}
    states: States = {"AllAlpha": "alpha-", "AllBeta": "beta-"}
    needs: Needs = {}
    for text in texts:
        text = re.sub(r"//.*", "", text)
        for entry, body in _entries(text, _MAP):
            if entry not in names:
                raise ValueError(f"{tree}: {entry} is no constant")
            state = _state(body, minor)
            if state:
                states[names[entry]] = state
        for entry, body in _entries(text, _NEEDS):
            needed = re.findall(r"(?:\w+\.)?(\w+)\s*\)?\s*(?:,|$)", body.strip())
            if needed:
                needs[names[entry]] = tuple(sorted(names[identifier] for identifier in needed))
    return states, needs


def _texts(tree: Path) -> Iterator[str]:
    """The files that register a kubelet's gates."""
    vendored = tree / "vendor/k8s.io/kubernetes"
    kubernetes, staging = (vendored, vendored.parent) if vendored.is_dir() else (tree, tree / "staging/src/k8s.io")
    main = kubernetes / "pkg/features/kube_features.go"
    if not main.is_file():
        raise ValueError(f"{tree}: has no pkg/features/kube_features.go")
    text = main.read_text(encoding="utf-8")
    server = (kubernetes / "pkg/kubelet/server/server.go").read_text(encoding="utf-8")
    ports = (kubernetes / "pkg/cluster/ports/ports.go").read_text(encoding="utf-8")
    yield text
    for file, registered in (
        (kubernetes / "pkg/features/versioned_kube_features.go", True),
        (staging / "apiserver/pkg/features/kube_features.go", True),
        (staging / "component-base/logs/api/v1/kube_features.go", True),
        (staging / "apiextensions-apiserver/pkg/features/kube_features.go", "apiextensionsfeatures" in text),
        (staging / "client-go/features/known_features.go", "clientfeatures" in text),
        (staging / "component-base/zpages/features/kube_features.go", "zpagesfeatures" in text),
        (staging / "component-base/metrics/features/kube_features.go", "metricsfeatures.AddFeatureGates" in server),
        (staging / "controller-manager/pkg/features/kube_features.go", "cloud-provider/options" in ports),
    ):
        if file.is_file():
            found = file.read_text(encoding="utf-8")
            yield found if registered else "\n".join(match[0] for match in _CONSTANT.finditer(found))


def _entries(text: str, opening: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """The entries of the maps that ``opening`` begins: identifier and the text between its braces."""
    for start in opening.finditer(text):
        body = _braced(text, start.end())
        at = 0
        while entry := _ENTRY.search(body, at):
            inner = _braced(body, entry.end())
            yield entry[1], inner
            at = entry.end() + len(inner)


def _braced(text: str, start: int) -> str:
    """The text from ``start`` to the brace that closes the one before it."""
    depth = 1
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[start:position]
    raise ValueError("a brace is not closed")


def _state(body: str, minor: int) -> str:
    """The state of a gate in 1.``minor``: of its one spec, or of the last one up to there; "" if all are later."""
    state = ""
    for spec in _SPEC.findall(body) or [body]:
        version = re.search(r'MustParse\("1\.(\d+)"\)', spec)
        stage = re.search(r"PreRelease:\s*(?:\w+\.)?(\w+)", spec)
        if stage is None:
            raise ValueError(f"{spec.strip()} is no spec of a gate")
        if version is None or int(version[1]) <= minor:
            on, locked = (bool(re.search(rf"\b{field}:\s*true", spec)) for field in ("Default", "LockToDefault"))
            state = stage[1].lower() + ("+" if on else "-") + ("!" if locked else "")
    return state


def table(releases: Mapping[int, tuple[States, Needs]]) -> str:
    """The text of the table of these releases."""
    lines = []
    for gate in sorted({gate for states, _needs in releases.values() for gate in states}):
        words, last = [gate], GONE
        for minor in sorted(releases):
            state = releases[minor][0].get(gate, GONE)
            if state != last:
                words.append(f"{minor}:{state}")
            last = state
        lines.append(" ".join(words))
    last_needs: Needs = {}
    for minor in sorted(releases):
        needs = releases[minor][1]
        for gate in sorted({*needs, *last_needs}):
            if needs.get(gate, ()) != last_needs.get(gate, ()):
                lines.append(" ".join(("needs", str(minor), gate, *needs.get(gate, ()))))
        last_needs = needs
    return _HEAD + "\n".join(lines) + "\n"


def main() -> int:
    """Reads the trees, and writes the table with their releases in the place of the old ones."""
    parser = argparse.ArgumentParser(prog="kubelet_gates", description="Writes the table of feature gates.")
    parser.add_argument("trees", nargs="+", metavar="1.N=DIR", help="a release and its sources")
    releases = {minor: (dict(gate_states(minor)), dict(needed_gates(minor))) for minor in _in_the_table()}
    for text in parser.parse_args().trees:
        match = re.fullmatch(r"1\.(\d+)=(.+)", text)
        if match is None:
            parser.error(f"{text} is not 1.N=DIR")
        try:
            releases[int(match[1])] = gates_of(Path(match[2]), int(match[1]))
        except (OSError, ValueError) as refused:
            print(f"kubelet_gates: {refused}", file=sys.stderr)
            return 1
    TABLE.write_text(table(releases), encoding="ascii")
    return 0


def _in_the_table() -> list[int]:
    if not TABLE.exists():
        return []
    minors = [int(text) for text in re.findall(r"\b(\d+):", TABLE.read_text(encoding="ascii"))]
    return list(range(min(minors), max(minors) + 1)) if minors else []


if __name__ == "__main__":
    sys.exit(main())
