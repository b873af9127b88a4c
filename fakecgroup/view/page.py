"""The page: one file that holds all it shows, and fetches nothing."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from .binding import bind
from .node import Meter, Node, Row, Tree

_HERE = Path(__file__).parent
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<div id="tools">
<input id="search" type="search" placeholder="part of a path, or file=value" aria-label="Search">
<label><input id="only" type="checkbox"> only what needs a look</label>
<span id="count" role="status"></span>
<button id="help-button" aria-haspopup="dialog">?</button>
</div>
</header>
<main>
<section id="list" tabindex="0" role="tree" aria-label="cgroups"><div id="space"></div></section>
<section id="detail" aria-live="polite"></section>
</main>
<dialog id="help">
<p><kbd>/</kbd> search, <kbd>Esc</kbd> back to the tree</p>
<p><kbd>&uarr;</kbd> <kbd>&darr;</kbd> one cgroup,
<kbd>PgUp</kbd> <kbd>PgDn</kbd> <kbd>Home</kbd> <kbd>End</kbd> more</p>
<p><kbd>&rarr;</kbd> open, or to the first child, <kbd>&larr;</kbd> close, or to the parent</p>
<p><kbd>n</kbd> <kbd>p</kbd> the next and the last that needs a look, <kbd>b</kbd> to the cgroup whose limit acts</p>
<form method="dialog"><button>Close</button></form>
</dialog>
<noscript>The tree needs JavaScript.</noscript>
<script type="application/json" id="data">{data}</script>
<script>
{script}</script>
</body>
</html>
"""


def page(tree: Tree) -> str:
    """The page of a tree. The same tree gives the same page."""
    bind(tree.nodes)
    data = {"facts": [list(fact) for fact in tree.facts], "nodes": [_node(node) for node in tree.nodes]}
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return _PAGE.format(
        title=html.escape(tree.title),
        style=(_HERE / "page.css").read_text(encoding="ascii"),
        script=(_HERE / "page.js").read_text(encoding="ascii"),
        data=text.replace("<", "\\u003c"),  # no text of a file ends the script
    )


def _node(node: Node) -> dict[str, Any]:
    """A node with short keys, as there may be many; what is empty is left out."""
    differing = sum(row.differs for row in node.rows)
    found: dict[str, Any] = {
        "p": _shown(node.path),
        "n": _shown(node.name),
        "u": node.parent,
        "t": node.processes,
        "m": [_meter(meter) for meter in node.meters],
        "r": [_row(row) for row in node.rows],
        "a": ([f"{differing} not as wanted"] if differing else []) + node.alarming,
        "o": node.notes,
    }
    return {key: value for key, value in found.items() if value not in (None, [])}


def _row(row: Row) -> list[Any]:
    texts = (row.file, row.text, row.wanted or "", row.why, row.source)
    return [*map(_shown, texts), int(row.differs)]


def _meter(meter: Meter) -> list[Any]:
    return [meter.resource, meter.unit, meter.used, meter.limit, meter.bound_by]


def _shown(text: str) -> str:
    """Text whose bytes are no UTF-8 is shown with escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
