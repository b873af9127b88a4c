"""`fakecgroup conformance --target vm`: which kernel is booted, and the exit statuses that git bisect run takes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fakecgroup.conformance import recording
from fakecgroup.conformance.case import Case
from fakecgroup.conformance.learning import learn
from fakecgroup.conformance.recording import Recording
from fakecgroup.conformance.replay import Difference, Result
from fakecgroup.conformance.tally import Tally
from fakecgroup_mount.cli.program import main
from fakecgroup_mount.conformance.target_vm import Verified
from fakecgroup_mount.conformance.vm_options import nearest_kernel
from fakecgroup_mount.vm.errors import MachineError
from fakecgroup_mount.vm.image import Image
from fakecgroup_mount.vm.survey import Survey

VM = ["conformance", "--target=vm", "--family=freeze"]
SURVEY = Survey("6.8.0", frozenset({"cgroup2"}), frozenset(), frozenset(), "")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("fakecgroup_mount.conformance.oracle.ORACLE", tmp_path / "no-checkout")
    return tmp_path / "fakecgroup" / "kernels"


class Machine:
    """Takes the place of the booted kernel."""

    def __init__(self) -> None:
        self.differs = False
        self.error: BaseException | None = None
        self.asked: list[tuple[Image, str]] = []

    def verify(self, image: Image, recorded: Recording, *_: object) -> Verified:
        self.asked.append((image, recorded.kernel))
        if self.error is not None:
            raise self.error
        case = Case("a write", "v2", (("write", "a/cgroup.freeze", "1"),))
        difference = Difference(case, 0, (None, None), ("EPERM@write", None))
        tally = Tally("freeze")
        tally.add(Result(case, 1, {}, (difference,) if self.differs else ()))
        return Verified([tally], SURVEY, [])


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr("fakecgroup_mount.conformance.booted.verify", made.verify)
    return made


@pytest.fixture
def image(tmp_path: Path) -> str:
    head = bytearray(0x400)
    head[0x1FE:0x206] = b"\x55\xaa" + bytes(2) + b"HdrS"
    (tmp_path / "bzImage").write_bytes(head)
    return str(tmp_path / "bzImage")


@pytest.mark.parametrize("differs, status", [(False, 0), (True, 1)])
def test_the_status_tells_whether_something_differs(differs: bool, status: int, machine: Machine, image: str) -> None:
    machine.differs = differs
    assert main([*VM, f"--image={image}", "--baseline=6.1"]) == status
    assert [(one.name, kernel) for one, kernel in machine.asked] == [(image, "6.1")]


def test_the_last_lines_are_what_has_changed(machine: Machine, image: str, capsys: pytest.CaptureFixture[str]) -> None:
    machine.differs = True
    main([*VM, f"--image={image}", "--baseline=6.1"])
    assert capsys.readouterr().out.splitlines()[-4:] == [
        f"{image} (6.8.0) answers otherwise than 6.1:",
        "",
        "file           change                      cases  for example",
        "cgroup.freeze  write: done -> EPERM@write      1  a write",
    ]


def test_json_has_the_release_and_the_changes(machine: Machine, image: str, capsys: pytest.CaptureFixture[str]) -> None:
    machine.differs = True
    main([*VM, f"--image={image}", "--baseline=6.1", "-ojson"])
    found = json.loads(capsys.readouterr().out)
    assert (found["image"], found["release"], found["unsteady"]) == (image, "6.8.0", [])
    assert found["changes"] == [
        {"file": "cgroup.freeze", "what": "write: done -> EPERM@write", "operations": 1, "cases": ["a write"]}
    ]


@pytest.mark.parametrize(
    "release, layout, nearest",
    [
        ("6.12.9-1-cloud", "v2", "6.12"),
        ("6.8.0-31-generic", "v2", "6.1"),
        ("4.19.0", "v2", "5.10"),
        ("9.1", "v2", "7.2"),
        ("6.18.3", "v1", "6.18"),
        ("", "v2", None),
        ("next-2026", "v2", None),
    ],
)
def test_an_image_is_compared_with_the_nearest_kernel(release: str, layout: str, nearest: str | None) -> None:
    assert nearest_kernel(release, layout) == nearest


def test_a_kernel_that_did_not_boot_is_125_with_a_baseline(
    machine: Machine, image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.error = MachineError("bzImage panicked twice")
    assert main([*VM, f"--image={image}", "--baseline=6.1"]) == 125
    assert main([*VM, f"--image={image}", "--kernel=6.1"]) == 1
    assert capsys.readouterr().err == "fakecgroup conformance: bzImage panicked twice\n" * 2


def test_an_interrupt_ends_a_bisection(machine: Machine, image: str) -> None:
    machine.error = KeyboardInterrupt()
    assert main([*VM, f"--image={image}", "--baseline=6.1"]) == 130


@pytest.mark.parametrize("wrong", ["gone", "."])
def test_a_wrong_file_is_125(wrong: str, tmp_path: Path) -> None:
    assert main([*VM, f"--image={tmp_path / wrong}", "--baseline=6.1"]) == 125


def test_an_unknown_baseline_or_family_is_125(machine: Machine, image: str) -> None:
    assert main([*VM, f"--image={image}", "--baseline=4.19"]) == 125
    assert main([*VM, f"--image={image}", "--baseline=6.1", "--family=none"]) == 125
    assert machine.asked == []


def test_a_baseline_may_be_a_learnt_kernel(machine: Machine, image: str, tmp_path: Path) -> None:
    whole = recording.load("v2", "6.1")
    answered = replace(whole, cases=tuple(whole.family("freeze")))
    file = tmp_path / "good.kernel"
    file.write_bytes(learn({"release": "6.8.0-good"}, whole.header["machine"], "2026-11-23", frozenset(), [answered]))
    assert main([*VM, f"--image={image}", f"--baseline={file}"]) == 0
    assert [kernel for _, kernel in machine.asked] == ["6.8.0-good"]


@pytest.mark.hostile("a learnt kernel to compare with that is gone, or junk", times=2)
@pytest.mark.parametrize("junk", [None, b"junk"])
def test_a_baseline_that_cannot_be_read_is_125(
    junk: bytes | None, machine: Machine, image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.kernel"
    if junk is not None:
        file.write_bytes(junk)
    assert main([*VM, f"--image={image}", f"--baseline={file}"]) == 125
    assert capsys.readouterr().err.startswith("fakecgroup conformance: --baseline: ")
    assert machine.asked == []


def test_without_an_image_a_kernel_of_the_cache_is_booted(machine: Machine, cache: Path) -> None:
    (cache / "7.2").mkdir(parents=True)
    (cache / "7.2" / "kernel.json").write_text('{"package": "linux-image", "version": "1", "vmlinuz": "vmlinuz"}')
    assert main([*VM, "--kernel=7.2"]) == 0
    assert main([*VM, "--kernel=7.2", "--baseline=6.12"]) == 0
    assert [(one.file, kernel) for one, kernel in machine.asked] == [
        (cache / "7.2" / "tree" / "vmlinuz", kernel) for kernel in ("7.2", "6.12")
    ]


def test_a_kernel_that_is_not_in_the_cache_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*VM, "--kernel=7.2"]) == 1
    assert capsys.readouterr().err == (
        "fakecgroup conformance: kernel 7.2 is not in the cache: name a kernel with --image FILE, or fetch Debian's "
        "with scripts/oracle fetch of the project's checkout\n"
    )


@pytest.mark.hostile("a cache whose list of kernels is junk", times=3)
@pytest.mark.parametrize("junk", ["", "[]", '{"package": 1}'])
def test_a_damaged_cache_is_one_line(junk: str, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (cache / "7.2").mkdir(parents=True)
    (cache / "7.2" / "kernel.json").write_text(junk)
    assert main([*VM, "--kernel=7.2"]) == 1
    assert f"{cache / '7.2' / 'kernel.json'} cannot be used: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, said",
    [
        (["--image=x"], "--image is about a booted kernel: say --target vm too"),
        (["--baseline=6.1"], "--baseline is about a booted kernel: say --target vm too"),
        (["--target=vm", "--initrd=x"], "--initrd goes with --image: "),
        (["--target=vm", "--image=x", "--fuzz=5"], "--image and --fuzz do not go together: "),
        (["--target=vm", "--image=x", "--kernel=6.1", "--baseline=6.12"], "--kernel and --baseline both name the "),
    ],
)
def test_options_that_do_not_go_together_are_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conformance", *words]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"fakecgroup conformance: {said}")
    assert told.count("\n") == 1
