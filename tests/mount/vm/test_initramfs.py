"""What a machine boots with, read again by cpio(1)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.initramfs import join, pack


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "tree"
    (made / "bin").mkdir(parents=True)
    (made / "bin" / "odd").write_bytes(b"123")
    (made / "init").write_bytes(b"program")
    (made / "init").chmod(0o755)
    (made / "link").symlink_to("bin/odd")
    (made / "empty\n name").touch()
    return made


@pytest.mark.skipif(shutil.which("cpio") is None, reason="no cpio")
def test_cpio_unpacks_what_was_packed(tree: Path, tmp_path: Path) -> None:
    image, unpacked = tmp_path / "image", tmp_path / "unpacked"
    pack(tree, image)
    unpacked.mkdir()
    subprocess.run(["cpio", "--quiet", "-i"], stdin=image.open("rb"), cwd=unpacked, check=True)
    assert (unpacked / "init").read_bytes() == b"program"
    assert (unpacked / "init").stat().st_mode & 0o777 == 0o755
    assert (unpacked / "link").readlink() == Path("bin/odd")
    assert sorted(path.name for path in unpacked.rglob("*")) == sorted(path.name for path in tree.rglob("*"))


def test_packing_twice_gives_the_same(tree: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        pack(tree, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert [path.name for path in tmp_path.iterdir() if "." in path.name] == []


def test_joined_images_begin_at_multiples_of_four(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"12345")
    (tmp_path / "two").write_bytes(b"67")
    join([tmp_path / "one", tmp_path / "two"], tmp_path / "both")
    assert (tmp_path / "both").read_bytes() == b"12345\0\0\x0067\0\0"


def test_a_directory_that_is_not_there_is_one_line(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"^packing .* failed: No such file or directory$"):
        pack(tree, tmp_path / "no" / "image")
