"""The terms of a rule are read as fail(9) has them."""

from __future__ import annotations

from errno import EBUSY, EIO

import pytest

from fakecgroup.faults import FaultError
from fakecgroup.faults.terms import Term, read_terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("off", (Term("off"),)),
        ("error(EBUSY)", (Term("error", errno=EBUSY),)),
        ("1*error(EBUSY)->off", (Term("error", times=1, errno=EBUSY), Term("off"))),
        ("50%error(EIO)", (Term("error", 0.5, errno=EIO),)),
        ("0.5%2*error(EIO) -> vanish", (Term("error", 0.005, 2, errno=EIO), Term("vanish"))),
        ("delay(50ms)", (Term("delay", delay=50_000_000),)),
        ("delay(50)", (Term("delay", delay=50_000_000),)),
        ("delay(1.5s)", (Term("delay", delay=1_500_000_000),)),
        ("delay(20us)", (Term("delay", delay=20_000),)),
        ("3*panic(oops)", (Term("panic", times=3),)),
    ],
)
def test_terms_are_read(text: str, terms: tuple[Term, ...]) -> None:
    assert read_terms(text) == terms


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "'' is no term"),
        ("error", "error takes the name of an errno"),
        ("error()", "error takes the name of an errno"),
        ("error(16)", "'16' is no errno"),
        ("error(ENONSENSE)", "'ENONSENSE' is no errno"),
        ("error(ENOSYS)", "ENOSYS cannot be had"),
        ("fail(EIO)", "there is no 'fail'"),
        ("delay", "'' is no time"),
        ("delay(soon)", "'soon' is no time"),
        ("delay(61s)", "is longer than 60s"),
        ("101%off", "101% is more than 100%"),
        ("0%error(EIO)", "never happens"),
        ("0*error(EIO)", "never happens"),
        ("off->error(EIO)", "what follows 'off' is never reached"),
        ("error(EIO)->off", "what follows 'error(EIO)' is never reached"),
        ("vanish(now)", "vanish takes nothing in brackets"),
        ("1*error(EIO)->", "'' is no term"),
        ("1**off", "'1**off' is no term"),
        ("error(EIO", "'error(EIO' is no term"),
    ],
)
def test_a_wrong_term_is_told(text: str, complaint: str) -> None:
    with pytest.raises(FaultError) as refused:
        read_terms(text)
    assert complaint in str(refused.value)
