"""keeper.py DIRECTORY LISTENER CALLER: starts a cluster and keeps it, as process 1 of the namespaces that it lives in.

LISTENER is a descriptor of the machine's socket for the API server. CALLER is one of the socket to who starts it: lines
of progress go there, at last "ready" or "failed: ...". If that end is closed before it says "stay", the cluster ends.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

from . import control_plane, credentials, network, programs
from .api import Api, until
from .certificates import Authority
from .errors import ClusterError
from .services import Services
from .settings import KUBELET_CONFIG, Settings

_PATIENCE = 300.0  # seconds for each part to come up; an idle machine takes ten
_REPOSITORY = Path(__file__).resolve().parents[2]
_NODE = _REPOSITORY / "examples" / "kubelet" / "node"
_FILES = _REPOSITORY / "examples" / "cluster"
_MAIN = "import sys; from {} import main; sys.exit(main())"


def main(directory: Path, listener: int, caller: socket.socket) -> None:
    """Returns only if the cluster does not come up."""
    threading.Thread(target=_end_without, args=[caller], daemon=True).start()

    def say(line: str) -> None:
        try:
            caller.sendall(f"{line}\n".encode())
        except OSError:
            os._exit(1)  # nobody waits for it any more

    try:
        services = _start(directory, listener, Settings.read(directory), say)
    except (ClusterError, OSError) as error:
        say(f"failed: {error}")
        return
    say("ready")
    services.keep()


def _end_without(caller: socket.socket) -> None:
    if caller.recv(4) != b"stay":
        os._exit(1)


def _start(directory: Path, listener: int, settings: Settings, say: Callable[[str], None]) -> Services:
    _look_for_programs(settings)
    _put_programs(directory)
    network.prepare()
    services = Services(directory)
    authority = Authority(directory / "pki")
    credentials.begin(authority)
    credentials.issue(directory, authority)

    say("starting the control plane")
    services.start("etcd", control_plane.etcd(directory))
    until("etcd answers", lambda: _answers(control_plane.ETCD_HEALTH), lambda: services.check("etcd"), _PATIENCE)
    services.start("kube-apiserver", control_plane.api_server(authority))
    api = Api(credentials.SERVER, authority.certificate, *authority.files(credentials.ADMINISTRATOR))
    until("the API server is ready", api.is_ready, lambda: services.check("kube-apiserver"), _PATIENCE)
    services.start("kube-controller-manager", control_plane.controller_manager(directory, authority))
    services.start("kube-scheduler", control_plane.scheduler(directory))
    if settings.prometheus:
        shutil.copy(_FILES / "prometheus.yaml", directory)
        services.start("prometheus", control_plane.prometheus(directory))
    command = [sys.executable, "-m", "real_cluster.forward", str(listener), network.API_SERVICE, "443"]
    services.start("forward", command, descriptors=[listener])
    config = credentials.kubeconfig_of(directory, credentials.ADMINISTRATOR)
    command = [sys.executable, "-m", "real_cluster.node_commands", str(directory / "commands")]
    services.start("commands", command, {**os.environ, "KUBECONFIG": str(config)}, again=False)
    port = socket.socket(fileno=os.dup(listener)).getsockname()[1]
    credentials.issue_for_machine(directory, authority, f"https://127.0.0.1:{port}")

    say(f"starting {settings.nodes} node" + "s" * (settings.nodes > 1))
    names = [f"node-{number}" for number in range(1, settings.nodes + 1)]
    for number, name in enumerate(names, start=1):
        _start_node(directory / "nodes" / name, number, name, settings, authority, services)
    waiting: dict[str, str] = {}

    def all_ready() -> bool:
        now = api.nodes_that_are_not_ready(names)
        for name in waiting.keys() - now.keys():
            say(f"{name} is ready")
        waiting.clear()
        waiting.update(now)
        return not now

    def check() -> None:
        for name in names:
            services.check(name)

    waiting.update(dict.fromkeys(names, ""))
    try:
        until("all nodes are ready", all_ready, check, _PATIENCE)
    except ClusterError as error:
        raise ClusterError("; ".join([str(error), *(f"{name}: {said}" for name, said in waiting.items())])) from None
    return services


def _start_node(
    directory: Path, number: int, name: str, settings: Settings, authority: Authority, services: Services
) -> None:
    directory.mkdir(parents=True)
    credentials.issue_for_node(directory, authority)
    shutil.copy(directory.parents[1] / KUBELET_CONFIG, directory / "config.yaml")
    command = [sys.executable, "-c", _MAIN.format("fakecgroup_mount.cli"), "run"]
    command += ["--layout", settings.layout, "--cpus", settings.cpus, "--memory", settings.memory]
    command += ["--enforce", settings.enforce]
    command += ["--", str(_NODE), sys.executable, "-m", "real_cluster.node_commands", str(directory / "commands")]
    environment = {
        **os.environ,
        "NODE": str(directory),
        "NODE_NAME": name,
        "NODE_ADDRESS": network.node_address(number),
        "NODE_PODS": network.pod_addresses(number),
        "XDG_STATE_HOME": str(directory),
    }
    services.start(name, command, environment, again=False)
    until(f"{name} has a network", lambda: _joined(directory, number), lambda: services.check(name), _PATIENCE)


def _joined(directory: Path, number: int) -> bool:
    """Once the node is in a network namespace of its own."""
    file = directory / "pid"
    if not file.exists() or not (text := file.read_text().strip()):
        return False
    if os.stat(f"/proc/{text}/ns/net").st_ino == os.stat("/proc/self/ns/net").st_ino:
        return False
    network.join(number, int(text))
    return True


def _look_for_programs(settings: Settings) -> None:
    unbuilt = [name for name in programs.BUILT if shutil.which(name) is None]
    if unbuilt:
        raise ClusterError(f"no {', '.join(unbuilt)} here; build them with: scripts/cluster build SOURCE")
    if missing := programs.missing(programs.needed(settings)):
        install = programs.install_command(missing)
        raise ClusterError(f"no {', '.join(missing)} here; add --install, or as root: {install}")


def _put_programs(directory: Path) -> None:
    """This checkout's commands, for those who type in a node."""
    (directory / "bin").mkdir()
    for name, module in (("cgroup-engine", "cgroup_engine.cli"), ("fakecgroup", "fakecgroup_mount.cli")):
        file = directory / "bin" / name
        file.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{_MAIN.format(module)}" "$@"\n')
        file.chmod(0o755)


def _answers(address: str) -> bool:
    with urllib.request.urlopen(address, timeout=5) as answer:
        return bool(answer.status == 200)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), socket.socket(fileno=int(sys.argv[3])))
