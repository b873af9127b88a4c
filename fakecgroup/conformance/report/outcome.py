"""What one case comes to, in the words of test reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fakecgroup.conformance.replay import Result
from fakecgroup.conformance.report.subject import Subject


class Verdict(Enum):
    """Of a case."""

    SAME = "same"
    DIFFERENT = "different"
    KNOWN_GAP = "known gap"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class Outcome:
    """The verdict, the reason in one line, and the differences in full; both empty where all answers are the same."""

    verdict: Verdict
    why: str = ""
    details: str = ""


def outcome_of(result: Result, subject: Subject) -> Outcome:
    """A case none of whose operations were compared passes nowhere; a known gap is no failure."""
    if result.differences:
        details = "\n".join(map(str, result.differences))
        if result.case.name in subject.gaps:
            return Outcome(Verdict.KNOWN_GAP, subject.gaps[result.case.name], details)
        return Outcome(Verdict.DIFFERENT, _counted(len(result.differences), result.compared), details)
    if not result.compared:
        return Outcome(Verdict.NOT_COMPARED, "no operation could be compared on this target")
    return Outcome(Verdict.SAME)


def _counted(different: int, compared: int) -> str:
    verb = "differs" if different == 1 else "differ"
    return f"{different} of {compared} answers {verb} from the kernel's"
