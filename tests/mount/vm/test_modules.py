"""The modules that are found beside an image, and packed for the guest."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.image import Image
from fakecgroup_mount.vm.modules import modules_of, needs, pack_driver

RELEASE = "6.1.0-1-amd64"


def module(*needed: str) -> bytes:
    return b"\x7fELF\0license=GPL\0depends=" + ",".join(needed).encode() + b"\0name=x\0"


def tree(directory: Path, place: str, pack: Callable[[bytes], bytes] = bytes, suffix: str = ".ko") -> Path:
    home = directory / place
    for name, data in {
        "drivers/nvme/host/nvme": module("nvme-core", "t10-pi"),
        "drivers/nvme/host/nvme-core": module("t10-pi"),
        "block/t10-pi": module("crc64"),
        "lib/crc64": module(),
        "drivers/other": module("crc64"),
    }.items():
        file = home / "kernel" / f"{name}{suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pack(data))
    return home


@pytest.mark.parametrize(
    "image, modules",
    [
        (f"boot/vmlinuz-{RELEASE}", f"lib/modules/{RELEASE}"),
        (f"boot/vmlinuz-{RELEASE}", f"usr/lib/modules/{RELEASE}"),
        (f"usr/lib/modules/{RELEASE}/vmlinuz", f"usr/lib/modules/{RELEASE}"),
    ],
)
def test_a_package_has_the_modules_beside_its_image(image: str, modules: str, tmp_path: Path) -> None:
    home = tree(tmp_path, modules)
    assert modules_of(Image("x", tmp_path / image, "amd64", RELEASE)) == home


@pytest.mark.parametrize("release", ["", "6.1.0-2-amd64"])
def test_the_modules_of_another_release_are_none(release: str, tmp_path: Path) -> None:
    tree(tmp_path, f"lib/modules/{RELEASE}")
    assert modules_of(Image("x", tmp_path / "boot" / "vmlinuz", "amd64", release)) is None


@pytest.mark.parametrize("pack, suffix", [(bytes, ".ko"), (lzma.compress, ".ko.xz"), (gzip.compress, ".ko.gz")])
def test_the_driver_is_packed_with_all_that_it_needs(
    pack: Callable[[bytes], bytes], suffix: str, tmp_path: Path
) -> None:
    packed = pack_driver(tree(tmp_path, "modules", pack, suffix), RELEASE, tmp_path)
    assert packed is not None
    home = tmp_path / "tree" / "lib" / "modules" / RELEASE
    assert (home / "modules.dep").read_text() == "nvme.ko: nvme_core.ko t10_pi.ko crc64.ko\n"
    assert sorted(file.name for file in home.glob("*.ko")) == ["crc64.ko", "nvme.ko", "nvme_core.ko", "t10_pi.ko"]
    assert (home / "nvme.ko").read_bytes() == module("nvme-core", "t10-pi")
    assert b"modules.dep" in packed.read_bytes()


def test_a_kernel_that_has_the_driver_built_in_needs_none(tmp_path: Path) -> None:
    (tmp_path / "modules" / "kernel").mkdir(parents=True)
    assert pack_driver(tmp_path / "modules", RELEASE, tmp_path) is None


@pytest.mark.hostile("modules that need each other, and ones that are junk, beside an image", times=3)
@pytest.mark.parametrize("junk", [b"", b"\xfd7zXZ\0junk", lzma.compress(module())[:20]])
def test_junk_is_one_line_or_no_module(junk: bytes, tmp_path: Path) -> None:
    home = tmp_path / "modules" / "kernel"
    home.mkdir(parents=True)
    (home / "nvme.ko.xz").write_bytes(junk)
    try:
        pack_driver(tmp_path / "modules", RELEASE, tmp_path)
    except MachineError as error:
        assert str(error).startswith(f"{home / 'nvme.ko.xz'} cannot be unpacked: ")


@pytest.mark.hostile("modules that need each other beside an image")
def test_modules_that_need_each_other_come_to_an_end(tmp_path: Path) -> None:
    home = tmp_path / "modules" / "kernel"
    home.mkdir(parents=True)
    (home / "nvme.ko").write_bytes(module("core"))
    (home / "core.ko").write_bytes(module("nvme", "gone"))
    pack_driver(tmp_path / "modules", RELEASE, tmp_path)
    text = (tmp_path / "tree" / "lib" / "modules" / RELEASE / "modules.dep").read_text()
    assert sorted(text.replace(":", "").split()) == ["core.ko", "nvme.ko"]


def test_a_module_names_what_it_needs() -> None:
    assert needs(module("nvme-core", "t10-pi")) == ["nvme_core", "t10_pi"]
    assert needs(module()) == needs(b"") == []
