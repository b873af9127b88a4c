"""Starts a cluster from the machine's side."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import debian_packages
from fakecgroup_mount.vm.cache import cache_directory
from program_matrix import release
from program_matrix.errors import ProgramsError
from program_matrix.plain_user import REPOSITORY, SEARCH_PATH, has_many_users, ranges_command

from . import build, programs
from .errors import ClusterError
from .settings import KUBELET_CONFIG, Settings
from .state import State

_KUBELET_CONFIG = REPOSITORY / "examples" / "cluster" / "kubelet.yaml"
_NAMESPACES = ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
_AS_ROOT = ["--user", "--map-root-user", "--map-auto"]
# the machine's is real root's alone
_OWN_RUN = ["sh", "-c", 'mount -t tmpfs -o mode=755 tmpfs /run && exec "$@"', "sh"]
_INSTALL = 'environment=$1; shift; source "$environment"; apt_install "$@"'


def start(state: State, settings: Settings, port: int, *, install: bool, say: Callable[[str], None]) -> None:
    """Returns when all nodes are ready. Otherwise nothing is left. Raises ClusterError."""
    _check_user(settings)
    root = _root(settings, install=install)
    if install:
        _install(root, programs.needed(settings))
    lock = state.make()
    try:
        settings.write(state.directory)
        shutil.copyfile(settings.kubelet_config or _KUBELET_CONFIG, state.directory / KUBELET_CONFIG)
        with _listener(port) as listener:
            _start(state, root, listener, lock, say)
    except BaseException:
        os.close(lock)
        state.remove()
        raise
    os.close(lock)


def _start(state: State, root: Path | None, listener: socket.socket, lock: int, say: Callable[[str], None]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, (state.directory / "keeper.log").open("wb") as log:
        python = release.PYTHON if root else sys.executable
        descriptors = [listener.fileno(), theirs.fileno()]
        command = [*_NAMESPACES, python, "-m", "real_cluster.keeper", str(state.directory), *map(str, descriptors)]
        if os.geteuid() != 0:
            command = [_NAMESPACES[0], *_AS_ROOT, *_NAMESPACES[1:], *_OWN_RUN, *command[len(_NAMESPACES) :]]
        if root:
            (cache_directory() / "cluster").mkdir(exist_ok=True)
            command = release.command_in(root, [REPOSITORY, cache_directory() / "cluster", state.directory], command)
        process = subprocess.Popen(
            command,
            env=_environment(state),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[*descriptors, lock],
            start_new_session=True,
        )
        (state.directory / "pid").write_text(str(process.pid))
        theirs.close()
        for line in ours.makefile():
            line = line.strip()
            if line == "ready":
                ours.sendall(b"stay")
                return
            if line.startswith("failed: "):
                raise ClusterError(line.removeprefix("failed: "))
            say(line)
        process.wait()
        if not state.directory.exists():
            raise ClusterError("it was ended before its nodes were ready")
        said = (state.directory / "keeper.log").read_text(errors="replace").strip().splitlines()
        raise ClusterError(f"its keeper ended: {said[-1] if said else 'it said nothing'}")


def _check_user(settings: Settings) -> None:
    """Raises ClusterError for who may not make the namespaces and networks of a cluster."""
    if os.geteuid() == 0:
        return
    if settings.release:
        raise ClusterError("--release needs root; without it the machine's own programs are taken")
    missing = programs.missing({"newuidmap": "uidmap", **programs.needed(settings)}, SEARCH_PATH)
    if missing:
        raise ClusterError(f"no {', '.join(missing)} here; as root: {programs.install_command(missing)}")
    if not has_many_users():
        raise ClusterError(f"you have no ranges of ids in /etc/subuid and /etc/subgid; as root: {ranges_command()}")


def _environment(state: State) -> dict[str, str]:
    """Of all programs of a cluster."""
    packages = next(iter(REPOSITORY.glob(".venv/lib/python*/site-packages")))  # pure Python, for any version
    paths = [REPOSITORY / "scripts", REPOSITORY, REPOSITORY / "mount", REPOSITORY / "engine", packages]
    return {
        "PATH": f"{state.directory / 'bin'}:{build.directory()}:{SEARCH_PATH}",
        "LC_ALL": "C.UTF-8",
        "HOME": str(Path.home()),
        "PYTHONPATH": ":".join(map(str, paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _listener(port: int) -> socket.socket:
    """Of the machine's network, for the API server. Raises ClusterError."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise ClusterError(f"port {port} of 127.0.0.1 cannot be had: {error}") from None
    listener.listen()
    return listener


def _root(settings: Settings, *, install: bool) -> Path | None:
    if not settings.release:
        return None
    how = f"scripts/cluster up --release {settings.release} --install"
    try:
        return release.provide(settings.release, cache_directory(), how, make=install)
    except ProgramsError as error:
        raise ClusterError(str(error)) from None


def _install(root: Path | None, needed: Mapping[str, str]) -> None:
    """`needed`: the package of each program. Raises ClusterError."""
    if root is None:
        try:
            missing = programs.missing(needed, SEARCH_PATH).values()
            debian_packages.install("cluster", list(dict.fromkeys(missing)))
        except debian_packages.PackagesError as error:
            raise ClusterError(str(error)) from None
        return
    packages = list(dict.fromkeys(needed.values()))
    command = ["bash", "-c", _INSTALL, "cluster", str(REPOSITORY / "scripts" / "environment.sh"), *packages]
    environment = {"PATH": SEARCH_PATH, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    inside = release.command_in(root, [REPOSITORY], command)
    if subprocess.run(inside, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode:
        raise ClusterError(f"apt-get install {' '.join(packages)} failed")
