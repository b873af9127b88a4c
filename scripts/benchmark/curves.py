"""The growth curves: what an operation costs among 100 cgroups, among 1,000, and so on."""

from __future__ import annotations

import html
import json
from typing import Any

from fakecgroup.scenario.page import plotly_js

TITLE = "What an operation costs as a tree grows"
_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body style="margin: 0"><div id="plot" style="width: 1000px; height: 460px"></div>
<script>{library}</script>
<script type="application/json" id="curves">{figure}</script>
<script>
const shown = JSON.parse(document.getElementById("curves").textContent);
Plotly.newPlot("plot", shown.data, shown.layout, {{staticPlot: true}});
</script></body></html>
"""


def figure(part: dict[str, Any]) -> dict[str, Any]:
    """plotly's figure of a recording of `growing`: CPU time per operation over the number of cgroups."""
    counts = sorted(part["cgroups"], key=int)
    names = list(part["cgroups"][counts[0]]["operations"])
    lines = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": [int(count) for count in counts],
            "y": [part["cgroups"][count]["operations"][name]["us"]["median"] for count in counts],
        }
        for name in names
    ]
    layout = {
        "title": {"text": TITLE},
        "xaxis": {"type": "log", "title": {"text": "cgroups in the tree"}, "dtick": 1},
        "yaxis": {"rangemode": "tozero", "title": {"text": "µs of CPU time, client and daemon"}},
        "template": "none",
        "margin": {"l": 70, "r": 20, "t": 50, "b": 60},
    }
    return {"data": lines, "layout": layout}


def page(part: dict[str, Any]) -> str:
    """A page that shows the figure and nothing else."""
    shown = json.dumps(figure(part)).replace("</", "<\\/")
    return _PAGE.format(title=html.escape(TITLE), library=plotly_js(), figure=shown)
