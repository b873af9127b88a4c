"""What a file is that is to be booted."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.image import read_image


def bzimage(release: str = "6.8.0-1-generic (builder@host) #1 SMP") -> bytes:
    head = bytearray(0x1000)
    head[0x1FE:0x200] = b"\x55\xaa"
    head[0x202:0x206] = b"HdrS"
    head[0x20E:0x210] = (0x600).to_bytes(2, "little")
    head[0x800 : 0x800 + len(release)] = release.encode()
    return bytes(head)


def arm64() -> bytes:
    return b"MZ" + bytes(0x36) + b"ARM\x64" + bytes(64)


def written(directory: Path, content: bytes) -> Path:
    file = directory / "image"
    file.write_bytes(content)
    return file


def test_a_bzimage_names_its_release(tmp_path: Path) -> None:
    found = read_image(written(tmp_path, bzimage()))
    assert (found.architecture, found.release) == ("amd64", "6.8.0-1-generic")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_image_of_arm64_may_have_gzip(pack: type[bytes], tmp_path: Path) -> None:
    found = read_image(written(tmp_path, pack(arm64())))
    assert (found.architecture, found.release) == ("arm64", "")


@pytest.mark.hostile("a file that is no kernel, and one that is cut short or lies about itself, to be booted", times=8)
@pytest.mark.parametrize(
    "content, said",
    [
        (b"", "no kernel image"),
        (b"\x7fELF" + bytes(600), "a vmlinux; take the bzImage beside it"),
        (b"MZ\0\0zimg" + bytes(600), "a compressed EFI program"),
        (b"\x1f\x8b" + bytes(600), "no kernel image"),
        (gzip.compress(arm64(), mtime=0)[:20], "no kernel image"),
        (gzip.compress(b"text", mtime=0), "no kernel image"),
        (b"#!/bin/sh\n", "no kernel image"),
        (bytes(1 << 20), "no kernel image"),
    ],
)
def test_another_file_is_one_line(content: bytes, said: str, tmp_path: Path) -> None:
    file = written(tmp_path, content)
    with pytest.raises(MachineError) as caught:
        read_image(file)
    assert str(caught.value).startswith(f"{file} is {said}")
    assert "\n" not in str(caught.value)


def test_a_bzimage_that_is_cut_short_has_no_release(tmp_path: Path) -> None:
    assert read_image(written(tmp_path, bzimage()[:0x300])).release == ""


@pytest.mark.parametrize("name, why", [("gone", "No such file or directory"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read_is_one_line(name: str, why: str, tmp_path: Path) -> None:
    for arguments in ((tmp_path / name, None), (written(tmp_path, bzimage()), tmp_path / name)):
        with pytest.raises(MachineError, match=f": {why}$"):
            read_image(*arguments)
