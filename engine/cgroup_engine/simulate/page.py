"""A node's simulated hours as one page to look at."""

from __future__ import annotations

from dataclasses import replace

from cgroup_engine.errors import InputError
from cgroup_engine.simulate.play import Played
from cgroup_engine.simulate.pod_names import container_name
from cgroup_engine.simulate.report import table
from fakecgroup.scenario.outcome import Outcome
from fakecgroup.scenario.page import LibraryMissingError, page, plotly_js


def check_library() -> None:
    """Says before a long simulation that the page cannot be made.

    :raises InputError: plotly is not installed.
    """
    try:
        plotly_js()
    except LibraryMissingError as error:
        raise InputError(f"--html: {error}") from None


def page_of(played: Played) -> str:
    """The page: timelines of the containers, by pod and name, with kills, evictions and writes marked."""
    names = {one.path: f"{one.pod}/{container_name(one)}" for one in played.containers}
    outcome = played.outcome
    samples = [replace(one, cgroup=names[one.cgroup]) for one in outcome.samples if one.cgroup in names]
    marks = [replace(mark, text=_named(mark.text, names)) for mark in outcome.marks]
    return page(
        Outcome(outcome.time, samples, outcome.checked, marks),
        f"cgroup-engine simulate: {len(names)} containers on {played.node.cpus} CPUs",
        table(played),
    )


def _named(text: str, names: dict[str, str]) -> str:
    for path, name in names.items():
        text = text.replace(path, name)
    return text
