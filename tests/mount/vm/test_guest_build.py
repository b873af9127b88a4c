"""The guest is built once for each state of its source, and what it takes is named."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.guest_build import guest

HOST = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, "")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fakecgroup" / "guest"


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the compiler's place, which succeeds."""
    if not HOST:
        pytest.skip("no guest for this machine's architecture")
    program = tmp_path / "bin" / "cc"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho guest >"$2"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    return program


def test_the_guest_is_built_once(compiler: Path, cache: Path) -> None:
    first = guest(HOST)
    compiler.write_text("#!/bin/sh\nexit 1\n")
    assert guest(HOST) == first
    assert [first] == list(cache.iterdir())
    assert b"init\0" in first.read_bytes() and b"guest\n" in first.read_bytes()


def test_a_compiler_without_a_static_libc_is_told_what_it_takes(compiler: Path, cache: Path) -> None:
    compiler.write_text("#!/bin/sh\necho 'ld: cannot find -lc' >&2\nexit 1\n")
    with pytest.raises(MachineError) as caught:
        guest(HOST)
    assert str(caught.value) == (
        "building the guest failed: ld: cannot find -lc; it takes a static libc, on Debian: apt-get install libc6-dev"
    )
    assert list(cache.iterdir()) == []


def test_a_missing_compiler_is_one_line_with_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    if not HOST:
        pytest.skip("no guest for this machine's architecture")
    monkeypatch.setattr("shutil.which", lambda name: None if "gcc" in name or name == "cc" else f"/usr/bin/{name}")
    with pytest.raises(MachineError) as caught:
        guest(HOST)
    assert str(caught.value) == "missing: cc, to boot a kernel; on Debian: apt-get install gcc libc6-dev"


def test_another_architecture_takes_its_cross_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("fakecgroup_mount.vm.programs.os.uname", lambda: os.uname_result(("", "", "", "", "riscv64")))
    with pytest.raises(MachineError) as caught:
        guest("arm64")
    assert "aarch64-linux-gnu-gcc" in str(caught.value)
    assert str(caught.value).endswith("apt-get install qemu-system-arm gcc-aarch64-linux-gnu libc6-dev-arm64-cross")


def test_a_cache_that_cannot_be_made_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(MachineError, match=f"^{tmp_path}/file/fakecgroup/guest, where the guest is kept: "):
        guest("amd64")


@pytest.mark.skipif(shutil.which("cc") is None or not HOST, reason="no C compiler")
def test_the_sources_are_there_and_compile(cache: Path) -> None:
    image = guest(HOST)
    assert image.parent == cache
    assert image.read_bytes().startswith(b"070701")
