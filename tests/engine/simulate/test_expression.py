"""The expressions of kwok's documentation."""

from __future__ import annotations

import pytest

from cgroup_engine.simulate.expression import value_of

_EITHER = '"usage-cpu" in pod.metadata.annotations\n? Quantity(pod.metadata.annotations["usage-cpu"])\n: Quantity("1m")'


def test_a_quantity_is_itself() -> None:
    assert value_of('Quantity("10Mi")', {}) == "10Mi"


@pytest.mark.parametrize(("annotations", "value"), [({"usage-cpu": "250m"}, "250m"), ({}, "1m")])
def test_an_annotation_wins_over_the_default(annotations: dict[str, str], value: str) -> None:
    assert value_of(_EITHER, annotations) == value


def test_an_annotation_that_is_missing_is_named() -> None:
    with pytest.raises(ValueError, match=r"the pod has no annotation 'usage-cpu'"):
        value_of('Quantity(pod.metadata.annotations["usage-cpu"])', {})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Rand()",
        'Quantity("1Mi") * 2.0',
        '(pod.SinceSecond() / 60.0) * Quantity("1Mi")',
        'Quantity("1m") + Quantity("1m")',
    ],
)
def test_any_other_expression_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="this expression is not simulated: use value"):
        value_of(text, {})
