"""The page of a tree, as a browser shows it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from fakecgroup.view.node import Meter, Node, Row, Tree
from fakecgroup.view.page import page

from ...chromium import drawn

MIB = 1 << 20


def a_tree(children: int = 3) -> Tree:
    """A root, a slice with a limit, and services below it of which the first has no limit and was killed from."""
    weight = Row("cpu.weight", "39\n", "79", "why")
    nodes = [
        Node("/", None, 2),
        Node("/a.slice", 0, 0, [Meter("memory", "bytes", 90 * MIB, 100 * MIB)], [weight]),
    ]
    for number in range(children):
        meter = Meter("memory", "bytes", 30 * MIB, None if number == 0 else 200 * MIB)
        nodes.append(Node(f"/a.slice/{number}.service", 1, 1, [meter], [Row("pids.max", "7\n")]))
    nodes[2].alarming.append("2 killed for want of memory")
    return Tree("A <node>", [("kernel", "6.12")], nodes)


def after(tree: Tree, folder: Path, script: str, fragment: str = "") -> dict[str, object]:
    """What a script of the test finds in the page, which it returns as an object."""
    probe = f"<script>document.body.dataset.told = JSON.stringify((() => {{ {script} }})());</script></body>"
    document = drawn(page(tree).replace("</body>", probe), folder, fragment)
    found = re.search(r'data-told="([^"]*)"', document)
    assert found is not None, document[:500]
    told: dict[str, object] = json.loads(html.unescape(found[1]))
    return told


ROWS = "[...document.querySelectorAll('.row .name')].map(one => one.textContent)"
TITLE = "document.querySelector('#detail h2').textContent"


def press(*keys: str) -> str:
    return "".join(f"document.dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(key)}}}));" for key in keys)


def test_each_cgroup_has_a_row(tmp_path: Path) -> None:
    told = after(a_tree(), tmp_path, f"return {{rows: {ROWS}, count: document.getElementById('count').textContent}};")
    assert told == {"rows": ["/", "a.slice", "0.service", "1.service", "2.service"], "count": "5 cgroups"}


def test_a_cgroup_without_a_limit_says_whose_acts(tmp_path: Path) -> None:
    script = "return {text: document.getElementById('detail').textContent};"
    text = str(after(a_tree(), tmp_path, script, "#%2Fa.slice%2F0.service")["text"])
    assert "none here100 MiB of /a.slice (90 MiB used there)" in text
    assert "2 killed for want of memory" in text


def test_a_value_that_is_not_as_wanted_is_marked_with_its_reason(tmp_path: Path) -> None:
    script = "return {row: [...document.querySelectorAll('tr.differs td')].map(one => one.textContent)};"
    assert after(a_tree(), tmp_path, script, "#%2Fa.slice")["row"] == ["cpu.weight", "39", "79", "why"]


def test_the_keyboard_moves_opens_and_closes(tmp_path: Path) -> None:
    script = (
        f"const told = {{}}; {press('ArrowDown', 'ArrowDown')} told.down = {TITLE};"
        f"{press('ArrowLeft')} told.parent = {TITLE}; {press('ArrowLeft')} told.closed = {ROWS};"
        f"{press('ArrowRight')} told.open = {ROWS}.length; {press('End')} told.end = {TITLE};"
        f"{press('Home', 'n')} told.next = {TITLE}; {press('n', 'b')} told.binding = {TITLE}; return told;"
    )
    assert after(a_tree(), tmp_path, script) == {
        "down": "/a.slice/0.service",
        "parent": "/a.slice",
        "closed": ["/", "a.slice"],
        "open": 5,
        "end": "/a.slice/2.service",
        "next": "/a.slice",
        "binding": "/a.slice",
    }


def test_a_search_shows_what_matches_and_what_is_above(tmp_path: Path) -> None:
    script = (
        "const told = {}; const search = document.getElementById('search');"
        "const type = text => { search.value = text; search.dispatchEvent(new Event('input')); };"
        f"type('1.service'); told.part = {ROWS}; type('pids.max=7'); told.value = {ROWS}.length;"
        f"type('nothing'); told.none = {ROWS}; type(''); document.getElementById('only').click(); told.only = {ROWS};"
        "return told;"
    )
    assert after(a_tree(), tmp_path, script) == {
        "part": ["/", "a.slice", "1.service"],
        "value": 5,
        "none": [],
        "only": ["/", "a.slice", "0.service"],
    }


def test_of_many_cgroups_only_those_on_the_screen_are_drawn(tmp_path: Path) -> None:
    script = (
        "const told = {all: document.getElementById('count').textContent};"
        f"{press('End')} told.end = {TITLE}; told.rows = document.querySelectorAll('.row').length; return told;"
    )
    told = after(a_tree(20_000), tmp_path, script)
    assert told["all"] == "20,002 cgroups"
    assert told["end"] == "/a.slice/19999.service"
    assert 10 < int(str(told["rows"])) < 200


def test_no_text_ends_the_script_that_it_is_in(tmp_path: Path) -> None:
    bad = "</script><script>document.body.dataset.bad = 1</script><img src=x onerror=alert(1)>"
    nodes = [Node("/", None), Node(f"/{bad}", 0, 1, [], [Row("f", bad, bad, bad, bad)], [bad], [bad])]
    document = drawn(page(Tree(bad, [(bad, bad)], nodes)), tmp_path, "#")
    assert 'data-drawn="yes"' in document
    assert "data-bad" not in document
    assert "<img" not in document


def test_a_name_that_is_no_text_is_shown_with_escapes() -> None:
    assert r"a\\udcff" in page(Tree("x", [], [Node("/", None), Node("/a\udcff", 0)]))


def test_nothing_is_fetched_by_it() -> None:
    text = page(a_tree())
    assert re.findall(r"(?:src|href)\s*=\s*[\"']|https?://|@import|url\(", text) == []
    assert "default-src 'none'" in text


def test_the_same_tree_gives_the_same_page() -> None:
    assert page(a_tree()) == page(a_tree())
