"""The pods of one node, asked of an API server: list and watch of pods, and nothing else."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cgroup_engine.errors import ApiServerError
from cgroup_engine.sources.api_connection import ApiConnection, ApiTimeouts

if TYPE_CHECKING:
    from urllib3 import HTTPResponse

Item = TypeVar("Item")

_PODS = "/api/v1/pods"
_PAGE = 100  # pods
_MAX_PAGES = 100


class PodApi:
    """The pods of one node. Every method raises ApiServerError, as those of ``ApiConnection``."""

    def __init__(self, kubeconfig: Path | None, node_name: str, timeouts: ApiTimeouts) -> None:
        self._server = ApiConnection(kubeconfig, timeouts, "get, list and watch pods, in all namespaces")
        self._timeouts = timeouts
        self._selector = f"spec.nodeName={node_name}"

    @property
    def host(self) -> str:
        """The server's address."""
        return self._server.host

    def stop(self) -> None:
        """Ends another thread's request, if its answer has begun."""
        self._server.stop()

    def listed(self, read: Callable[[Any], Item]) -> tuple[list[Item], str]:
        """The pods as they are now, each through ``read``, and the version of the list.

        The request names no resourceVersion: an API server's cache could answer with an older state, without a pod of
        today. If the list becomes too old between two pages (410), all pods are listed again in one page.
        """
        try:
            return self._listed(read, _PAGE)
        except ApiServerError as failed:
            if failed.errno != 410:
                raise
        return self._listed(read, None)

    def _listed(self, read: Callable[[Any], Item], limit: int | None) -> tuple[list[Item], str]:
        items: list[Item] = []
        version, token = "", None
        for _ in range(_MAX_PAGES):
            given: dict[str, Any] = {} if limit is None else {"limit": limit}
            given = given if token is None else {**given, "continue": token}
            page = self._server.page(_PODS, "PodList", fieldSelector=self._selector, **given)
            items += [read(item) for item in page.items]
            version, token = version or page.version, page.token
            if token is None:
                return items, version
        raise self._server.error(f"its list does not end after {_MAX_PAGES} pages")

    def watch(self, version: str) -> Iterator[Any]:
        """The events after a version, until the server ends the watch. The request is sent before this returns."""
        life = int(self._timeouts.watch * random.uniform(1, 2))
        response = self._server.get(
            _PODS,
            self._timeouts.silent,
            fieldSelector=self._selector,
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=version,
            timeoutSeconds=max(1, life),
        )
        return self._events(response, time.monotonic() + life + self._timeouts.silent)

    def _events(self, response: HTTPResponse, deadline: float) -> Iterator[Any]:
        try:
            for line in self._server.lines(response, deadline):
                yield self._server.decoded(line)
        finally:
            self._server.done(response)
