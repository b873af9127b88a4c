"""Asks an API server: one object, a list page by page, or a watch.

The client library finds the server and the credentials, renews them, and sends the requests. Its other parts are not
used. Its Watch lists again by itself after a 410, and reads lines of any length. Its API methods read an error's body
of any length. Its models refuse a whole list for one odd pod. So this module reads bodies itself, in pieces, with
bounds, as plain data.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cgroup_engine.errors import ApiServerError, quoted

if TYPE_CHECKING:
    from urllib3 import HTTPResponse

_MAX_BYTES = 32 << 20  # of a page, or of an event; an object in etcd has at most 1.5 MiB
_MAX_VALUES = 2_000_000  # in a page or an event
_MAX_STATUS = 64 << 10  # bytes of the text that comes with an error
_CHUNK = 64 << 10
_MAX_RETRY_AFTER = 60.0  # seconds
_SILENT = "timed out"


@dataclass(frozen=True)
class ApiTimeouts:
    """How long to wait for an API server, in seconds.

    ``connect``: for a connection. ``answer``: for each page of a list. ``silent``: for the next event of a watch
    (servers send a bookmark every minute). ``watch``: the life of a watch, at random up to twice as long. ``first`` and
    ``most``: the shortest and the longest delay between attempts. ``settled``: a watch that lasts so long resets the
    delay.
    """

    connect: float = 5.0
    answer: float = 30.0
    silent: float = 90.0
    watch: float = 300.0
    first: float = 0.5
    most: float = 30.0
    settled: float = 5.0


class BrokenOffError(ApiServerError):
    """An answer ended before it was whole."""


class SilentServerError(BrokenOffError):
    """The next part of an answer did not come in time."""


@dataclass(frozen=True)
class Page:
    """A page of a list: its items, the list's resourceVersion, and the token of the next page, None after the last."""

    items: list[Any]
    version: str
    token: str | None


class ApiConnection:
    """One API server, and the credentials for it.

    ``kubeconfig``: the file with both, or several as in $KUBECONFIG; None in a pod, whose service account is used.
    ``may``: what a user has to be allowed to, for the complaint about a 403. ``context``: of the file, if not its
    current one. After a failure that other credentials or another authority may mend, both are read anew.

    Every method raises ApiServerError if the server cannot be reached or its answer cannot be used. ``errno`` is the
    HTTP status, if there was one.
    """

    def __init__(self, kubeconfig: Path | None, timeouts: ApiTimeouts, may: str, context: str | None = None) -> None:
        self._kubeconfig, self._context = kubeconfig, context
        self._api, self.host = _connected(kubeconfig, context)
        self._outdated = False
        self._timeouts = timeouts
        self._may = may
        self._response: HTTPResponse | None = None

    def object(self, path: str, **query: Any) -> Any:
        """What a GET answers, as plain data."""
        response = self.get(path, self._timeouts.answer, **query)
        try:
            return self.decoded(self._body(response, _MAX_BYTES))
        finally:
            self.done(response)

    def page(self, path: str, kind: str, **query: Any) -> Page:
        """A page of a list of a ``kind`` such as PodList."""
        answer = self.object(path, **query)
        metadata = answer.get("metadata") if isinstance(answer, dict) else None
        if not isinstance(metadata, dict) or answer.get("kind") != kind:
            raise self.error(f"its answer is no {kind}")
        items, version, token = answer.get("items"), metadata.get("resourceVersion"), metadata.get("continue")
        if not isinstance(items, list | None) or not isinstance(token, str | None):
            raise self.error(f"its answer is no {kind}")
        if not isinstance(version, str) or version in ("", "0"):
            raise self.error(f"its {kind} has no metadata.resourceVersion")
        return Page(items or [], version, token or None)

    def lines(self, response: HTTPResponse, deadline: float) -> Iterator[bytes]:
        rest = bytearray()
        while (chunk := self._chunk(response)) and time.monotonic() < deadline:
            rest += chunk
            if b"\n" in chunk:
                *lines, rest = rest.split(b"\n")
                yield from (bytes(line) for line in lines if line.strip())
            if len(rest) > _MAX_BYTES:
                raise self.error(f"an event is larger than {_MAX_BYTES >> 20} MiB")
        if rest.strip():
            raise BrokenOffError(f"{self.host}: its answer broke off in the middle of an event", path=self.host)

    def stop(self) -> None:
        """Ends another thread's request, if its answer has begun."""
        response = self._response
        if response is not None:
            try:
                response.shutdown()
            except (OSError, RuntimeError, ValueError):
                pass  # it had ended

    def get(self, path: str, silent: float, **query: Any) -> HTTPResponse:
        """Sends a GET. ``silent``: the longest wait for the next part of its answer, in seconds."""
        if self._outdated:
            self._api, self.host = _connected(self._kubeconfig, self._context)
            self._outdated = False
        try:
            request = self._api.param_serialize(
                method="GET",
                resource_path=path,
                query_params=list(query.items()),
                header_params={"Accept": "application/json"},
                auth_settings=["BearerToken"],
            )
            timeouts = (self._timeouts.connect, silent)
            response: HTTPResponse = self._api.call_api(*request, _request_timeout=timeouts).response
        except Exception as failed:
            # the exceptions of the library and of credential plugins have no common class
            self._outdated = True
            raise self.error(f"does not answer: {_reason(failed)}") from None
        self._response = response
        if response.status == 200:
            return response
        self._outdated = response.status == 401
        try:
            raise self._refused(response)
        finally:
            self.done(response)

    def done(self, response: HTTPResponse) -> None:
        self._response = None
        response.close()

    def _refused(self, response: HTTPResponse) -> ApiServerError:
        status = response.status
        try:
            answer = json.loads(self._body(response, _MAX_STATUS))
            answer = answer if isinstance(answer, dict) else {}
        except (ApiServerError, ValueError, RecursionError):
            answer = {}
        message, metadata = answer.get("message"), answer.get("metadata")
        text = f"{status} {response.reason or ''}".strip()
        if isinstance(message, str) and message:
            text += f": {quoted(message, 200)}"
        error = self.error(text, self._todo(status), status)
        after = response.headers.get("Retry-After", "")
        if after.isascii() and after.isdigit():
            error.retry_after = min(float(after[:9]), _MAX_RETRY_AFTER)
        token = metadata.get("continue") if isinstance(metadata, dict) else None
        error.token = token if isinstance(token, str) else ""
        return error

    def _todo(self, status: int) -> str:
        return {401: "give credentials that it accepts", 403: f"allow them to {self._may}"}.get(status, "")

    def _body(self, response: HTTPResponse, most: int) -> bytes:
        body, deadline = bytearray(), time.monotonic() + self._timeouts.answer
        while chunk := self._chunk(response):
            body += chunk
            if len(body) > most:
                raise self.error(f"its answer is larger than {most >> 10} KiB")
            if time.monotonic() > deadline:
                raise self.error(f"its answer is not over after {self._timeouts.answer:g} s")
        return bytes(body)

    def _chunk(self, response: HTTPResponse) -> bytes:
        """The bytes that have come, as soon as there are some; empty at the end."""
        try:
            return response.read1(_CHUNK, decode_content=False)
        except Exception as failed:
            # ProtocolError and others, and exceptions of the http package below
            reason = _reason(failed)
            if reason == _SILENT:
                raise SilentServerError(f"{self.host}: nothing more comes of its answer", path=self.host) from None
            raise BrokenOffError(f"{self.host}: its answer broke off: {reason}", path=self.host) from None

    def decoded(self, raw: bytes) -> Any:
        if raw.count(b",") + raw.count(b"[") + raw.count(b"{") > _MAX_VALUES:
            raise self.error(f"its answer has more than {_MAX_VALUES} values")
        try:
            return json.loads(raw)
        except (ValueError, RecursionError):
            raise self.error("its answer is not JSON") from None

    def error(self, text: str, todo: str = "", status: int | None = None) -> ApiServerError:
        return ApiServerError(f"{self.host}: {text}", path=self.host, errno=status, todo=todo)


def _connected(kubeconfig: Path | None, context: str | None) -> tuple[Any, str]:
    """The library's client, and the server's address without anything secret.

    :raises ApiServerError: the library is missing, or there is no usable configuration.
    """
    try:
        from kubernetes import client, config
    except ImportError as missing:
        raise ApiServerError(
            f"the API server cannot be asked: {missing}", todo="install the Python package kubernetes"
        ) from None
    configuration = client.Configuration()
    try:
        if kubeconfig is not None:
            # without persist_config=False the library writes renewed tokens into the file
            config.load_kube_config(str(kubeconfig), context, configuration, persist_config=False)
        else:
            config.load_incluster_config(client_configuration=configuration)
        configuration.retries = False  # else the library retries at once, and follows redirects with the credentials
        api = client.ApiClient(configuration)
        address = urlsplit(configuration.host)
        host = f"{address.scheme}://{address.netloc.rpartition('@')[2]}"
    except Exception as failed:
        # a wrong file makes parts of the library raise many kinds of exceptions
        where = f"{kubeconfig}: cannot be used" if kubeconfig is not None else "no API server is known"
        todo = "" if kubeconfig is not None else "give --kubeconfig outside of a pod"
        raise ApiServerError(f"{where}: {_reason(failed)}", todo=todo) from None
    return api, host


def _reason(failed: BaseException) -> str:
    """The cause of an exception of the libraries, in a few words."""
    from http.client import IncompleteRead
    from ssl import SSLCertVerificationError, SSLEOFError

    from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ReadTimeoutError

    error: BaseException | None = failed
    while isinstance(error, BaseException):
        if isinstance(error, SSLCertVerificationError):
            return f"its certificate is not trusted: {error.verify_message}"
        # NewConnectionError is a ConnectTimeoutError, whatever the reason
        timeout = isinstance(error, ReadTimeoutError | ConnectTimeoutError | TimeoutError)
        if timeout and not isinstance(error, NewConnectionError):
            return _SILENT
        if isinstance(error, IncompleteRead | SSLEOFError):
            return "the connection was closed"
        if isinstance(error, OSError) and error.strerror:
            return error.strerror + (f": {error.filename}" if error.filename else "")
        error = error.__cause__ or error.__context__ or getattr(error, "reason", None)
    text = " ".join(str(failed).split())
    return quoted(text or type(failed).__name__, 200)[1:-1]
