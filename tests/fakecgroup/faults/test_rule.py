"""Rules and files of rules."""

from __future__ import annotations

import pytest

from fakecgroup.faults import FaultError
from fakecgroup.faults.rule import MOST_RULES, read_rule, read_rules


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*/memory.max", "a/b/memory.max", True),
        ("*/memory.max", "memory.max", False),
        ("a/*", "a/b/c", True),
        ("a/?", "a/b", True),
        ("a/[bc]", "a/d", False),
        ("a/memory.max", "a/memory_max", False),
    ],
)
def test_a_star_crosses_slashes(glob: str, path: str, matches: bool) -> None:
    assert read_rule(f"write {glob} = off").matches(path) is matches


def test_spaces_do_not_matter() -> None:
    assert read_rule("  write   a/memory.max  =   off ").text == "write a/memory.max = off"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("write", "a rule is OP GLOB = TERM"),
        ("write a/memory.max", "a rule is OP GLOB = TERM"),
        ("write = off", "a rule is OP GLOB = TERM"),
        ("write a =", "a rule is OP GLOB = TERM"),
        ("scribble a = off", "there is no operation 'scribble': open, read, write"),
        ("write /a = off", "a path begins at the tree's root, without a slash"),
        ("appear a/* = error(EIO)", "appear takes delay(TIME) and off alone"),
    ],
)
def test_a_wrong_rule_is_told(text: str, complaint: str) -> None:
    with pytest.raises(FaultError) as refused:
        read_rule(text)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_has_rules_comments_and_a_seed() -> None:
    given = read_rules("# about writes\nseed 7\n\nwrite a/memory.max = off\nread */pids.max = 2*off\n", "f")
    assert [(rule.text, place) for rule, place in given.rules] == [
        ("write a/memory.max = off", "f:4"),
        ("read */pids.max = 2*off", "f:5"),
    ]
    assert given.seed == 7


def test_a_wrong_rule_of_a_file_is_told_with_its_place() -> None:
    with pytest.raises(FaultError, match=r"^f:2: 'write': a rule is"):
        read_rules("\nwrite\n", "f")


def test_a_file_may_not_have_too_many_rules() -> None:
    with pytest.raises(FaultError, match=f"there are more than {MOST_RULES} rules"):
        read_rules("read * = off\n" * (MOST_RULES + 1), "f")
