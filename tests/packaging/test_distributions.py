"""The wheel has every file of the three packages and no other; so has the sdist that it was built from."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from .conftest import CHECKOUT, PACKAGES, Distributions, Environment


def files_of_the_packages() -> set[PurePosixPath]:
    """What lies in the packages, by the path under which it is imported."""
    return {
        PurePosixPath(name, file.relative_to(folder).as_posix())
        for name, folder in PACKAGES.items()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def is_about_the_package(path: PurePosixPath) -> bool:
    return path.parts[0].endswith(".dist-info")


def test_the_wheel_has_every_file_of_the_packages_and_no_other(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as wheel:
        packed = {PurePosixPath(name) for name in wheel.namelist() if not name.endswith("/")}
    assert {path for path in packed if not is_about_the_package(path)} == files_of_the_packages()


def test_the_sdist_has_every_file_of_the_packages(distributions: Distributions) -> None:
    with tarfile.open(distributions.sdist) as sdist:
        packed = {Path(*Path(member.name).parts[1:]) for member in sdist.getmembers() if member.isfile()}
    folders = {name: folder.relative_to(CHECKOUT) for name, folder in PACKAGES.items()}
    wanted = {folders[file.parts[0]].joinpath(*file.parts[1:]) for file in files_of_the_packages()}
    assert wanted <= packed
    assert {Path("LICENSE"), Path("README.md"), Path("pyproject.toml")} <= packed


def test_pip_lists_three_top_level_packages(plain: Environment) -> None:
    lines = plain.pip("show", "-f", "fakecgroup").partition("Files:\n")[2].split()
    top = {line.partition("/")[0] for line in lines if not line.startswith("../")}  # ../../../bin has the commands
    assert {name for name in top if not name.endswith(".dist-info")} == set(PACKAGES)


def test_pip_lists_the_data(plain: Environment) -> None:
    listed = set(plain.pip("show", "-f", "fakecgroup").partition("Files:\n")[2].split())
    assert {f"{name}/py.typed" for name in PACKAGES} <= listed
    assert "cgroup_engine/inputs/static_pods/types.txt" in listed
    assert "cgroup_engine/model/known_gates.txt" in listed
    recordings = {f"fakecgroup/conformance/recordings/{file.name}" for file in recorded()}
    assert recordings
    assert recordings <= listed


def recorded() -> list[Path]:
    return list((PACKAGES["fakecgroup"] / "conformance" / "recordings").glob("*.jsonl.gz"))
