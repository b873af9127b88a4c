"""A played scenario as a figure of plotly.js: what each cgroup used over time, with kills and writes marked."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .outcome import SECOND, Mark, Outcome, Sample

_SHOWN_AT_FIRST = 12  # cgroups
_LINES = 200  # vertical ones, through all panels
_MARKS = {"kill": ("#c62828", "x"), "evict": ("#e65100", "triangle-down"), "write": ("#1565c0", "diamond")}
_COLOURS = (
    "#1f77b4 #ff7f0e #2ca02c #d62728 #9467bd #8c564b #e377c2 #7f7f7f #bcbd22 #17becf "
    "#393b79 #ad494a #637939 #7b4173 #8c6d31"
).split()
_PANEL = 210  # pixels
_EVENTS = 60
_MEBI = 1 << 20  # bytes

_Points = list[float | None]


@dataclass(frozen=True, slots=True)
class _Panel:
    """A panel: its title, how a number is shown, and the points of a cgroup's samples. `always`: even without any."""

    title: str
    shown: str
    points: Callable[[Sequence[Sample]], _Points]
    steps: bool = True  # each point is what was so since the one before
    always: bool = False


def figure(outcome: Outcome) -> dict[str, object]:
    """The data and the layout for `Plotly.newPlot`. The x axis is seconds since the start."""
    series = _series(outcome.samples)
    panels = []
    for panel in _PANELS:
        points = {cgroup: panel.points(samples) for cgroup, samples in series.items()}
        if panel.always or any(any(its) for its in points.values()):
            panels.append((panel, points))
    first = _shown_at_first(series)
    traces: list[dict[str, object]] = []
    for number, (panel, points) in enumerate(panels, 1):
        for at, (cgroup, samples) in enumerate(series.items()):
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": html.escape(cgroup, quote=False),
                    "legendgroup": cgroup,
                    "showlegend": number == 1,
                    "visible": True if cgroup in first else "legendonly",
                    "x": [0, *(sample.time / SECOND for sample in samples)],
                    "y": points[cgroup],
                    "xaxis": "x",
                    "yaxis": _axis("y", number),
                    "line": {
                        "color": _COLOURS[at % len(_COLOURS)],
                        "width": 1.5,
                        "shape": "vh" if panel.steps else "linear",
                    },
                    "hovertemplate": f"%{{fullData.name}}: {panel.shown}<extra></extra>",
                }
            )
    traces += _mark_traces(outcome.marks, _axis("y", len(panels) + 1))
    return {"data": traces, "layout": _layout([panel for panel, _ in panels], outcome)}


def _series(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    series: dict[str, list[Sample]] = {}
    for sample in samples:
        series.setdefault(sample.cgroup, []).append(sample)
    return series


def _shown_at_first(series: dict[str, list[Sample]]) -> set[str]:
    """All cgroups, or of many those without children that used most CPU time."""
    if len(series) <= _SHOWN_AT_FIRST:
        return set(series)
    parents = {cgroup.rpartition("/")[0] for cgroup in series}
    leaves = sorted(
        (cgroup for cgroup in series if cgroup not in parents),
        key=lambda cgroup: (-max(sample.memory or 0 for sample in series[cgroup]), -series[cgroup][-1].usage, cgroup),
    )
    busiest = sorted(leaves, key=lambda cgroup: (-series[cgroup][-1].usage, cgroup))
    half = _SHOWN_AT_FIRST // 2
    return set(busiest[:half]) | set([leaf for leaf in leaves if leaf not in busiest[:half]][:half])


# -- panels -----------------------------------------------------------------------------------------


def _rates(samples: Sequence[Sample], total: Callable[[Sample], float], unit: float) -> _Points:
    """How fast a total grew between samples, in `unit` of it for each second. A total that falls began anew."""
    before = [(0, 0.0), *((sample.time, total(sample)) for sample in samples)]
    rates = [
        max(0.0, new - old) / unit * SECOND / (end - start) if end > start else 0.0
        for (start, old), (end, new) in pairwise(before)
    ]
    return [rates[0] if rates else 0.0, *(round(rate, 4) for rate in rates)]


def _cpus(samples: Sequence[Sample]) -> _Points:
    return _rates(samples, lambda sample: sample.usage, 1e6)


def _throttled(samples: Sequence[Sample]) -> _Points:
    periods = [(0, 0), *((sample.nr_periods, sample.nr_throttled) for sample in samples)]
    parts: _Points = [
        round(100 * (after[1] - before[1]) / (after[0] - before[0]), 2) if after[0] > before[0] else 0.0
        for before, after in pairwise(periods)
    ]
    return [parts[0] if parts else 0.0, *parts]


def _memory(samples: Sequence[Sample]) -> _Points:
    if all(sample.memory is None for sample in samples):
        return []
    return [0.0, *(None if sample.memory is None else round(sample.memory / _MEBI, 3) for sample in samples)]


def _stalled(resource: str) -> Callable[[Sequence[Sample]], _Points]:
    def points(samples: Sequence[Sample]) -> _Points:
        if all(resource not in sample.pressure for sample in samples):
            return []
        return _rates(samples, lambda sample: sample.pressure.get(resource, (0.0, 0))[1], 1e4)

    return points


_PANELS = (
    _Panel("CPUs used", "%{y:.3~f} CPUs", _cpus, always=True),
    _Panel("Throttled periods, %", "%{y:.1~f} % of periods", _throttled),
    _Panel("Memory, MiB", "%{y:,.1~f} MiB", _memory, steps=False),
    *(
        _Panel(f"{name} pressure, % of the time", "%{y:.1~f} %", _stalled(name.lower()))
        for name in ("CPU", "Memory", "IO")
    ),
)


# -- marks ------------------------------------------------------------------------------------------


def _mark_traces(marks: Sequence[Mark], axis: str) -> list[dict[str, object]]:
    traces: list[dict[str, object]] = []
    for kind, (colour, symbol) in _MARKS.items():
        its = [mark for mark in marks if mark.kind == kind]
        if its:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": f"{kind}s",
                    "showlegend": False,
                    "x": [mark.time / SECOND for mark in its],
                    "y": [kind] * len(its),
                    "text": [html.escape(mark.text, quote=False) for mark in its],
                    "xaxis": "x",
                    "yaxis": axis,
                    "marker": {"color": colour, "symbol": symbol, "size": 9},
                    "hovertemplate": "%{text}<extra></extra>",
                }
            )
    return traces


def _lines(marks: Sequence[Mark]) -> list[dict[str, object]]:
    """A vertical line through all panels for each time at which something happened."""
    kinds: dict[int, str] = {}
    for mark in marks:
        if kinds.get(mark.time) in (None, "write"):
            kinds[mark.time] = mark.kind
    return [
        {
            "type": "line",
            "xref": "x",
            "yref": "paper",
            "x0": time / SECOND,
            "x1": time / SECOND,
            "y0": 0,
            "y1": 1,
            "line": {"color": _MARKS[kind][0], "width": 1, "dash": "dot"},
        }
        for time, kind in list(kinds.items())[:_LINES]
    ]


# -- layout -----------------------------------------------------------------------------------------


def _axis(letter: str, number: int) -> str:
    return letter if number == 1 else f"{letter}{number}"


def _layout(panels: Sequence[_Panel], outcome: Outcome) -> dict[str, object]:
    titles = [panel.title for panel in panels] + [""] * bool(outcome.marks)
    heights = [_PANEL if title else _EVENTS for title in titles]
    whole = sum(heights)
    top = 1.0
    layout: dict[str, object] = {
        "height": whole + 110,
        "margin": {"l": 70, "r": 10, "t": 20, "b": 50},
        "hovermode": "closest",
        "dragmode": "zoom",
        "plot_bgcolor": "#f7f8fa",
        "legend": {"groupclick": "togglegroup", "tracegroupgap": 0, "font": {"size": 11}},
        "shapes": _lines(outcome.marks),
    }
    annotations = []
    for number, (height, title) in enumerate(zip(heights, titles, strict=True), start=1):
        share = height / whole
        gap = 30 / whole
        layout["yaxis" if number == 1 else f"yaxis{number}"] = {
            "domain": [max(0.0, top - share), top - gap],
            "anchor": "x",
            "rangemode": "tozero",
            "zeroline": False,
            **({} if title else {"type": "category", "fixedrange": True, "showgrid": False}),
        }
        if title:
            annotations.append(
                {
                    "text": f"<b>{title}</b>",
                    "xref": "paper",
                    "yref": "paper",
                    "x": 0,
                    "y": top - gap,
                    "xanchor": "left",
                    "yanchor": "bottom",
                    "showarrow": False,
                    "font": {"size": 12},
                }
            )
        top -= share
    layout["annotations"] = annotations
    layout["xaxis"] = {
        "anchor": _axis("y", len(titles)),
        "range": [0, outcome.time / SECOND],
        "title": {"text": "seconds"},
        "showspikes": True,
        "spikemode": "across",
        "spikethickness": 1,
        "spikecolor": "#888",
        "spikedash": "solid",
    }
    return layout
