"""A picture of CPU and memory when every container is busy, as SVG.

CPU: one row each for kubepods, the QoS classes, the pods and the containers. A box is as wide as the CPUs that its
cgroup gets (``cpu_under_load``, by cpu.weight of cgroup v2). Memory: one bar per container, those with the greatest
request first, solid up to its request, light up to the least of its own and its ancestors' limits. The bars end at the
greatest request or own limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.model.pod import Pod
from cgroup_engine.model.quantity import ZERO
from cgroup_engine.model.wanted_cgroup import WantedCgroup
from cgroup_engine.views.cpu_under_load import cores_under_load

_WIDTH, _MARGIN, _ROW, _GAP = 1000, 24, 28, 4
_LEFT, _RIGHT = 250, 180  # beside the bars of memory
_CHARACTER = 6.6  # pixels of an average one at 12 px, on the safe side
_MOST_BARS = 40
_COLOURS = {"Guaranteed": "#2f6db3", "Burstable": "#d9822b", "BestEffort": "#5a9a4a", None: "#5f6672"}
_LEVELS = ("node", "qos", "pod", "container")
_NAMES = {"node": "all pods", "qos": "classes", "pod": "pods", "container": "containers"}
_STYLE = """\
text { font: 12px system-ui, 'DejaVu Sans', sans-serif; fill: #1c2026 }
.title { font-size: 17px; font-weight: 600 } .head { font-size: 14px; font-weight: 600 } .note { fill: #5f6672 }
.in { fill: #fff } .end { text-anchor: end } .middle { text-anchor: middle }"""

Children = Mapping[str, Sequence[WantedCgroup]]


def picture(node: NodeConfig, wanted: Sequence[WantedCgroup], pod: Pod | None = None) -> str:
    """The SVG document. ``pod``: bars of memory for that pod alone; the CPU rows always show the whole node."""
    cores = cores_under_load(wanted, node.cpus, lambda limits: limits.weight or 1)
    shown = [cgroup for cgroup in wanted if cgroup.path in cores]
    containers = [
        cgroup
        for cgroup in shown
        if cgroup.level == "container" and not cgroup.is_pod_sandbox and (pod is None or cgroup.pod is pod)
    ]
    cpu_top = 64
    memory_top = cpu_top + 46 + len(_LEVELS) * (_ROW + _GAP) + 40
    body = [
        _text(_MARGIN, 34, f"CPU and memory under load: {_count(node.cpus, 'CPU')}, {_size(node.memory)}, "
              f"kubelet {node.version}", "title"),
        *_cpu(node, shown, cores, cpu_top),
        *_memory(node, wanted, containers, memory_top),
    ]  # fmt: skip
    height = memory_top + 62 + min(len(containers), _MOST_BARS) * 22 + (24 if len(containers) > _MOST_BARS else 0) + 30
    return "\n".join((
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">',
        f"<style>{_STYLE}</style>",
        '<defs><pattern id="open" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<path d="M0 0V6" stroke="#9aa1ad" stroke-width="2"/></pattern></defs>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        *body,
        "</svg>\n",
    ))  # fmt: skip


def _cpu(node: NodeConfig, shown: Sequence[WantedCgroup], cores: Mapping[str, float], top: int) -> Iterator[str]:
    """The rows of boxes, each below its parent; CPU that nobody can use stays empty."""
    yield _text(_MARGIN, top, "CPU when every container is busy", "head")
    yield _text(_WIDTH - _MARGIN, top, "Guaranteed pods lie in kubepods itself", "note end")
    left, width = _MARGIN + 76, _WIDTH - 2 * _MARGIN - 76
    scale, paths = width / node.cpus, {cgroup.path for cgroup in shown}
    children: dict[str, list[WantedCgroup]] = {}
    for cgroup in shown:
        children.setdefault(cgroup.parent if cgroup.parent in paths else "", []).append(cgroup)
    for row, level in enumerate(_LEVELS):
        y = top + 14 + row * (_ROW + _GAP)
        yield _text(_MARGIN, y + 18, _NAMES[level], "note")
        yield _box(left, y, width, "#eef0f3")
    yield from _boxes("", left, children, cores, scale, top + 14)
    bottom = top + 14 + len(_LEVELS) * (_ROW + _GAP)
    step = max(1, math.ceil(node.cpus / 16))
    for tick in sorted({*range(0, node.cpus + 1, step), node.cpus}):
        x = left + tick * scale
        if tick == node.cpus or node.cpus - tick >= step / 2:
            yield f'<path d="M{x:.1f} {bottom}v5" stroke="#9aa1ad"/>'
            yield _text(x, bottom + 18, str(tick), "note middle")


def _boxes(
    parent: str, x: float, children: Children, cores: Mapping[str, float], scale: float, top: int
) -> Iterator[str]:
    for cgroup in sorted(children.get(parent, ()), key=lambda each: list(_COLOURS).index(each.qos)):
        width = cores[cgroup.path] * scale
        if cgroup.level in _LEVELS:
            y = top + _LEVELS.index(cgroup.level) * (_ROW + _GAP)
            name = {"node": "kubepods", "container": str(cgroup.container and cgroup.container.name)}.get(
                cgroup.level, cgroup.pod.name if cgroup.pod else cgroup.owner
            )
            label = f"{name} {cores[cgroup.path]:.2f}"
            label = label if _fitted(label, width - 10) == label else name
            whole = f"{cgroup.owner}: {cores[cgroup.path]:.3f} CPUs of /{cgroup.path}"
            yield _box(x, y, width, _COLOURS[cgroup.qos], whole)
            yield _text(x + 6, y + 18, _fitted(label, width - 10), "in")
        yield from _boxes(cgroup.path, x, children, cores, scale, top)
        x += width


def _memory(
    node: NodeConfig, wanted: Sequence[WantedCgroup], containers: Sequence[WantedCgroup], top: int
) -> Iterator[str]:
    # a limit below zero, after an overflow or of qosReserved, limits nothing
    limits = {cgroup.path: max(0, cgroup.limits.memory or 0) for cgroup in wanted}
    left, width = _MARGIN + _LEFT, _WIDTH - 2 * _MARGIN - _LEFT - _RIGHT
    ranked = sorted(containers, key=_request, reverse=True)[:_MOST_BARS]
    ends = [min(max(_request(cgroup), limits[cgroup.path]), node.memory) for cgroup in ranked]
    end = max(ends, default=0) or node.memory
    scale = width / end
    yield _text(_MARGIN, top, "Memory", "head")
    note = "solid: request; light: up to its limit; hatched: no limit of its own, so up to that of what it is in"
    yield _text(_WIDTH - _MARGIN, top, note, "note end")
    yield _text(left, top + 24, "0", "note")
    yield _text(left + width, top + 24, _size(end), "note end")
    yield _text(_WIDTH - _MARGIN, top + 24, "request → most, OOM score", "note end")
    for row, cgroup in enumerate(ranked):
        y, colour = top + 34 + row * 22, _COLOURS[cgroup.qos]
        request = _request(cgroup)
        most = min((limit for path in _upwards(cgroup.path) if (limit := limits.get(path))), default=node.memory)
        most = min(most, node.memory)
        yield _text(_MARGIN, y + 13, _fitted(cgroup.owner, _LEFT - 10))
        yield _box(left, y, width, "#eef0f3", height=18)
        if limits[cgroup.path]:
            yield _box(left, y, min(most, end) * scale, colour, height=18, opacity=0.35)
        else:
            yield _box(left, y, min(most, end) * scale, "url(#open)", height=18)
        title = f"{cgroup.owner}: requests {request} bytes, may have {most} bytes"
        yield _box(left, y, min(request, end) * scale, colour, title, height=18)
        text = f"{_size(request) if request else '–'} → {_size(most)}, {cgroup.oom_score_adj}"
        yield _text(_WIDTH - _MARGIN, y + 13, text, "end")
    bottom = top + 34 + len(ranked) * 22
    if len(containers) > _MOST_BARS:
        yield _text(_MARGIN, bottom + 14, f"and {len(containers) - _MOST_BARS} more containers", "note")
    allocatable = next((cgroup.limits.memory for cgroup in wanted if cgroup.level == "node"), None)
    if allocatable:
        x = left + min(allocatable, end) * scale
        if allocatable <= end:
            yield f'<path d="M{x:.1f} {top + 30}V{bottom + 4}" stroke="#1c2026" stroke-dasharray="4 3"/>'
        asked = sum(_request(cgroup) for cgroup in containers)
        text = f"all pods together: {_size(allocatable)}; these containers request {_size(asked)}"
        yield _text(x, bottom + 20, text, "note end")


def _request(cgroup: WantedCgroup) -> int:
    return max(0, cgroup.container.requests.get("memory", ZERO).value()) if cgroup.container is not None else 0


def _upwards(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def _box(x: float, y: float, width: float, fill: str, title: str = "", height: int = _ROW, opacity: float = 1) -> str:
    """A rectangle with a white edge; ``title`` shows up under the pointer."""
    clear = f' fill-opacity="{opacity}"' if opacity < 1 else ""
    shape = f'<rect x="{x:.1f}" y="{y}" width="{max(0.0, width):.1f}" height="{height}" fill="{fill}"{clear}'
    edge = ' stroke="#fff"' if width > 3 else ""
    return f"{shape}{edge}><title>{escape(title)}</title></rect>" if title else f"{shape}{edge}/>"


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    if not text:
        return ""
    attribute = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y}"{attribute}>{escape(text)}</text>'


def _fitted(text: str, width: float) -> str:
    """A text cut to a width in pixels; "" if fewer than four characters fit."""
    room = int(width / _CHARACTER)
    if len(text) <= room:
        return text
    return f"{text[: room - 1]}…" if room >= 4 else ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _size(number: int) -> str:
    for name, size in (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if number >= size:
            return f"{number / size:.1f}".removesuffix(".0") + name
    return str(number)
