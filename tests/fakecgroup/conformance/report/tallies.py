"""What became of four cases: one the same, one different, one a known gap, one not compared."""

from __future__ import annotations

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.replay import Difference, Result
from fakecgroup.conformance.report.subject import Subject
from fakecgroup.conformance.tally import Tally


class WithGap(Subject):
    """A subject with one known gap."""

    gaps = {"a gap": "on purpose # so"}  # noqa: RUF012


SUBJECT = WithGap("v2", "6.12", "model")


def result(name: str, *, compared: int = 2, different: int = 0, text: str = "x\n") -> Result:
    case = Case(name, "v2", (("read", "a/pids.max"), ("read", "a/pids.current")))
    differences = (Difference(case, index, (None, "max\n"), (None, text)) for index in range(different))
    left_out = {"no such controller here": 2 - compared} if compared < 2 else {}
    return Result(case, compared, left_out, tuple(differences), 0.25)


def tallies(*results: Result) -> list[Tally]:
    tally = Tally("rdma_misc")
    for one in results or (
        result("the answers are the same"),
        result("two answers differ", different=2),
        result("a gap", different=1),
        result("nothing is compared", compared=0),
    ):
        tally.add(one)
    return [tally]
