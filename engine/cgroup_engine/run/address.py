"""The address at which ``run`` serves metrics and health."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from cgroup_engine.errors import InputError


@dataclass(frozen=True)
class Address:
    """An IP address and a port; port 0: any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        return ip_address(self.host).is_loopback


def parse_address(text: str) -> Address | None:
    """Reads ``HOST:PORT``, an IP address or ``localhost``; IPv6 needs brackets. ``none`` gives None.

    :raises InputError: the text is no such address.
    """
    if text == "none":
        return None
    host, _, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else "127.0.0.1" if host == "localhost" else host
    try:
        if (ip_address(host).version == 6 and not bracketed) or not port.isascii() or not port.isdigit():
            raise ValueError
        if len(port) > 5 or int(port) > 65535:
            raise ValueError
    except ValueError:
        raise InputError(
            f"{text!r} is no address to listen on", value=text, todo="write 127.0.0.1:9753, [::1]:9753 or none"
        ) from None
    return Address(host, int(port))
