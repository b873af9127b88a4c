"""A delegated cgroup from systemd: a transient scope for this process (systemd.scope(5), Delegate=yes)."""

from __future__ import annotations

import os
import time
from pathlib import Path

from jeepney import DBusAddress, DBusErrorResponse, new_method_call
from jeepney.auth import AuthenticationError
from jeepney.io.blocking import DBusConnection, open_dbus_connection
from jeepney.wrappers import unwrap_msg

_MANAGER = DBusAddress(
    "/org/freedesktop/systemd1", bus_name="org.freedesktop.systemd1", interface="org.freedesktop.systemd1.Manager"
)
_BOOTED = Path("/run/systemd/system")  # sd_booted(3)
_PATIENCE = 30.0  # seconds for the bus, which may be started only now, for a reply, and for the move


class ScopeError(Exception):
    """There is no scope; the text says why."""


def start_scope(name: str) -> None:
    """Has systemd make a scope and move this process there: the system's for root, else the user's own.

    The scope is gone when its processes are. Raises ScopeError.
    """
    if not _BOOTED.exists():
        raise ScopeError("systemd does not run here")
    root = os.geteuid() == 0
    whose = "systemd" if root else f"the systemd of user {os.geteuid()}"
    try:
        with open_dbus_connection("SYSTEM" if root else _user_bus(), auth_timeout=_PATIENCE) as connection:
            _ask(connection, f"{name}.scope")
    except DBusErrorResponse as error:
        raise ScopeError(f"{whose} gives no scope: {error.name}: {' '.join(map(str, error.data))}") from None
    except (OSError, AuthenticationError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ScopeError(f"{whose} is not to be reached over D-Bus: {reason}") from None


def _user_bus() -> str:
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"
    return os.environ.get("DBUS_SESSION_BUS_ADDRESS") or f"unix:path={runtime}/bus"


def _ask(connection: DBusConnection, name: str) -> None:
    properties = [
        ("Description", ("s", "Cgroups of fakecgroup conformance")),
        ("PIDs", ("au", [os.getpid()])),
        ("Delegate", ("b", True)),
        ("CollectMode", ("s", "inactive-or-failed")),
    ]
    signature = "ssa(sv)a(sa(sv))"  # the last is always empty
    message = new_method_call(_MANAGER, "StartTransientUnit", signature, (name, "fail", properties, []))
    unwrap_msg(connection.send_and_get_reply(message, timeout=_PATIENCE))
    deadline = time.monotonic() + _PATIENCE
    while f"/{name}\n" not in Path("/proc/self/cgroup").read_text(errors="surrogateescape"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"this process is not in {name} after {_PATIENCE:.0f} s")
        time.sleep(0.01)
