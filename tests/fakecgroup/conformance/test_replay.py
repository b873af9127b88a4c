"""How a replay compares, skips and ends."""

from __future__ import annotations

from collections.abc import Callable

from fakecgroup.conformance.case import Answer, Case, Op
from fakecgroup.conformance.recording import NOT_ASKED, VARIES, RecordedCase
from fakecgroup.conformance.replay import replay
from fakecgroup.conformance.target import UnsupportedError


class Scripted:
    """A target that answers from a function."""

    def __init__(self, answer: Callable[[Op], Answer]) -> None:
        self.pids: dict[int, str] = {}
        self.finished = False
        self._answer = answer

    def start(self, case: Case) -> None: ...

    def do(self, op: Op) -> Answer:
        return self._answer(op)

    def finish(self) -> None:
        self.finished = True


def recorded(*answers: Answer) -> RecordedCase:
    ops = tuple(("read", f"f{number}") for number in range(len(answers)))
    return RecordedCase("family", Case("case", "v2", ops), answers)


def test_equal_answers_make_no_difference() -> None:
    result = replay(recorded((None, "x"), ("ENOENT@open", None)), Scripted(
        lambda op: (None, "x") if op[1] == "f0" else ("ENOENT@open", None)))  # fmt: skip
    assert (result.compared, result.differences) == (2, ())


def test_a_difference_says_what_the_kernel_answered() -> None:
    (difference,) = replay(recorded((None, "x")), Scripted(lambda op: ("EIO@read", None))).differences
    assert difference.expected == (None, "x")
    assert difference.got == ("EIO@read", None)
    assert "case, operation 0" in str(difference)


def test_an_answer_that_varies_is_not_compared() -> None:
    result = replay(recorded(VARIES, (None, "x")), Scripted(lambda op: (None, "x")))
    assert (result.compared, result.skipped, result.differences) == (1, 1, ())


def test_an_operation_that_is_not_supported_can_end_a_case() -> None:
    def answer(op: Op) -> Answer:
        raise UnsupportedError("read")

    result = replay(recorded((None, "x"), (None, "y")), Scripted(answer))
    assert (result.compared, result.skipped) == (0, 2)


def test_each_operation_that_is_left_out_has_a_reason() -> None:
    def answer(op: Op) -> Answer:
        if op[1] == "f3":
            raise UnsupportedError("no such file here")
        return (None, "x")

    same: Answer = (None, "x")
    result = replay(recorded(VARIES, NOT_ASKED, same, same, same), Scripted(answer))
    assert dict(result.left_out) == {
        "the recorded kernel does not answer twice the same": 1,
        "the recorded kernel was not asked": 1,
        "no such file here": 2,
    }
    assert (result.compared, result.skipped) == (1, 4)


def test_an_operation_that_is_not_supported_can_be_passed_over() -> None:
    def answer(op: Op) -> Answer:
        if op[1] == "f0":
            raise UnsupportedError("read", ends=False)
        return (None, "y")

    assert replay(recorded((None, "x"), (None, "y")), Scripted(answer)).compared == 1


def test_the_target_is_told_when_a_case_ends() -> None:
    def answer(op: Op) -> Answer:
        raise RuntimeError

    target = Scripted(answer)
    try:
        replay(recorded((None, "x")), target)
    except RuntimeError:
        pass
    assert target.finished
