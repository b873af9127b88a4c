"""Files that strangers wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cgroup_engine.errors import PodError
from cgroup_engine.inputs.documents import read_documents


def _read(tmp_path: Path, content: str | bytes) -> list[dict[str, Any]]:
    path = tmp_path / "f.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_documents(path, PodError)


def test_documents_are_read_one_by_one(tmp_path: Path) -> None:
    assert _read(tmp_path, "a: 1\n---\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]


def test_json_is_read(tmp_path: Path) -> None:
    assert _read(tmp_path, '{"a": [1, 2]}') == [{"a": [1, 2]}]


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    assert _read(tmp_path, b"\xef\xbb\xbfa: 1") == [{"a": 1}]


def test_a_date_and_a_base_60_number_stay_text(tmp_path: Path) -> None:
    assert _read(tmp_path, "a: 2020-01-01\nb: 1:30\n") == [{"a": "2020-01-01", "b": "1:30"}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("# nothing\n---\n", "is empty"),
        ("a: [1\n", "line 2: is not YAML"),
        ("\t- x", "is not YAML"),
        (b"\x7fELF\x00\xff\xfe", "is not text"),
        ("a: \x01", "is not YAML"),
        ("!!python/object:os.system {}", "is not YAML"),
        ("!!timestamp x", "is not YAML"),
        ("!!bool x", "is not YAML"),
        ("!!int ''", "is not YAML"),
        ("a: " + "9" * 5000, "is not YAML"),
        ("[" * 5000, "nested too deeply"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("- " * 50_000 + "x", "nested too deeply"),
        ("? " * 50_000 + "x", "nested too deeply"),
        ("\r".join(" " * n + "a:" for n in range(3000)), "nested too deeply"),
        ("\n".join(" " * n + "-" for n in range(3000)), "nested too deeply"),
        ("\n".join(" " * n + "a:\n" + " " * n + "- b:" for n in range(0, 3000, 2)), "nested too deeply"),
        ('{"a":' * 5000, "nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(PodError) as caught:
        _read(tmp_path, content)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "f.yaml" in str(caught.value)


def test_anchors_that_multiply_are_not_expanded(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    assert len(_read(tmp_path, "\n".join(lines))) == 1


def test_merge_keys_that_multiply_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 {x: 1, y: 2}"] + [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)]
    with pytest.raises(PodError, match="repeat more than"):
        _read(tmp_path, "\n".join(lines))


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(PodError, match=r"No such file"):
        read_documents(tmp_path / "none", PodError)
