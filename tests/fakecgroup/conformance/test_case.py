"""The format of cases."""

from __future__ import annotations

import json

import pytest

from fakecgroup.conformance.case import Case, CaseError, arguments, bytes_data, data_bytes, dump_cases, load_cases


@pytest.mark.parametrize(
    ("data", "raw"),
    [
        ("max\n", b"max\n"),
        ("", b""),
        ("\u00e9", b"\xc3\xa9"),
        ("\udcff", b"\xff"),
        ({"b64": "AAE="}, b"\0\1"),
        ({"repeat": ["ab", 3]}, b"ababab"),
        ({"join": ["a", {"repeat": ["b", 2]}, "c"]}, b"abbc"),
        (7, b"7"),
    ],
)
def test_data_stands_for_bytes(data: object, raw: bytes) -> None:
    assert data_bytes(data) == raw


@pytest.mark.parametrize("raw", [bytes(range(256)), b"", b"\xc3\xa9\xff", b"\xed\xb3\xbf"])
def test_bytes_survive_as_a_string_in_json(raw: bytes) -> None:
    assert data_bytes(json.loads(json.dumps(bytes_data(raw)))) == raw


@pytest.mark.parametrize("data", [None, True, ["x"], {"other": 1}, 1.5])
def test_what_is_not_data_is_refused(data: object) -> None:
    with pytest.raises(CaseError):
        data_bytes(data)


def test_arguments_have_defaults_and_numbers() -> None:
    assert arguments(("mkdir", "a")) == [("path", b"a"), ("mode", 0o755)]
    assert arguments(("mkdir", "a", "0700")) == [("path", b"a"), ("mode", 0o700)]
    assert arguments(("rename", "a", "b", "NOREPLACE|EXCHANGE"))[2] == ("rename", 3)
    assert arguments(("poll", "h", "IN|PRI"))[1] == ("poll", 3)
    assert arguments(("kill", "w"))[1] == ("signal", 9)


@pytest.mark.parametrize(
    "op",
    [
        (),
        ("nosuch", "a"),
        ("mkdir",),
        ("mkdir", "a", "0755", "more"),
        ("mkdir", "a", "rwx"),
        ("open", "h", "a", "O_NOSUCH"),
        ("kill", "w", "NOSUCH"),
        ("in", "w"),
        ("in", "w", "nosuch"),
        ("fork", ""),
        ("fork", "n" * 40),
        ("lseek", "h", "x"),
    ],
)
def test_an_operation_that_is_not_well_formed_is_refused(op: tuple[object, ...]) -> None:
    with pytest.raises(CaseError):
        Case("bad", "v2", (op,))


def test_a_refusal_names_case_and_operation() -> None:
    with pytest.raises(CaseError, match=r"'my case'.*nosuch"):
        Case("my case", "v2", (("nosuch",),))


def test_a_layout_is_v1_v2_or_hybrid() -> None:
    with pytest.raises(CaseError, match="'v3' is none of v2, v1, hybrid"):
        Case("x", "v3", ())


def test_the_digest_follows_the_content() -> None:
    one = Case("x", "v2", (("mkdir", "a"),))
    assert one.digest == Case("x", "v2", (("mkdir", "a"),)).digest
    others = [Case("y", "v2", one.ops), Case("x", "v1", one.ops), Case("x", "v2", ())]
    assert len({one.digest, *(other.digest for other in others)}) == 4


@pytest.mark.parametrize(
    "text",
    [
        '["mkdir", "a"]\n["rmdir", "a"]\n',
        '# a remark\n\n["mkdir", "a"]\n["rmdir", "a"]',
        '[["mkdir", "a"], ["rmdir", "a"]]',
        '{"name": "x", "ops": [["mkdir", "a"], ["rmdir", "a"]]}',
        '[{"ops": [["mkdir", "a"], ["rmdir", "a"]]}]',
        '{"ops": [["mkdir", "a"], ["rmdir", "a"]]}\n',
    ],
)
def test_cases_are_read_in_every_form(text: str) -> None:
    (case,) = load_cases(text)
    assert case.layout == "v2"
    assert case.ops == (("mkdir", "a"), ("rmdir", "a"))


def test_one_operation_alone_is_a_case() -> None:
    assert load_cases('["mkdir", "a"]')[0].ops == (("mkdir", "a"),)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '"x"', '{"name": "x"}', '["nosuch"]', '{"ops": 7}', "[[]]"])
def test_text_that_holds_no_case_is_refused(text: str) -> None:
    with pytest.raises(CaseError):
        load_cases(text)


def test_written_cases_can_be_read_again() -> None:
    cases = [Case("a", "v2", (("mkdir", "\udcff"),)), Case("b", "v1", (("write", "x", {"repeat": ["y", 3]}),))]
    assert load_cases(dump_cases(cases)) == cases
