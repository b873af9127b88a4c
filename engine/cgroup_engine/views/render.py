"""Plans, status and explanations as tables, JSON and YAML.

JSON and YAML are for programs and stay stable. Tables are for people and may change.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TextIO

from cgroup_engine.model.hugepages import PREFIX
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.tree.knobs import Knob
from cgroup_engine.views.takes_effect import AFTER_A_REBOOT, EFFECTS, IN_WORDS

if TYPE_CHECKING:  # of status alone
    from cgroup_engine.plan.status import Row
    from cgroup_engine.views.fit import Misfit

Output = Literal["table", "json", "yaml"]
_GREEN, _YELLOW, _RED, _BOLD, _DIM, _PLAIN = "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[1m", "\x1b[2m", "\x1b[0m"
_V1_WIDTH = 50  # only the names of huge pages are longer
_BYTES = ("memory", "swap", PREFIX)
_SHOWN_WORKLOADS, _SHOWN_CPU = 2, 10
_SHOWN_INPUTS = 6  # a value may come from many pods
_STATE_COLOUR = {"ok": _GREEN, "drift": _RED, "missing": _RED, "unwanted": _YELLOW, "waiting": _YELLOW}
_ACTION_COLOUR = {
    "mkdir": _GREEN, "start": _GREEN, "write": _YELLOW, "set": _YELLOW, "rmdir": _RED, "stop": _RED,
}  # fmt: skip


class Printer:
    """Writes to a stream; in colour on a terminal without NO_COLOR."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.colour = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def line(self, text: str = "") -> None:
        print(text, file=self.stream)

    def paint(self, text: str, code: str) -> str:
        return f"{code}{text}{_PLAIN}" if self.colour and code else text

    def rows(self, data: Mapping[str, Any], output: Output) -> None:
        """As ``data``, but in JSON each row of a list is one line, which is also faster."""
        self.data(data, output, _json_row)

    def data(self, data: Mapping[str, Any], output: Output, json_row: Callable[[Any], str] | None = None) -> None:
        """Plain data. An iterator in it is a list whose entries are made, and written, one by one.

        ``json_row``: the text of one entry of a list or mapping in JSON; without it, each is indented.
        """
        write = self.stream.write
        if output == "yaml":
            for name, value in data.items():
                _write_yaml(write, name, value)
            return
        for number, (name, value) in enumerate(data.items()):
            write(f"{',' if number else '{'}\n  {json.dumps(name)}: ")
            _write_json(write, value, json_row)
        write("\n}\n")

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[str]], colours: Mapping[str, str]) -> None:
        """Columns as wide as their longest cell, two blanks between; the last is not padded.

        ``rows`` are gone through twice.
        """
        widths = [len(head) for head in heads]
        for row in rows:
            widths = [max(width, len(cell)) for width, cell in zip(widths, row, strict=True)]
        self.line(self.paint(_aligned(heads, widths), _BOLD))
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)] + [row[-1]]
            painted = [self.paint(cell, colours.get(cell.strip(), "")) for cell in cells]
            self.line("  ".join(painted).rstrip())


class _Rows:
    """Rows that are made anew each time someone goes through them."""

    def __init__(self, make: Callable[[], Iterator[Sequence[str]]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Sequence[str]]:
        return self._make()


_json_row = json.JSONEncoder(ensure_ascii=False).encode
_json_indented = json.JSONEncoder(ensure_ascii=False, indent=2).encode


def _write_json(write: Callable[[str], object], value: Any, json_row: Callable[[Any], str] | None) -> None:
    """Writes the value of a pair of the outermost mapping."""
    row = json_row or (lambda each: _json_indented(each).replace("\n", "\n    "))
    brackets = "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, dict):
        entries: Iterator[str] = (f"{json.dumps(name)}: {row(each)}" for name, each in value.items())
    elif isinstance(value, (list, Iterator)):
        entries = map(row, value)
    else:
        write(row(value))
        return
    empty = True
    for entry in entries:
        write(f"{brackets[0] if empty else ','}\n    {entry}")
        empty = False
    write(brackets if empty else f"\n  {brackets[1]}")


def _write_yaml(write: Callable[[str], object], name: str, value: Any) -> None:
    """Writes a pair of the outermost mapping."""
    if not isinstance(value, (list, Iterator)):
        write(_yaml_text({name: value}))
        return
    empty = True
    for entry in value:
        if empty:
            write(f"{name}:\n")
        write(_yaml_text([entry]))
        empty = False
    if empty:
        write(f"{name}: []\n")


def _yaml_text(value: Any) -> str:
    import yaml  # it takes long to import

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text = yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=10**6)
    return str(text)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _with_unit(text: str, knob: Knob | None) -> str:
    return text if knob is None else with_unit(text, knob.unit())


def with_unit(text: str, unit: str) -> str:
    """A value for people: with its unit, and bytes also in Ki, Mi or Gi if that is exact."""
    if text == "":
        return text
    if unit != "bytes" or not text.isdigit():
        return text if text in ("max", "-1") else f"{text} {unit}".rstrip()
    number = int(text)
    if number >= (1 << 63) - 65536:
        return f"{text} bytes (no limit)"
    for name, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if number >= size and number % size == 0:
            return f"{text} bytes ({number // size}{name})"
    return f"{text} bytes"


def step_line(step: Step) -> str:
    """One step, as apply and down print it."""
    if step.action != "write":
        return f"{step.action} {step.path} {step.text}".rstrip()
    return f"write {step.path} = {_with_unit(step.text, step.knob)}"


def print_plan(
    printer: Printer, plan: Plan, scores: Mapping[str, int], output: Output, unfit: Sequence[Misfit] = ()
) -> None:
    """Prints a plan. ``scores``: container -> oom_score_adj of its processes, which no cgroup file holds."""
    if output != "table":
        more = {"oom_score_adj": dict(scores), "unfit": [misfit.data() for misfit in unfit]}
        printer.rows(plan_data(plan) | more, output)
        return
    if plan.steps:
        _print_steps(printer, plan)
    else:
        printer.line(f"nothing to do ({plan.layout.name})")
    if plan.waiting:
        printer.line()
        printer.table(("WAITS FOR ITS RUNTIME",), [(note,) for note in plan.waiting], {})
    if scores:
        printer.line()
        rows = [(str(score), name) for name, score in scores.items()]
        printer.table(("OOM_SCORE_ADJ", "OF THE PROCESSES OF"), rows, {})


def _print_steps(printer: Printer, plan: Plan) -> None:
    def rows() -> Iterator[Sequence[str]]:
        for number, step in enumerate(plan.steps, 1):
            value, before = _with_unit(step.text, step.knob), _with_unit(step.before, step.knob) or "-"
            yield str(number), step.action, step.path, value, before, _why(step)

    printer.table(("STEP", "DO", "PATH", "VALUE", "BEFORE", "WHY"), _Rows(rows), _ACTION_COLOUR)


def _why(step: Step) -> str:
    notes = [step.why, step.need]
    if step.obstacle:
        notes.append(f"will be refused: {step.obstacle}")
    return "; ".join(note for note in notes if note)


def plan_data(plan: Plan) -> dict[str, Any]:
    """A plan as plain data, with an iterator of its steps."""
    data = {"layout": plan.layout.name, "steps": _steps_data(plan)}
    return {**data, "kept": list(plan.kept), "waiting": list(plan.waiting)}


def _steps_data(plan: Plan) -> Iterator[dict[str, Any]]:
    for number, step in enumerate(plan.steps, 1):
        entry: dict[str, Any] = {"step": number, "do": step.action, "path": step.path, "why": step.why}
        if step.action in ("start", "set", "stop"):
            entry |= _unit_data(step)
        if step.action == "write":
            unit = step.knob.unit() if step.knob is not None else "controllers"
            entry |= {"value": step.text, "before": step.before, "unit": unit}
        entry |= {name: text for name, text in (("need", step.need), ("obstacle", step.obstacle)) if text}
        if step.owner:
            entry["for"] = step.owner
        yield entry


def _unit_data(step: Step) -> dict[str, Any]:
    from cgroup_engine.plan.systemd.properties import plain
    from cgroup_engine.plan.systemd.unit_step import UnitStep

    assert isinstance(step, UnitStep)
    properties = {name: plain(value) for name, value in step.properties}
    return {"cgroup": step.cgroup, "properties": properties, "value": step.text, "before": step.before}


def print_status(
    printer: Printer, rows: Sequence[Row], layout: str, output: Output, unfit: Sequence[Misfit] = ()
) -> None:
    """Prints the rows of a status; ``unfit``: what the node has not, which only data has."""
    from cgroup_engine.plan.status import differs
    from cgroup_engine.views.status_data import status_data

    if output != "table":
        printer.rows(status_data(rows, layout, unfit), output)
        return
    drifted = sum(map(differs, rows))

    def cells() -> Iterator[Sequence[str]]:
        for row in rows:
            wanted, found = _with_unit(row.wanted, row.knob) or "-", _with_unit(row.found, row.knob) or "-"
            yield row.state, row.path, wanted, found, row.owner

    waiting = sum(row.state == "waiting" for row in rows)
    _print_states(printer, _Rows(cells), layout, drifted, len(rows), waiting)


def print_status_of_pod(printer: Printer, data: Mapping[str, Any], output: Output) -> None:
    """Prints a status that an engine elsewhere has told, as ``status_data`` makes it."""
    if output != "table":
        printer.data(data, output)
        return
    files = data["files"]
    rows = [
        (
            file["state"],
            file["path"],
            with_unit(file["wanted"], file["unit"]) or "-",
            with_unit(file["found"], file["unit"]) or "-",
            file["for"],
        )
        for file in files
    ]
    states = [row[0] for row in rows]
    drifted = sum(state not in ("ok", "waiting") for state in states)
    _print_states(printer, rows, data["layout"], drifted, len(rows), states.count("waiting"))


def _print_states(
    printer: Printer, rows: Iterable[Sequence[str]], layout: str, drifted: int, total: int, waiting: int
) -> None:
    printer.table(("STATE", "PATH", "WANTED", "FOUND", "FOR"), rows, _STATE_COLOUR)
    what = f"{drifted} of {total} differ" if drifted else f"all {total - waiting} as wanted"
    what += f", {waiting} containers wait for their runtime" if waiting else ""
    printer.line(f"{layout}: {what}")


def print_explanation(printer: Printer, data: dict[str, Any], output: Output) -> None:
    """Prints the data of ``explain.explanation`` or ``explain.explained``."""
    if output != "table":
        printer.data(data, output)
        return
    node = data["node"]
    printer.line(
        f"kubelet {node['kubelet_version']}, {node['driver']} driver, {node['cpus']} CPUs, "
        f"{node['memory_bytes']} bytes of memory"
    )
    for what, amounts in (
        ("allocatable to all pods", node["allocatable"]),
        ("allocatable as the node reports it", node["reported_allocatable"]),
    ):
        printer.line(f"{what}: {', '.join(f'{name} {amount}' for name, amount in amounts.items())}")
    for entry in data["cgroups"]:
        _print_cgroup(printer, entry["owner"], entry, "")
    for pod in data["pods"]:
        printer.line()
        printer.line(printer.paint(f"pod {pod['pod']}  {pod['qos_class']}", _BOLD))
        printer.line(f"  {pod['qos_rule']}")
        _print_source(printer, pod["qos_source"], {}, "  ")
        if "resize" in pod:
            printer.line(f"  {pod['resize']}")
        _print_cgroup(printer, "pod", pod, "  ")
        for container in pod["containers"]:
            _print_cgroup(printer, f"container {container['container']}", container, "  ")
            printer.line(f"    oom_score_adj {container['oom_score_adj']}  ({container['oom_rule']})")
            if "oom_source" in container:
                _print_source(printer, container["oom_source"], container["oom_inputs"], "       ")


def print_difference(printer: Printer, data: dict[str, Any], output: Output, *, verbose: bool = False) -> None:
    """Prints the data of ``difference.difference``: grouped, and with ``verbose`` each value before that."""
    if output != "table":
        printer.data(data, output)
        return
    if not data["differences"] and not data["cpu_under_load"]:
        printer.line("no difference")
        return
    if verbose:
        _print_values(printer, data)
        printer.line()
    rows = [
        (
            finding["text"],
            _workloads(finding["workloads"]),
            _extremes(finding),
            AFTER_A_REBOOT if data["reboot"] else IN_WORDS[finding["takes_effect"]],
        )
        for finding in data["findings"]
    ]
    if rows:
        printer.table(("CHANGE", "WHOSE", "GREATEST CHANGE", "TAKES EFFECT"), rows, {})
    if data["cpu_under_load"]:
        printer.line()
        _print_cpu(printer, data["cpu_under_load"], verbose=verbose)
    printer.line()
    printer.line(_totals(data))


def _print_values(printer: Printer, data: Mapping[str, Any]) -> None:
    rows = []
    for row in data["differences"]:
        for layout, file, old, new in _changes(row):
            sides = [side for side in (row["to"], row["from"]) if isinstance(side, dict)]
            rows.append((row["for"], layout, file, old or "-", new or "-", sides[0]["rule"] if sides else ""))
    printer.table(("FOR", "ON", "WHAT", *_sides(data), "WHY"), rows, {})


def _workloads(workloads: Sequence[Mapping[str, Any]]) -> str:
    named = [
        one["workload"] if one["cgroups"] == 1 else f"{one['workload']} {one['cgroups']}"
        for one in workloads[:_SHOWN_WORKLOADS]
    ]
    more = len(workloads) - len(named)
    return ", ".join(named) + (f", {more} more" if more else "")


def _extremes(finding: Mapping[str, Any]) -> str:
    from cgroup_engine.views.findings import shown

    worst = finding.get("worst")
    if worst is None:
        return "-"
    old, new = (
        shown(int(text), finding["what"]) if finding["what"].startswith(_BYTES) and text.isdigit() else text
        for text in (worst["from"], worst["to"])
    )
    return f"{old} → {new}, {worst['for']}"


def _print_cpu(printer: Printer, rows: Sequence[Mapping[str, Any]], *, verbose: bool) -> None:
    shown = rows if verbose else rows[:_SHOWN_CPU]
    cells = [
        (row["workload"], str(row["pods"]), f"{row['from']:.3f}", f"{row['to']:.3f}", f"{row['to'] - row['from']:+.3f}")
        for row in shown
    ]
    printer.table(("CPU UNDER LOAD", "PODS", "CORES", "THEN", "CHANGE"), cells, {})
    if len(rows) > len(shown):
        printer.line(f"and {len(rows) - len(shown)} more workloads")


def _totals(data: Mapping[str, Any]) -> str:
    sums = Counter(row["takes_effect"] for row in data["differences"])
    if data["reboot"]:
        return f"{sum(sums.values())} values change {AFTER_A_REBOOT}"
    return f"{sum(sums.values())} values change: " + ", ".join(
        f"{sums[effect]} {IN_WORDS[effect]}" for effect in EFFECTS if sums[effect]
    )


def _sides(data: Mapping[str, Any]) -> tuple[str, str]:
    """The heads of both sides: HERE and THERE, or the kubelet versions if these differ."""
    versions = [data[side]["kubelet_version"] for side in ("from", "to")]
    return ("HERE", "THERE") if versions[0] == versions[1] else (f"KUBELET {versions[0]}", f"KUBELET {versions[1]}")


def _changes(row: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """(layout, file, text here, text there) for each file of a value; one row for both layouts without files."""
    old, new = row["from"], row["to"]
    if not isinstance(old, dict) and not isinstance(new, dict):
        yield "v1, v2", row["what"], "" if old is None else str(old), "" if new is None else str(new)
        return
    for layout in ("v1", "v2"):
        before, after = ((side or {}).get(layout, {}) for side in (old, new))
        for file in dict.fromkeys((*before, *after)):
            if before.get(file) != after.get(file):
                yield layout, file, before.get(file, ""), after.get(file, "")


def _print_cgroup(printer: Printer, title: str, entry: Mapping[str, Any], indent: str) -> None:
    printer.line()
    printer.line(f"{indent}{printer.paint(title, _BOLD)}  /{entry['cgroup']}")
    for value in entry["values"]:
        printer.line(f"{indent}  v1 {_files(value['v1']).ljust(_V1_WIDTH)}  v2 {_files(value['v2'])}")
        printer.line(f"{indent}     {value['rule']}")
        _print_source(printer, value["source"], value["inputs"], f"{indent}     ")
    if "cpu_cores_under_load" in entry:
        v1, v2 = entry["cpu_cores_under_load"], entry["cpu_cores_under_load_v2"]
        printer.line(f"{indent}  CPU when all containers are busy: {v1:.3f} cores (v2: {v2:.3f} cores)")


def _print_source(printer: Printer, source: Mapping[str, str], inputs: Mapping[str, str], indent: str) -> None:
    given = [f"{name} {text}" for name, text in list(inputs.items())[:_SHOWN_INPUTS]]
    if len(inputs) > _SHOWN_INPUTS:
        given.append(f"{len(inputs) - _SHOWN_INPUTS} more")
    where = f"{source['function']}, {source['file']}, kubelet {source['kubelet']}" if source["file"] else "the runtime"
    printer.line(indent + printer.paint(f"{where}{': ' if given else ''}{', '.join(given)}", _DIM))


def _files(files: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={text}" for name, text in files.items())
