"""What was found as one page: findings by rule, and a heat map of the nodes. It needs a browser and nothing else."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path

from cgroup_engine.fleet.merge import Fleet
from cgroup_engine.fleet.rules import text_of_rule
from cgroup_engine.views.takes_effect import IN_WORDS

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
<h1>{title}</h1>
<p id="sums"></p>
<table id="findings"><thead><tr><th>rule</th><th>nodes</th><th>pods</th><th>containers</th><th>takes effect</th>\
<th>tightest</th><th>worst</th></tr></thead><tbody></tbody></table>
<div id="tools">
<input id="search" type="search" placeholder="part of a node's name, kubelet=1.34, cgroups=v1" aria-label="Search">
<label>Colour by <select id="colour"><option value="count">number of rules</option></select></label>
<span id="count" role="status"></span>
</div>
<div id="map" role="list" aria-label="nodes"></div>
<section id="node" aria-live="polite"><p class="dim">A click on a rule shows its nodes. A click on a node shows what \
was found there.</p></section>
<noscript>The page needs JavaScript.</noscript>
<script type="application/json" id="data">{data}</script>
<script>
{script}</script>
</body>
</html>
"""


def page(fleet: Fleet, dumps: Sequence[str], *, changed: bool) -> str:
    """The page. The same results give the same page."""
    rules = [finding.rule for finding in fleet.ranked]
    numbers = {rule: number for number, rule in enumerate(rules)}
    data = {
        "sums": [len(fleet.nodes), fleet.pods, fleet.containers],
        "findings": [
            {
                **finding.data(),
                "takesEffect": IN_WORDS[finding.effect],
                "text": text_of_rule(finding.rule),
            }
            for finding in fleet.ranked
        ],
        "nodes": [
            [node.name, [numbers[rule] for rule in node.rules], node.error, node.pods, node.facts]
            for node in sorted(fleet.nodes, key=lambda node: node.name)
        ],
    }
    what = "what would change" if changed else "what was found"
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return _PAGE.format(
        title=html.escape(f"{', '.join(dumps)}: {what}"),
        style=(_HERE / "page.css").read_text(encoding="ascii"),
        script=(_HERE / "page.js").read_text(encoding="ascii"),
        data=text.replace("<", "\\u003c"),
    )
