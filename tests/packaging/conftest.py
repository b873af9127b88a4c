"""The project as others get it: built, and installed into virtual environments of their own.

Nothing is built or installed in the checkout, and nothing is downloaded: an environment gets links to the dependencies
that the tests run with, those alone that the project declares.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

CHECKOUT = Path(__file__).parents[2]
PACKAGES = {
    "fakecgroup": CHECKOUT / "fakecgroup",
    "fakecgroup_mount": CHECKOUT / "mount" / "fakecgroup_mount",
    "cgroup_engine": CHECKOUT / "engine" / "cgroup_engine",
}
_SOURCES = ("fakecgroup", "mount", "engine", "pyproject.toml", "README.md", "LICENSE")
_NO_SOURCES = shutil.ignore_patterns("__pycache__", "*.egg-info")


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    path: Path

    @property
    def interpreter(self) -> Path:
        return self.path / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        (found,) = (self.path / "lib").glob("python3*/site-packages")
        return found

    def python(self, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        return _done([self.interpreter, *arguments], cwd)

    def command(self, name: str, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Runs one of the commands that the project installs."""
        return _done([self.path / "bin" / name, *arguments], cwd)

    def pip(self, *arguments: str | Path) -> str:
        """What the pip beside the tests says when it works on this environment."""
        done = _done([sys.executable, "-m", "pip", "--python", self.interpreter, *arguments], self.path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@dataclass(frozen=True)
class Distributions:
    """What a release consists of."""

    wheel: Path
    sdist: Path


def _done(command: list[str | Path], cwd: Path) -> subprocess.CompletedProcess[str]:
    without = ("PYTHONPATH", "PYTHONSAFEPATH", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in without}
    return subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**environment, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def sources(destination: Path) -> Path:
    """A copy of what the project is built from."""
    destination.mkdir()
    for name in _SOURCES:
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, destination / name, ignore=_NO_SOURCES)
        else:
            shutil.copy(source, destination / name)
    return destination


def new_environment(path: Path, *packages: str) -> Environment:
    """A new virtual environment with what the plain project needs, and with `packages` and what these need."""
    venv.create(path, symlinks=True, with_pip=False)
    environment = Environment(path)
    wanted = [distribution("fakecgroup").requires or [], packages]
    names: set[str] = set()
    for requirements in wanted:
        _add_requirements(list(requirements), names)
    for name in names:
        installed = distribution(name)
        for top in {file.parts[0] for file in installed.files or []} - {"..", "__pycache__"}:
            (environment.site_packages / top).symlink_to(Path(str(installed.locate_file(top))))
    return environment


def _add_requirements(requirements: list[str], names: set[str]) -> None:
    """Adds what is required, and what that requires, without extras."""
    for requirement in map(Requirement, requirements):
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and requirement.name not in names:
            names.add(requirement.name)
            _add_requirements(distribution(requirement.name).requires or [], names)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Distributions:
    """The sdist, and the wheel that was built from it. All test processes of a run share them."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    made = shared / "distributions"
    with _locked(shared / "distributions.lock"):
        if not made.exists():
            building = shared / "distributions.new"
            copy = sources(shared / "distributions.sources")
            options = ["--no-isolation", "--skip-dependency-check", "--outdir", str(building)]
            done = _done([sys.executable, "-m", "build", *options, copy], shared)
            assert done.returncode == 0, done.stdout + done.stderr
            shutil.rmtree(copy)
            building.rename(made)
    (wheel,) = made.glob("*.whl")
    (sdist,) = made.glob("*.tar.gz")
    return Distributions(wheel, sdist)


@pytest.fixture(scope="session")
def plain(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel, installed without extras."""
    environment = new_environment(tmp_path_factory.mktemp("environment") / "plain")
    environment.pip("install", "--no-compile", distributions.wheel)
    return environment


@pytest.fixture(scope="session")
def with_pytest(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel and pytest."""
    environment = new_environment(tmp_path_factory.mktemp("environment") / "with-pytest", "pytest")
    environment.pip("install", "--no-compile", distributions.wheel)
    return environment


def _from_wheel(distributions: Distributions, environment: Environment, directory: Path) -> None:
    environment.pip("install", distributions.wheel)


def _from_sdist(distributions: Distributions, environment: Environment, directory: Path) -> None:
    environment.pip("install", "--no-build-isolation", distributions.sdist)


def _from_directory(distributions: Distributions, environment: Environment, directory: Path) -> None:
    environment.pip("install", "--no-build-isolation", sources(directory / "checkout"))


def _editable(distributions: Distributions, environment: Environment, directory: Path) -> None:
    environment.pip("install", "--no-build-isolation", "--editable", sources(directory / "checkout"))


Installation = Callable[[Distributions, Environment, Path], None]
INSTALLATIONS: dict[str, Installation] = {
    "wheel": _from_wheel,
    "sdist": _from_sdist,
    "directory": _from_directory,
    "editable": _editable,
}


@pytest.fixture(scope="session", params=INSTALLATIONS)
def installed(
    request: pytest.FixtureRequest, distributions: Distributions, tmp_path_factory: pytest.TempPathFactory
) -> Environment:
    """An environment with the project, in each way to install it."""
    directory = tmp_path_factory.mktemp("installed")
    environment = new_environment(directory / "environment", "setuptools")
    INSTALLATIONS[request.param](distributions, environment, directory)
    return environment
