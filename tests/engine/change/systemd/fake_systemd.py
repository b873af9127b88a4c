"""A fake ``org.freedesktop.systemd1`` that speaks D-Bus on a socket and makes its units in a fake cgroup tree.

It is its own bus and behaves as systemd 252 was seen to: an active unit is UnitExists, a scope without a process is
refused, cgroup.subtree_control gets the controllers that units need, and a slice is removed with its directory.
"""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

from jeepney import DBusAddress, HeaderFields, Message, MessageType, Parser, new_error, new_method_return, new_signal

from cgroup_engine.model.names import expand_slice

NAME = "org.freedesktop.systemd1"
MANAGER = DBusAddress("/org/freedesktop/systemd1", bus_name=NAME, interface=f"{NAME}.Manager")
INFINITY = (1 << 64) - 1
FILES = {
    2: {"CPUWeight": "cpu.weight", "MemoryMax": "memory.max", "TasksMax": "pids.max"},
    1: {"CPUShares": "cpu/cpu.shares", "MemoryLimit": "memory/memory.limit_in_bytes", "TasksMax": "pids/pids.max"},
}
NO_LIMIT = {"cpu.weight": "100", "cpu.shares": "1024", "memory.limit_in_bytes": "-1"}


class RefusedError(Exception):
    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text


class FakeSystemd:
    """``address`` is for DBUS_SYSTEM_BUS_ADDRESS; ``calls`` are (method, unit, properties) in order.

    ``refuse``: unit -> (name of the D-Bus error, text) of every call for it. ``units``: name -> properties.
    """

    def __init__(self, fs: Any, directory: Path, version: int = 252) -> None:
        self.fs = fs
        self.layout = 2 if "cgroup.controllers" in fs.listdir("") else 1
        self.version = version
        self.units: dict[str, dict[str, Any]] = {}
        self.operators: set[str] = set()
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self.refuse: dict[str, tuple[str, str]] = {}
        self.takes_cpuset_away = True  # not while another unit beside it has CPUs
        self.default_tasks_max = 4915  # 15% of 32768
        self._jobs = 0
        self._listener = socket.socket(socket.AF_UNIX)
        path = directory / "bus"
        self._listener.bind(str(path))
        self._listener.listen()
        self.address = f"unix:path={path}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def scope(self, name: str, slice_path: str) -> None:
        """Acts as a runtime: makes a scope with its process."""
        self._realize(name, f"{slice_path}/{name}", {})

    # the protocol

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                self._answer(client, self._authenticate(client))

    def _authenticate(self, client: socket.socket) -> bytes:
        """The bytes that the client sent right after its authentication."""
        text = b""
        while b"BEGIN\r\n" not in text:
            part = client.recv(4096)
            if not part:
                return b""
            text += part
            if part.endswith(b"\r\n") and b"BEGIN" not in part:
                client.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
        return text.partition(b"BEGIN\r\n")[2]

    def _answer(self, client: socket.socket, part: bytes) -> None:
        parser, serial = Parser(), 0
        while part or (part := client.recv(4096)):
            parser.add_data(part)
            part = b""
            while (message := parser.get_next_message()) is not None:
                for reply in self._replies(message):
                    serial += 1
                    client.sendall(reply.serialise(serial))

    def _replies(self, message: Message) -> list[Message]:
        assert message.header.message_type is MessageType.method_call
        method = message.header.fields[HeaderFields.member]
        try:
            if method in ("Hello", "AddMatch", "Subscribe"):
                return [new_method_return(message, *(("s", (":1.1",)) if method == "Hello" else ()))]
            if method == "Get":
                path = message.header.fields[HeaderFields.path]
                return [new_method_return(message, "v", (self._property(path, message.body[1]),))]
            unit = message.body[0]
            if method == "GetUnit":
                if unit not in self.units:
                    raise RefusedError(f"{NAME}.NoSuchUnit", f"Unit {unit} not loaded.")
                return [new_method_return(message, "o", ("/unit/" + unit.encode().hex(),))]
            self._do(method, unit, message.body)
        except RefusedError as refused:
            return [new_error(message, refused.name, "s", (refused.text,))]
        if method == "SetUnitProperties":
            return [new_method_return(message)]
        self._jobs += 1
        job = f"/org/freedesktop/systemd1/job/{self._jobs}"
        removed = new_signal(MANAGER, "JobRemoved", "uoss", (self._jobs, job, unit, "done"))
        return [new_method_return(message, "o", (job,)), removed]

    def _property(self, path: str, name: str) -> tuple[str, Any]:
        if name == "Version":
            return "s", f"{self.version}.1-1~deb"
        if name == "DefaultTasksMax":
            return "t", self.default_tasks_max
        unit = bytes.fromhex(path.rpartition("/")[2]).decode()
        return {
            "ActiveState": ("s", "active"),
            "ControlGroup": ("s", "/" + self.units[unit][""]),
            "Transient": ("b", unit not in self.operators),
        }[name]

    # the manager

    def _do(self, method: str, unit: str, body: tuple[Any, ...]) -> None:
        given = {"StartTransientUnit": 2, "SetUnitProperties": 2}.get(method)
        properties = {name: value for name, (_, value) in body[given]} if given is not None else {}
        self.calls.append((method, unit, properties))
        if unit in self.refuse:
            raise RefusedError(*self.refuse[unit])
        if method == "StopUnit":
            self._stop(unit)
        elif method == "SetUnitProperties":
            self._write(self.units[unit][""], properties)
        elif method == "StartTransientUnit" and (unit in self.units or unit in self.operators):
            raise RefusedError(f"{NAME}.UnitExists", f"Unit {unit} was already loaded or has a fragment file.")
        else:
            assert unit.endswith(".slice"), "a scope wants a process"
            self._realize(unit, "/".join(expand_slice(unit)), properties)

    def _realize(self, unit: str, path: str, properties: dict[str, Any]) -> None:
        self.units[unit] = {"": path}
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            each = "/".join(parts[:depth])
            if self.layout == 2:
                above = f"{'/'.join(parts[: depth - 1])}/cgroup.subtree_control".lstrip("/")
                self.fs.write(above, "+cpu +memory +pids")
            for tree in ("",) if self.layout == 2 else ("cpu", "memory", "pids"):
                directory = f"{tree}/{each}".lstrip("/")
                if not self.fs.is_dir(directory):
                    self.fs.mkdir(directory)
        self._write(path, properties)

    def _write(self, path: str, properties: dict[str, Any]) -> None:
        for name, value in properties.items():
            if name in FILES[self.layout]:
                tree, _, file = FILES[self.layout][name].rpartition("/")
                text = NO_LIMIT.get(file, "max") if value == INFINITY else str(value)
                self.fs.write(f"{tree}/{path}/{file}".lstrip("/"), text)
        if self.layout == 2 and "AllowedCPUs" in properties:
            cpus = [
                str(8 * n + bit)
                for n, byte in enumerate(properties["AllowedCPUs"])
                for bit in range(8)
                if byte >> bit & 1
            ]
            above = f"{path.rpartition('/')[0]}/cgroup.subtree_control".lstrip("/")
            if not cpus and self.takes_cpuset_away:
                self.fs.write(above, "-cpuset")
            if cpus:
                self.fs.write(above, "+cpuset")
                self.fs.write(f"{path}/cpuset.cpus", ",".join(cpus))
        if "CPUQuotaPerSecUSec" in properties:
            self._quota(path, properties["CPUQuotaPerSecUSec"], properties.get("CPUQuotaPeriodUSec", 100_000))

    def _quota(self, path: str, per_second: int, period: int) -> None:
        quota = -1 if per_second == INFINITY else per_second * period // 1_000_000
        if self.layout == 2:
            self.fs.write(f"{path}/cpu.max", f"{'max' if quota < 0 else quota} {period}")
        else:
            self.fs.write(f"cpu/{path}/cpu.cfs_period_us", str(period))
            self.fs.write(f"cpu/{path}/cpu.cfs_quota_us", str(quota))

    def _stop(self, unit: str) -> None:
        path = self.units.pop(unit)[""]
        for tree in ("",) if self.layout == 2 else ("cpu", "memory", "pids"):
            self.fs.rmdir(f"{tree}/{path}".lstrip("/"))
