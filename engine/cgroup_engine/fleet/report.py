"""What was found, for people."""

from __future__ import annotations

from cgroup_engine.fleet.merge import Fleet
from cgroup_engine.views.render import Printer
from cgroup_engine.views.takes_effect import IN_WORDS

_NODES = 20
_ERRORS = 10
_REASONS = 3


def print_report(printer: Printer, fleet: Fleet, *, changed: bool) -> None:
    """The report: findings by rule, the worst nodes, what could not be used. ``changed``: there was a change."""
    counts = (len(fleet.nodes), "node"), (fleet.pods, "pod"), (fleet.containers, "container")
    printer.line(", ".join(_counted(*each) for each in counts))
    if fleet.findings:
        _print_findings(printer, fleet)
        _print_nodes(printer, fleet)
    else:
        printer.line("nothing would change" if changed else "nothing was found")
    for line in [*fleet.notes, *sorted(fleet.errors)[:_ERRORS]]:
        printer.line(f"left out: {line}")
    more = max(0, len(fleet.errors) - _ERRORS) + fleet.more_errors
    if more:
        printer.line(f"left out: {more:,} more")


def _print_findings(printer: Printer, fleet: Fleet) -> None:
    printer.line()
    rows = []
    for one in fleet.ranked:
        tightest = "" if one.tightest is None else f"{one.tightest[1]} ({one.tightest[2]})"
        worst = "" if one.worst is None else f"{one.worst[1]} -> {one.worst[2]} ({one.worst[3]})"
        numbers = (f"{number:,}" if number else "" for number in (one.nodes, one.pods, one.containers))
        rows.append((one.rule, *numbers, IN_WORDS[one.effect], tightest, worst))
    printer.table(("RULE", "NODES", "PODS", "CONTAINERS", "TAKES EFFECT", "TIGHTEST", "WORST"), rows, {})
    for one in fleet.ranked:
        reasons = sorted(one.reasons.items(), key=lambda pair: (-pair[1], pair[0]))
        for text, count in reasons[:_REASONS]:
            printer.line(f"{one.rule}: {text} ({_counted(count, 'node')})")


def _print_nodes(printer: Printer, fleet: Fleet) -> None:
    printer.line()
    shown = [node for node in fleet.worst_nodes if node.rules or node.error]
    rows = [
        (
            node.name,
            str(len(node.rules)),
            f"{node.pods:,}",
            node.facts.get("kubelet", ""),
            node.facts.get("cgroups", ""),
            node.error or ", ".join(node.rules),
        )
        for node in shown[:_NODES]
    ]
    printer.table(("NODE", "RULES", "PODS", "KUBELET", "CGROUPS", "FOUND"), rows, {})
    if len(shown) > _NODES:
        printer.line(f"{_counted(len(shown) - _NODES, 'more node')} with findings")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
