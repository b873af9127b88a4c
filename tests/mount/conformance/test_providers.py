"""Targets of the pytest suite that boot: which image, and whose answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.target import TargetError
from fakecgroup.conformance.targets import Wanted
from fakecgroup_mount.conformance.providers import booted
from fakecgroup_mount.vm.image import Image

from ..vm.test_image import bzimage

LEARNT = "debian-6.16-cloud-amd64.kernel"


@pytest.fixture
def image(tmp_path: Path) -> str:
    path = tmp_path / "bzImage"
    path.write_bytes(bzimage("6.16.3-mine"))
    return str(path)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Image]:
    """The images of the targets that are made."""
    found: list[Image] = []

    def target(image: Image, machine: str, cases: Sequence[Case]) -> object:
        found.append(image)
        return object()

    monkeypatch.setattr("fakecgroup_mount.conformance.providers.GuestTarget", target)
    return found


def test_an_image_is_compared_with_the_nearest_kernel(image: str) -> None:
    (recorded,) = booted.recordings(Wanted("vm", image=image))
    assert recorded.kernel == "6.12"


def test_an_image_is_compared_with_a_learnt_kernel(image: str, opened: list[Image]) -> None:
    wanted = Wanted("vm", kernel=LEARNT, image=image, initrd=image)
    (recorded,) = booted.recordings(wanted)
    with booted.open(wanted, recorded, recorded.cases):
        (booting,) = opened
    assert recorded.kernel == "6.16.12+deb13-cloud-amd64"
    assert (str(booting.file), booting.release, str(booting.initrd)) == (image, "6.16.3-mine", image)


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        (Wanted("vm", kernel=LEARNT), f"{LEARNT} has answers alone: name the kernel to boot with --image FILE"),
        (Wanted("vm", initrd="/boot/initrd"), "--initrd goes with --image: which kernel has these modules?"),
        (Wanted("vm", image="/nowhere"), "/nowhere: No such file or directory"),
    ],
)
def test_what_there_is_not_is_told(wanted: Wanted, complaint: str) -> None:
    with pytest.raises(TargetError) as raised:
        booted.recordings(wanted)
    assert str(raised.value) == complaint
