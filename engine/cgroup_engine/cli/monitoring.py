"""The listeners of ``run``: its log, metrics, health, and systemd."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from cgroup_engine.errors import InputError
from cgroup_engine.run.address import Address, parse_address
from cgroup_engine.run.events import Event, Listener, Listening
from cgroup_engine.run.health import Health
from cgroup_engine.run.log import Log
from cgroup_engine.run.notify import Notify
from cgroup_engine.run.pod_status import PodStatus


def add_monitoring_options(command: argparse.ArgumentParser) -> None:
    """--listen, --log, --verbose."""
    group = command.add_argument_group("monitoring")
    group.add_argument(
        "--listen",
        type=_address,
        default="127.0.0.1:9753",
        metavar="HOST:PORT|none",
        help="serve /metrics, /healthz, /readyz and /status there; port 0: any free one (default: 127.0.0.1:9753)",
    )
    group.add_argument("--log", choices=("text", "json"), default="text", help="format of the log (default: text)")
    group.add_argument("--verbose", action="store_true", help="also log looks that changed nothing")


@contextmanager
def monitored(options: argparse.Namespace) -> Iterator[Listener]:
    """A listener that passes each event to all; the server answers until the end of the context.

    :raises InputError: --listen cannot be used.
    """
    # Prometheus' library takes as long to import as a plan to make, and no other command needs it
    from cgroup_engine.run.metrics import Metrics
    from cgroup_engine.run.server import Server

    health, metrics = Health(), Metrics(_version(), str(options.kubelet_version))
    pods = PodStatus(lambda: options.open_root(options.root))
    log = Log(sys.stderr, options.log, verbose=options.verbose)
    everyone = _Everyone(
        (metrics, health, pods, log, Notify())
    )  # a reader of the log finds metrics and health up to date
    address: Address | None = options.listen
    if address is None:
        yield everyone
        return
    with closing(Server(address, metrics.registry, health, pods)) as server:
        everyone.hear(Listening(server.url, address.loopback))
        yield everyone


@dataclass(frozen=True)
class _Everyone:
    listeners: tuple[Listener, ...]

    def hear(self, event: Event) -> None:
        for listener in self.listeners:
            listener.hear(event)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    try:
        return version_of("fakecgroup")
    except PackageNotFoundError:  # a copy that was not installed
        return "unknown"


def _address(text: str) -> Address | None:
    try:
        return parse_address(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
