"""A replay as a matrix: a row for each call that differs, a column for each kernel."""

from __future__ import annotations

import json
from typing import Any

from .call import Call, written_data
from .replay import NOT_APPLICABLE, NOT_COMPARED, NOT_MADE, Outcome, Played, Replay, Row
from .strace_line import printable, quoted

_MOST = 50  # rows for people
_MOST_CHANGES = 6  # lines of a text
_WIDE = 60  # letters of a call


def matrix_lines(replay: Replay) -> list[str]:
    """For people."""
    differing = replay.differing()
    lines = []
    if differing:
        base = replay.baseline
        heads = [one.title for one in replay.played]
        table = [["LINE", "CALL", "RECORDED", *heads]]
        for row, _ in differing[:_MOST]:
            expected = replay.expected(row)
            cells = [_cell(row.outcomes[head], expected) for head in heads]
            table.append([str(row.line), _shown_call(row.call), _answer(row.recorded, row.recorded), *cells])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines += ["  ".join(map(str.ljust, row_, widths)).rstrip() for row_ in table]
        lines += [f"and {len(differing) - _MOST:,} more calls (see -o json)"] if len(differing) > _MOST else []
        texts = [line for row, found in differing[:_MOST] for line in _changes(replay, row, found)]
        lines += ["", *texts] if texts else []
        lines.append("")
        if base is not None and base not in replay.played:
            lines.append(f"compared with {base.title}, on which they were recorded")
    for one in replay.played:
        lines.append(_count_line(replay, one, sum(one in found for _, found in differing)))
    lines += _remarks(replay)
    return lines


def _count_line(replay: Replay, one: Played, number: int) -> str:
    where = f"{one.title}: "
    if one.stage is None:
        return f"{where}not applicable: the trace is of {replay.head.layout}, and paths are not translated"
    line = f"{where}{number:,} of {one.compared:,} calls {_are(number)} answered otherwise"
    left = [
        f"{number:,} {words.format(are=_are(number))}"
        for what, words in (
            (NOT_MADE, "could not be made after that"),
            (NOT_APPLICABLE, "{are} of the other version"),
            (NOT_COMPARED, "{are} not compared"),
        )
        if (number := one.left_out[what])
    ]
    return "; ".join([line, *left])


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _remarks(replay: Replay) -> list[str]:
    lines = []
    base = replay.baseline
    missed = replay.unreproduced()
    if replay.head.kernel is None and base is not None:
        lines.append(f"the trace does not say its kernel: {base.title} answers most calls as recorded")
    if missed and base is not None:
        lines.append(
            f"{len(missed):,} calls are not answered by {base.title} as they were recorded: they depend on more than "
            "the trace has. There the others are compared with its answer:"
        )
        lines += [
            f"  line {row.line}: {_shown_call(row.call)}: recorded {_answer(row.recorded, row.recorded)}, here "
            f"{_answer(row.outcomes[base.title], row.recorded)}"
            for row in missed[:10]
        ]
        lines += [f"  and {len(missed) - 10:,} more"] if len(missed) > 10 else []
    if replay.not_kept:
        lines.append(f"{replay.not_kept:,} more calls differ from what was recorded, and are not shown")
    if replay.lost:
        lines.append(f"{replay.lost:,} calls are lost in the trace: what comes after them may differ for that")
    return lines


def _shown_call(call: Call) -> str:
    data = f" {quoted(call.data)}" if call.data is not None and call.op in ("write", "setxattr", "mount") else ""
    to = f" {printable(call.text('to'))}" if call.text("to") else ""
    flags = f" {printable(call.text('flags'))}" if call.op == "open" else ""
    text = f"{printable(call.comm)}[{call.pid}] {printable(call.op)} {printable(call.path)}{to}{data}{flags}"
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 3]}..."


def _cell(outcome: Outcome, expected: Outcome | None) -> str:
    if outcome.what == NOT_APPLICABLE:
        return "n/a"
    if outcome.what in (NOT_MADE, NOT_COMPARED):
        return "-"
    return _answer(outcome, expected)


def _answer(outcome: Outcome, expected: Outcome | None) -> str:
    if outcome.errno is not None:
        return outcome.errno
    if expected is not None and outcome.text is not None and outcome.text != expected.text:
        return "other text"
    return "ok"


def _changes(replay: Replay, row: Row, found: list[Played]) -> list[str]:
    """The lines that a text has more or less on each kernel."""
    expected = replay.expected(row)
    if expected is None or expected.text is None:
        return []
    lines = []
    for one in found:
        text = row.outcomes[one.title].text
        if text is not None:
            changes = _changed_lines(expected.text, text)
            shown = ", ".join(printable(change) for change in changes[:_MOST_CHANGES])
            more = f" and {len(changes) - _MOST_CHANGES} more" if len(changes) > _MOST_CHANGES else ""
            lines.append(f"line {row.line}: {printable(row.call.path)} on {one.title}: {shown}{more}")
    return lines


def _changed_lines(before: str, after: str) -> list[str]:
    """Lines that are gone with a -, new ones with a +; lists in another order are whole lines of both."""
    old, new = before.splitlines(), after.splitlines()
    gone = [f"-{line}" for line in old if line not in new]
    come = [f"+{line}" for line in new if line not in old]
    return [*gone, *come] or ["the same lines in another order"]


def matrix_json(replay: Replay) -> str:
    """For programs: one object, whose keys stay."""
    base = replay.baseline
    differing = replay.differing()
    head = replay.head
    found: dict[str, Any] = {
        "version": 1,
        "trace": {"layout": head.layout, "kernel": head.kernel, "calls": replay.calls, "lost": replay.lost},
        "baseline": None if base is None else {"layout": base.layout, "kernel": base.kernel},
        "differs": bool(differing),
        "kernels": [
            {
                "layout": one.layout,
                "kernel": one.kernel,
                "applicable": one.stage is not None,
                "differing": sum(one in differ for _, differ in differing),
                "compared": one.compared,
                "not_made": one.left_out[NOT_MADE],
                "not_applicable": one.left_out[NOT_APPLICABLE],
                "not_compared": one.left_out[NOT_COMPARED],
            }
            for one in replay.played
        ],
        "calls": [_row_json(replay, row, {one.title for one in differ}) for row, differ in differing],
        "unreproduced": [
            {**_call_json(row), "baseline": _outcome_json(row.outcomes[base.title])}
            for row in replay.unreproduced()
            if base is not None
        ],
        "not_kept": replay.not_kept,
    }
    return json.dumps(found, indent=2)


def _call_json(row: Row) -> dict[str, Any]:
    call = row.call
    return {
        "line": row.line,
        "pid": call.pid,
        "comm": call.comm,
        "op": call.op,
        "path": call.path,
        "data": None if call.data is None or call.op == "read" else written_data(call.data),
        "recorded": _outcome_json(row.recorded),
    }


def _row_json(replay: Replay, row: Row, differ: set[str]) -> dict[str, Any]:
    return {
        **_call_json(row),
        "answers": [
            {
                "layout": one.layout,
                "kernel": one.kernel,
                "differs": one.title in differ,
                **_outcome_json(row.outcomes[one.title]),
            }
            for one in replay.played
        ],
    }


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    made = outcome.what not in (NOT_APPLICABLE, NOT_COMPARED, NOT_MADE)
    found: dict[str, Any] = {"answer": "given" if made else outcome.what, "errno": outcome.errno}
    if outcome.text is not None:
        found["text"] = outcome.text
    return found
