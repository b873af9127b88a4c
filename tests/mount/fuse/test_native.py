"""The native session without a mount: requests over a socket, where the kernel would use /dev/fuse."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from errno import EIO, ENOENT, ENOSYS, ENXIO, EPROTO
from itertools import count

import pytest

from fakecgroup import ROOT, Kernel, personalities
from fakecgroup_mount.fuse import wire
from fakecgroup_mount.fuse.native import Session
from fakecgroup_mount.fuse.requests import MAX_WRITE
from fakecgroup_mount.fuse.splicing import READABLE_SIZE
from fakecgroup_mount.host.idmap import IdMap
from fakecgroup_mount.host.processes import HostProcesses

Sleeper = Callable[..., "subprocess.Popen[bytes]"]


class Device:
    """The kernel's end: sends requests, receives replies."""

    def __init__(self) -> None:
        ids = IdMap(0, 0)
        processes = HostProcesses(ids)
        self.kernel = Kernel(processes=processes)
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.ours.settimeout(10)
        self._theirs = theirs
        self._unique = count(2, 2)
        self._session = Session(theirs.fileno(), "/none", self.kernel, ids, processes)
        self.thread = threading.Thread(target=self._session.serve)
        self.thread.start()

    def send(self, opcode: int, node: int = wire.ROOT_ID, body: bytes = b"") -> int:
        unique = next(self._unique)
        size = wire.IN_SIZE + len(body)
        self.ours.send(wire.IN_HEADER.pack(size, opcode, unique, node, 0, 0, os.getpid(), 0, 0) + body)
        return unique

    def ask(self, opcode: int, node: int = wire.ROOT_ID, body: bytes = b"") -> tuple[int, bytes]:
        """The errno of the reply and what follows its header."""
        unique = self.send(opcode, node, body)
        reply = self.ours.recv(1 << 20)
        size, error, answered = wire.OUT_HEADER.unpack_from(reply)
        if not answered and error == wire.NOTIFY_INVAL_INODE:  # said before a GETATTR is answered
            reply = self.ours.recv(1 << 20)
            size, error, answered = wire.OUT_HEADER.unpack_from(reply)
        assert (size, answered) == (len(reply), unique)
        return -error, reply[wire.OUT_SIZE :]

    def lookup(self, name: bytes, node: int = wire.ROOT_ID) -> int:
        """The node id behind a name."""
        error, body = self.ask(wire.LOOKUP, node, name + b"\0")
        assert error == 0
        return int.from_bytes(body[:8], sys.byteorder)

    def close(self) -> None:
        self.ours.close()
        self.thread.join(10)
        self._theirs.close()
        assert not self.thread.is_alive()


@pytest.fixture
def device() -> Iterator[Device]:
    made = Device()
    yield made
    made.close()


def test_init_agrees_on_the_older_version(device: Device) -> None:
    error, body = device.ask(wire.INIT, 0, wire.INIT_IN.pack(7, 31, 131072, 0xFFFFFFFF))
    major, minor = wire.INIT_IN.unpack_from(body)[:2]
    assert (error, major, minor) == (0, 7, 31)


def test_init_asks_for_nothing_that_was_not_offered(device: Device) -> None:
    _, body = device.ask(wire.INIT, 0, wire.INIT_IN.pack(7, 38, 131072, wire.BIG_WRITES | 1 << 30))
    assert wire.INIT_IN.unpack_from(body)[3] == wire.BIG_WRITES


def test_init_of_a_kernel_too_old_is_refused(device: Device, caplog: pytest.LogCaptureFixture) -> None:
    assert device.ask(wire.INIT, 0, wire.INIT_IN.pack(7, 26, 131072, 0)) == (EPROTO, b"")
    assert "Linux 5.4" in caplog.text


@pytest.mark.parametrize(("layout", "version"), personalities())
def test_no_cgroup_file_takes_as_much_as_one_write_carries(layout: str, version: str) -> None:
    for hierarchy in Kernel(layout, version).hierarchies:
        child = hierarchy.mkdir(hierarchy.root, "a", 0o755, ROOT)
        tables = (hierarchy.table(hierarchy.root), hierarchy.table(child))
        assert max(entry.row.max_write for table in tables for entry in table.values()) < MAX_WRITE


def test_a_bug_in_the_model_is_eio_and_logged(
    device: Device, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(device.kernel.vfs, "find", broken)
    with caplog.at_level(logging.ERROR):
        assert device.ask(wire.LOOKUP, body=b"cgroup.procs\0") == (EIO, b"")
    assert "KeyError: 'a bug'" in caplog.text


def test_after_a_bug_requests_are_answered(
    device: Device, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(device.kernel.vfs, "find", None)
        device.ask(wire.LOOKUP, body=b"cgroup.procs\0")
    assert device.ask(wire.LOOKUP, body=b"cgroup.procs\0")[0] == 0


def test_a_bug_at_the_exit_of_a_process_is_logged_once(
    device: Device, sleeper: Sleeper, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(tid: int) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(device.kernel, "task_exited", broken)
    device.ask(wire.MKDIR, body=wire.MKDIR_IN.pack(0o755, 0o022) + b"a\0")
    file = device.lookup(b"cgroup.procs", device.lookup(b"a"))
    _, opened = device.ask(wire.OPEN, file, wire.OPEN_IN.pack(os.O_WRONLY, 0))
    process = sleeper()
    pid = b"%d" % process.pid
    handle = int.from_bytes(opened[:8], sys.byteorder)
    assert device.ask(wire.WRITE, file, wire.WRITE_IN.pack(handle, 0, len(pid), 0, 0, 0, 0) + pid)[0] == 0
    process.kill()
    process.wait()
    for _ in range(3):
        assert device.ask(wire.GETATTR, body=bytes(16))[0] == 0
    assert caplog.text.count("KeyError: 'a bug'") == 1


@pytest.mark.parametrize("opcode", [wire.FSYNC, 63])
def test_an_operation_that_is_not_served_is_enosys(device: Device, opcode: int) -> None:
    assert device.ask(opcode) == (ENOSYS, b"")


def test_a_file_has_neither_data_nor_a_hole_to_seek(device: Device) -> None:
    assert device.ask(wire.LSEEK, device.lookup(b"cgroup.procs"), bytes(24)) == (ENXIO, b"")


def test_lookup_says_a_size_to_read_and_getattr_0(device: Device) -> None:
    _, entry = device.ask(wire.LOOKUP, body=b"cgroup.procs\0")
    node = int.from_bytes(entry[:8], sys.byteorder)
    _, attributes = device.ask(wire.GETATTR, node, bytes(16))
    assert int.from_bytes(entry[48:56], sys.byteorder) == READABLE_SIZE
    assert int.from_bytes(attributes[24:32], sys.byteorder) == 0


def test_an_inode_is_one_node_however_often_it_is_looked_up(device: Device) -> None:
    assert device.lookup(b"cgroup.procs") == device.lookup(b"cgroup.procs")


def test_a_node_lives_until_it_is_forgotten_as_often_as_it_was_named(device: Device) -> None:
    node = device.lookup(b"cgroup.procs")
    device.lookup(b"cgroup.procs")
    device.send(wire.FORGET, node, wire.FORGET_IN.pack(1))
    assert device.lookup(b"cgroup.procs") == node
    device.send(wire.FORGET, node, wire.FORGET_IN.pack(2))
    assert device.lookup(b"cgroup.procs") != node


def test_a_batch_forgets_each_of_its_nodes(device: Device) -> None:
    nodes = [device.lookup(name) for name in (b"cgroup.procs", b"cgroup.stat")]
    batch = wire.BATCH_FORGET_IN.pack(2, 0) + b"".join(wire.FORGET_ONE.pack(node, 1) for node in nodes)
    device.send(wire.BATCH_FORGET, 0, batch)
    assert not {device.lookup(b"cgroup.procs"), device.lookup(b"cgroup.stat")} & set(nodes)


def test_a_new_cgroup_of_an_old_name_is_another_node(device: Device) -> None:
    made = wire.MKDIR_IN.pack(0o755, 0o022) + b"a\0"
    assert device.ask(wire.MKDIR, body=made)[0] == 0
    first = device.lookup(b"a")
    assert device.ask(wire.RMDIR, body=b"a\0") == (0, b"")
    assert device.ask(wire.LOOKUP, body=b"a\0") == (ENOENT, b"")
    assert device.ask(wire.MKDIR, body=made)[0] == 0
    assert device.lookup(b"a") != first


def test_an_interrupt_is_not_answered(device: Device) -> None:
    device.send(wire.INTERRUPT, 0, bytes(8))
    assert device.ask(wire.GETATTR, body=bytes(16))[0] == 0


def test_the_end_of_the_connection_ends_the_session(device: Device) -> None:
    device.ours.shutdown(socket.SHUT_RDWR)
    device.thread.join(10)
    assert not device.thread.is_alive()
