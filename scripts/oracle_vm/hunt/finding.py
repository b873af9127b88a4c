"""A finding: a folder with what is said of it, a case file for `scripts/oracle ask`, and what kernels answered.

``finding.yaml`` has the text, ``case.jsonl`` a case per line, ``answers.jsonl`` a line per kernel and case, which
`scripts/oracle hunt` writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fakecgroup.conformance.case import Answer, Case, CaseError, load_cases
from vm.kernels import SUITES

DIRECTORY = Path(__file__).resolve().parent / "findings"
KERNELS = tuple(SUITES)

#: What becomes of it, as the headings of the page.
OUTCOMES = {
    "lost": "A limit is not in force, and nobody is told",
    "refused": "A valid request is refused",
    "read": "What is read is taken for something else",
}


class FindingError(ValueError):
    """A finding that is not whole; the text names its folder and what is wrong."""


@dataclass(frozen=True)
class Source:
    """A program, and the lines that do it."""

    program: str
    repository: str
    commit: str
    lines: tuple[str, ...]

    @property
    def links(self) -> list[str]:
        """The lines as Markdown links, `path:line`."""
        place = f"https://github.com/{self.repository}/blob/{self.commit}"
        return [f"[`{at}`]({place}/{_fragment(at)})" for at in self.lines]


@dataclass(frozen=True)
class Answers:
    """What one kernel answered to one case."""

    kernel: str
    version: str
    case: Case
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Finding:
    """One finding with its cases, and what was answered so far.

    ``kernels``: those to ask on a layout, where it is not all.
    """

    name: str
    title: str
    outcome: str
    sources: tuple[Source, ...]
    story: str
    seen: str
    instead: str
    known: str
    kernels: Mapping[str, Sequence[str]]
    cases: tuple[Case, ...]
    answers: tuple[Answers, ...]

    def asked(self, case: Case) -> Sequence[str]:
        """The kernels that are to answer a case."""
        return self.kernels.get(case.layout, KERNELS)

    def answered(self, case: Case) -> list[Answers]:
        """By kernel, the oldest first."""
        return [one for kernel in self.asked(case) for one in self.answers if (one.kernel, one.case) == (kernel, case)]


def findings() -> list[Finding]:
    """All findings, by outcome and name. Raises FindingError."""
    order = list(OUTCOMES)
    found = [read(folder) for folder in sorted(DIRECTORY.iterdir()) if folder.is_dir()]
    return sorted(found, key=lambda one: (order.index(one.outcome), one.name))


def read(folder: Path) -> Finding:
    """The finding of a folder. Raises FindingError."""
    try:
        said = yaml.load((folder / "finding.yaml").read_text(encoding="utf-8"), yaml.BaseLoader)  # all is text
        cases = tuple(load_cases((folder / "case.jsonl").read_text(encoding="utf-8")))
        if said["outcome"] not in OUTCOMES:
            raise FindingError(f"{folder.name}: outcome {said['outcome']!r} is none of {', '.join(OUTCOMES)}")
        return Finding(
            folder.name,
            said["title"],
            said["outcome"],
            tuple(_source(one) for one in said["sources"]),
            said["story"].strip(),
            said.get("seen", "").strip(),
            said["instead"].strip(),
            said["known"].strip(),
            said.get("kernels", {}),
            cases,
            tuple(_answers(folder / "answers.jsonl", cases)),
        )
    except (OSError, KeyError, TypeError, AttributeError, json.JSONDecodeError, CaseError, yaml.YAMLError) as error:
        text = " ".join(str(error).split())
        raise FindingError(f"{folder.name}: {type(error).__name__}: {text}") from None


def write_answers(finding: Finding, answers: Sequence[Answers]) -> Path:
    """Keeps what kernels answered; returns the file."""
    path = DIRECTORY / finding.name / "answers.jsonl"
    rows = [
        {
            "kernel": one.kernel,
            "version": one.version,
            "layout": one.case.layout,
            "case": one.case.name,
            "answers": one.answers,
        }
        for one in answers
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _source(said: Mapping[str, Any]) -> Source:
    return Source(said["program"], said["repository"], said["commit"], tuple(said["lines"]))


def _answers(path: Path, cases: Sequence[Case]) -> list[Answers]:
    if not path.exists():
        return []
    named = {(case.layout, case.name): case for case in cases}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Answers(row["kernel"], row["version"], case, tuple((one[0], one[1]) for one in row["answers"]))
        for row in rows
        if (case := named.get((row["layout"], row["case"])))
    ]


def _fragment(at: str) -> str:
    path, _, lines = at.rpartition(":")
    first, dash, last = lines.partition("-")
    return f"{path}#L{first}" + (f"-L{last}" if dash else "")
