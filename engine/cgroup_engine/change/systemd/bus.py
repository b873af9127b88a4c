"""systemd's manager on the system bus: the calls of ``org.freedesktop.systemd1.Manager`` that the engine needs."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Sequence
from typing import Any

from jeepney import DBusAddress, DBusErrorResponse, MatchRule, message_bus, new_method_call
from jeepney.auth import AuthenticationError
from jeepney.io.blocking import DBusConnection, Proxy, open_dbus_connection

from cgroup_engine.errors import RootError, SystemdError, quoted
from cgroup_engine.plan.systemd.properties import Property, is_limit
from cgroup_engine.plan.systemd.unit import Unit

_NAME = "org.freedesktop.systemd1"
_MANAGER = DBusAddress("/org/freedesktop/systemd1", bus_name=_NAME, interface=f"{_NAME}.Manager")
_BOOTED = "/run/systemd/system"  # sd_booted(3)
#: Seconds to wait for a reply or for a job; opencontainers/cgroups waits 30 s for a job too.
_PATIENCE = 30.0
_INFINITY = (1 << 64) - 1
_ADVICE = {
    "org.freedesktop.DBus.Error.AccessDenied": "run as root",
    "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired": "run as root",
}


class Systemd:
    """A connection to the manager; ``version`` is systemd's, such as 252."""

    def __init__(self, connection: DBusConnection) -> None:
        self._connection = connection
        self._jobs: deque[Any] = deque(maxlen=10_000)
        rule = MatchRule(type="signal", interface=_MANAGER.interface, member="JobRemoved", path=_MANAGER.object_path)
        try:
            Proxy(message_bus, connection, timeout=_PATIENCE).AddMatch(rule)
        except DBusErrorResponse as refused:
            raise _refused(refused) from None
        connection.filter(rule, queue=self._jobs)
        self._call("Subscribe")
        text = str(self._property(_MANAGER.object_path, "Manager", "Version"))
        number = re.match(r"v?([0-9]+)", text)
        if number is None:
            raise SystemdError(f"systemd says that its version is {quoted(text)}")
        self.version = int(number[1])

    def close(self) -> None:
        self._connection.close()

    def default_tasks_max(self) -> int:
        """pids.max of a unit that has no TasksMax of its own (system.conf: DefaultTasksMax); -1 is no limit.

        systemd has turned a percentage into a number.

        :raises SystemdError: systemd did not answer.
        """
        tasks = int(self._property(_MANAGER.object_path, "Manager", "DefaultTasksMax"))
        return tasks if tasks < _INFINITY else -1

    def unit(self, name: str) -> Unit | None:
        """A unit by its name; None if it is not active.

        :raises SystemdError: systemd did not answer.
        """
        try:
            [path] = self._call("GetUnit", "s", (name,))
        except SystemdError as refused:
            if refused.value == f"{_NAME}.NoSuchUnit":
                return None
            raise
        if self._property(path, "Unit", "ActiveState") not in ("active", "activating", "reloading"):
            return None
        kind = "Slice" if name.endswith(".slice") else "Scope"
        cgroup = str(self._property(path, kind, "ControlGroup"))
        return Unit(name, cgroup.lstrip("/"), bool(self._property(path, "Unit", "Transient")))

    def start(self, name: str, properties: Sequence[Property]) -> None:
        """Makes and starts a transient unit. If the unit exists already, starts it and sets its limits.

        :raises SystemdError: systemd refused.
        """
        try:
            self._job("StartTransientUnit", "ssa(sv)a(sa(sv))", (name, "replace", list(properties), []))
        except SystemdError as refused:
            if refused.value != f"{_NAME}.UnitExists":
                raise
            self._job("StartUnit", "ss", (name, "replace"))
            # an active unit lets only its limits change
            self.set_properties(name, [(each, value) for each, value in properties if is_limit(value)])

    def set_properties(self, name: str, properties: Sequence[Property]) -> None:
        """Sets properties until the next boot.

        :raises SystemdError: systemd refused.
        """
        self._call("SetUnitProperties", "sba(sv)", (name, True, list(properties)))

    def stop(self, name: str) -> None:
        """Stops a unit; systemd then forgets it if it is transient.

        :raises SystemdError: systemd refused.
        """
        try:
            self._job("StopUnit", "ss", (name, "replace"))
        except SystemdError as refused:
            if refused.value != f"{_NAME}.NoSuchUnit":
                raise

    def _job(self, method: str, signature: str, body: tuple[Any, ...]) -> None:
        self._jobs.clear()
        [job] = self._call(method, signature, body)
        while True:
            try:
                _, removed, unit, result = self._connection.recv_until_filtered(self._jobs, timeout=_PATIENCE).body
            except (TimeoutError, OSError) as failed:
                raise _lost(failed) from None
            if removed == job:
                break
        if result != "done":
            raise SystemdError(f"systemd's job for {unit} ended as {quoted(result)}", todo="see systemctl status")

    def _property(self, path: str, interface: str, name: str) -> Any:
        address = DBusAddress(path, bus_name=_NAME, interface="org.freedesktop.DBus.Properties")
        [(_, value)] = self._call("Get", "ss", (f"{_NAME}.{interface}", name), address)
        return value

    def _call(self, method: str, signature: str = "", body: tuple[Any, ...] = (), at: DBusAddress = _MANAGER) -> Any:
        message = new_method_call(at, method, signature or None, body)
        try:
            reply = self._connection.send_and_get_reply(message, timeout=_PATIENCE)
        except (TimeoutError, OSError) as failed:
            raise _lost(failed) from None
        if reply.header.message_type.name == "error":
            raise _refused(DBusErrorResponse(reply))
        return reply.body


def is_booted() -> bool:
    """Does systemd run this machine?"""
    return os.path.isdir(_BOOTED) and not os.path.islink(_BOOTED)


def connect(shown_root: str) -> Systemd:
    """The machine's systemd over the system bus; ``shown_root`` is the root's name in messages.

    :raises RootError: systemd does not run this machine.
    :raises SystemdError: it cannot be reached.
    """
    if not is_booted():
        raise RootError(
            f"{shown_root}: is this machine's own tree, where systemd makes the cgroups of the systemd driver, and no "
            "systemd runs here",
            path=shown_root,
            todo="use --driver cgroupfs, or --systemd-names-only to make directories with systemd's names",
        )
    try:
        return Systemd(open_dbus_connection("SYSTEM", auth_timeout=_PATIENCE))
    except (OSError, RuntimeError, AuthenticationError, TimeoutError, ValueError) as failed:
        raise _lost(failed) from None
    except DBusErrorResponse as refused:
        raise _refused(refused) from None


def _lost(failed: Exception) -> SystemdError:
    why = str(failed.strerror if isinstance(failed, OSError) and failed.strerror else failed) or type(failed).__name__
    return SystemdError(
        f"systemd cannot be reached over D-Bus: {why.splitlines()[0].lower()}",
        todo="is the system bus (dbus.service) running, and does this user reach it?",
    )


def _refused(refused: DBusErrorResponse) -> SystemdError:
    said = refused.data[0] if refused.data and isinstance(refused.data[0], str) else refused.name
    return SystemdError(f"systemd said: {quoted(said, 200)}", value=refused.name, todo=_ADVICE.get(refused.name, ""))
