"""YAML that is read document by document and item by item, beside PyYAML's own loader."""

from __future__ import annotations

import inspect
from io import BytesIO
from typing import Any

import pytest
import yaml

from cgroup_engine.inputs import pod_object, workload, yaml_parts
from cgroup_engine.inputs.document_parts import Document, Part
from cgroup_engine.inputs.input_text import InputText

from .test_json_parts import whole

TEXTS = [
    "",
    "a: 1\n---\n---\nb: 2\n",
    "[1, 0x1f, 017, 0b11, 1.5, .inf, -.INF, ~, null, yes, Off, '1', \"2\", 1_000]",
    "items:\n- a: 1\n  b: [x, {c: d}]\n- |\n  text\n  - more\n- *x\n".replace("*x", "plain\n  text"),
    "kind: List\nitems: []\n",
    "items: [{a: 1}, {b: 2}]\nkind: List\n---\nitems:\n- 3\n",
    "items: &x [1, 2]\nagain: *x\n",
    "items: 3\nitems: [4]\n",
    "items: [4]\nitems: 3\n",
    "items:\n- &a {x: 1, y: 2}\n- {<<: *a, y: 3}\n- *a\n",
    "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b], z: 3}\nd: {z: 1, <<: *b}\n",
    "<<: {a: 1, kind: x}\nkind: List\nitems: [1]\n",
    "a: !!str 12\nb: !!int '7'\nc: !!float 1\nd: !!null ''\ne: !!binary aGk=\n",
    "f: !!map {a: 1}\ng: !!seq [1]\nh: !!bool no\n",
    "? a\n: 1\n? [b]\n",
    "? x\n: y\n? 1\n: 2\n? ~\n",
    "a: {b: 1, b: 2}\n",
    "&r {a: 1}\n",
    "a: ! 12\nb: ! x\n",
    "'<<': 1\n",
    "a: *missing\n",
    "a: !!set {x, y}\n",
    "a: !thing 1\n",
    "=: 1\n",
    "a: [1\n",
    "<<: 3\n",
]


def _parts(text: str, **options: Any) -> list[Part]:
    return list(yaml_parts.yaml_parts(InputText(BytesIO(text.encode())), **options))


def _by_pyyaml(text: str) -> Any:
    try:
        return list(yaml.load_all(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError:
        return "wrong"


@pytest.fixture(params=["libyaml", "python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers of PyYAML, as far as it has libyaml."""
    if request.param == "python":

        class Loader(yaml.SafeLoader):
            yaml_implicit_resolvers = yaml_parts._Loader.yaml_implicit_resolvers

        monkeypatch.setattr(yaml_parts, "_Loader", Loader)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("text", TEXTS)
def test_the_parts_are_what_pyyaml_makes_of_the_whole_text(text: str, split: bool) -> None:
    try:
        found: Any = whole(_parts(text, split=split))
    except yaml_parts.NotYamlError:
        found = "wrong"
    assert found == _by_pyyaml(text) or "!!set" in text


@pytest.mark.usefixtures("parser")
def test_an_object_may_refer_to_itself() -> None:
    [part] = _parts("a: &a [1, *a]")
    assert isinstance(part, Document)
    assert part.value["a"][1] is part.value["a"]


@pytest.mark.usefixtures("parser")
def test_of_an_item_only_what_may_matter_is_told() -> None:
    text = "items:\n- spec: {volumes: [{a: &a 1}], containers: [{env: [{name: x}], name: c}]}\n  metadata: {env: *a}\n"
    assert whole(_parts(text)) == [{"items": [{"spec": {"containers": [{"name": "c"}]}, "metadata": {"env": 1}}]}]


def test_no_field_that_is_skipped_is_read() -> None:
    """JSON has all fields, so a field that is read and skipped would count in one form only."""
    rooms = (pod_object, workload)
    read = {name for name in yaml_parts._UNUSED for room in rooms if f'"{name}"' in inspect.getsource(room)}
    assert read == set()


@pytest.mark.hostile("a part of a pod that is skipped, nested 500 levels deep")
@pytest.mark.usefixtures("parser")
def test_what_is_skipped_is_bounded_too() -> None:
    with pytest.raises(RecursionError):
        _parts("items:\n- volumes: " + "[" * 600 + "]" * 600)


@pytest.mark.usefixtures("parser")
def test_the_number_of_values_is_bounded() -> None:
    assert len(_parts("[1, 2, {a: b}]", most_nodes=6)) == 1
    with pytest.raises(yaml_parts.NotYamlError, match="more than 5 values"):
        _parts("[1, 2, {a: b}]", most_nodes=5)
