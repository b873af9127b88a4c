"""A played scenario as one page, which needs nothing but a browser to be looked at."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence

from .outcome import Outcome
from .timeline import figure

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data: blob:; font-src data:; form-action 'none'">
<title>{title}</title>
<style>
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 1em 1.5em; color: #222 }}
h1 {{ font-size: 1.3em; margin: 0 0 .4em }}
pre {{ overflow-x: auto; background: #f7f8fa; padding: .6em .8em; font-size: 12px }}
#tools {{ margin: .5em 0 }}
</style>
</head>
<body>
<h1>{title}</h1>
<div id="tools"><label>Show cgroups that contain <input id="part" type="search"></label>
<button id="all">all</button> <button id="none">none</button>
<small>A click in the legend shows or hides one, a double click only that one.
Drag to zoom, double click to go back.</small></div>
<div id="timeline"><noscript>The timelines need JavaScript.</noscript></div>
<pre>{summary}</pre>
<script>{library}</script>
<script type="application/json" id="figure">{figure}</script>
<script>
const shown = JSON.parse(document.getElementById("figure").textContent);
const plot = document.getElementById("timeline");
const lines = shown.data.flatMap((trace, at) => trace.legendgroup === undefined ? [] : [at]);
const visible = wanted => lines.map(at => wanted(shown.data[at].legendgroup) || "legendonly");
const show = wanted => Plotly.restyle(plot, {{visible: visible(wanted)}}, lines);
const settings = {{
  responsive: true,
  displaylogo: false,
  plotlyServerURL: "",  // else there is a button that uploads the figure
  modeBarButtonsToRemove: ["sendChartToCloud", "sendDataToCloud", "lasso2d", "select2d"],
}};
Plotly.newPlot(plot, shown.data, shown.layout, settings).then(() => {{
  document.getElementById("part").oninput = event => show(name => name.includes(event.target.value));
  document.getElementById("all").onclick = () => show(() => true);
  document.getElementById("none").onclick = () => show(() => false);
  document.body.dataset.drawn = "yes";
}});
</script>
</body>
</html>
"""


class LibraryMissingError(ImportError):
    """plotly, which draws the page, is not installed."""


def plotly_js() -> str:
    """The text of plotly.js. Raises LibraryMissingError with one line that says what to install."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise LibraryMissingError(
            f"the page needs plotly, which Python does not find ({error}): pip install 'fakecgroup[html]'"
        ) from None
    return str(get_plotlyjs())


def page(outcome: Outcome, title: str, summary: Sequence[str]) -> str:
    """The page: timelines, and below them the lines of a summary. It fetches nothing. Raises LibraryMissingError."""
    return _PAGE.format(
        title=html.escape(title),
        summary=html.escape("\n".join(summary)),
        library=plotly_js(),
        figure=json.dumps(figure(outcome), separators=(",", ":")).replace("<", "\\u003c"),
    )
