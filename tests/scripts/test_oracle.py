"""The oracle's command line and its wire format; nothing here boots a machine."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from fakecgroup.conformance.case import Case
from fakecgroup_mount.vm import wire
from vm import kernels

SCRIPTS = Path(__file__).parents[2] / "scripts"


def oracle(*arguments: str, cache: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, str(SCRIPTS / "program.py"), "oracle_vm", *arguments]
    return subprocess.run(command, input=text, env=environment, capture_output=True, text=True, timeout=30, check=False)


def test_a_kernel_that_is_not_there_is_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fetched = []

    def fetch(series: str, home: Path) -> None:
        fetched.append(series)
        (home / "kernel.json").write_text('{"package": "linux-image", "version": "1", "vmlinuz": "vmlinuz"}')

    monkeypatch.setattr(kernels, "_fetch", fetch)
    told: list[str] = []
    first, second = (kernels.needed("6.12", told.append) for _ in range(2))
    assert first == second
    assert first.vmlinuz == tmp_path / "fakecgroup" / "kernels" / "6.12" / "tree" / "vmlinuz"
    assert (fetched, told) == (["6.12"], ["fetching kernel 6.12 (about 30 MB)"])


@pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="no QEMU")
def test_a_kernel_that_cannot_be_fetched_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    done = oracle("ask", "--kernel", "6.12", "-", cache=tmp_path / "cache", text='["mkdir", "a"]')
    assert done.returncode == 1
    assert done.stderr.startswith("oracle: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["", "not json", '["nosuch", "a"]', '{"ops": 5}'])
def test_a_file_that_is_no_case_is_one_line(text: str, tmp_path: Path) -> None:
    done = oracle("ask", "-", cache=tmp_path, text=text)
    assert done.returncode == 1
    assert done.stderr.startswith("oracle: ")
    assert done.stderr.count("\n") == 1


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    done = oracle("ask", str(tmp_path / "no.json"), cache=tmp_path)
    assert done.returncode == 1
    assert "no.json" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [(), ("nosuch",), ("ask",), ("ask", "--kernel", "4.19", "-"), ("record", "--layout", "v3")]
)
def test_a_wrong_command_line_is_exit_2(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert oracle(*arguments, cache=tmp_path).returncode == 2


def test_an_unknown_kernel_to_fetch_is_one_line(tmp_path: Path) -> None:
    done = oracle("fetch", "4.19", cache=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("minutes", ["0", "-1", "nan"])
def test_a_night_without_time_is_refused(minutes: str, tmp_path: Path) -> None:
    done = oracle("nightly", f"--minutes={minutes}", cache=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("oracle: --minutes")


@pytest.mark.parametrize("command", [("nightly", "--minutes", "1"), ("fuzz",)])
def test_an_unknown_subject_is_refused_before_a_kernel_is_asked(command: tuple[str, ...], tmp_path: Path) -> None:
    done = oracle(*command, "--about", "weather", cache=tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("--about weather: there is partitions, cpus, threads, capabilities, notifications\n")


def test_recorded_cases_can_be_shown(tmp_path: Path) -> None:
    done = oracle("show", "--kernel", "6.12", "cpu.idle takes over", cache=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("# cpu: cpu.idle takes over the weight\n")


def answer(case: int, which: int, error: int, step: int, kind: int, payload: bytes) -> bytes:
    return struct.pack("<IIiIII", case, which, error, step, kind, len(payload)) + payload


def test_answers_are_read_as_the_guest_writes_them() -> None:
    ops = (("read", "a"), ("write", "a", "x"), ("fork", "w"), ("listdir", "."), ("poll", "h"), ("in", "w", "stat", "a"))
    case = Case("x", "v2", ops)
    names = b"".join(struct.pack("<I", len(name)) + name for name in (b".", b"..", b"b", b"a"))
    data = b"".join(
        [
            answer(0, 0xFFFFFFFE, 0, 0, 1, b"70"),
            answer(0, 0, 0, 0, 2, b"max\xff\n"),
            answer(0, 1, 22, 3, 0, b""),
            answer(0, 2, 0, 0, 1, b"71"),
            answer(0, 3, 0, 0, 3, names),
            answer(0, 4, 0, 0, 1, b"11"),
            answer(0, 5, 0, 0, 2, b"16877 2 0 0 0 4096 0"),
            answer(0, 0xFFFFFFFF, 0, 0, 1, b"0"),
        ]
    )
    found: dict[int, wire.RawCase] = {}
    wire.decode([case], data, found)
    raw = found[0]
    assert raw.pids == {70: "self", 71: "w"}
    assert raw.verdict == "ok"
    answers = raw.answers
    assert answers[:5] == [
        (None, "max\udcff\n"),
        ("EINVAL@write", None),
        (None, None),
        (None, ["a", "b"]),
        (None, ["IN", "PRI", "ERR"]),
    ]
    assert answers[5][1]["type"] == "dir"


def test_answers_that_are_cut_short_leave_no_verdict() -> None:
    found: dict[int, wire.RawCase] = {}
    wire.decode([Case("x", "v2", (("read", "a"),))], answer(0, 0xFFFFFFFE, 0, 0, 1, b"70"), found)
    assert found[0].verdict is None


def test_an_operation_is_encoded_with_its_defaults() -> None:
    encoded = wire.encode_case(Case("x", "v2", (("in", "w", "mkdir", "a"),)))
    size, count, parts = struct.unpack_from("<III", encoded)
    assert (size, count, parts) == (len(encoded) - 4, 1, 5)
    assert encoded.endswith(b"\x05\0\0\0mkdir\0\x01\0\0\0a\0\x03\0\0\x00493\0")
