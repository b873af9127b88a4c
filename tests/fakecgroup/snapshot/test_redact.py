"""A redacted snapshot has no names, and is still the same tree."""

from __future__ import annotations

import gzip
import re

import pytest

from fakecgroup import Kernel, Workload
from fakecgroup.snapshot import Snapshot, compare, of_kernel, restore
from fakecgroup.snapshot.content import Attributes, SeenProcess
from fakecgroup.snapshot.files import unpack
from fakecgroup.snapshot.lines import pack
from fakecgroup.snapshot.redact import redact

from .busy import busy_kernel

KEY = b"a key"
UID = "0aa1a5e2-0b3f-4d0e-8f31-0000000000aa"
ID = "7b" * 32


def node() -> Snapshot:
    """Pods of both drivers, a unit, and a process with secrets in its command line."""
    kernel = Kernel("v2", "6.12")
    kernel.write("/cgroup.subtree_control", "+pids +memory")
    pod = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID.replace('-', '_')}.slice"
    for path in (pod, f"{pod}/cri-containerd-{ID}.scope", f"/kubepods/besteffort/pod{UID}/{ID}"):
        parts = path.strip("/").split("/")
        for depth in range(len(parts)):
            try:
                kernel.mkdir("/" + "/".join(parts[: depth + 1]))
            except FileExistsError:
                pass
    for path in ("/system.slice", "/system.slice/payments-db.service", "/system.slice/payments-web.service"):
        kernel.mkdir(path)
    (pid,) = kernel.spawn("/system.slice/payments-db.service", Workload([{"for": "9s"}], name="paymentsd"))
    snapshot = of_kernel(kernel)
    snapshot.processes[pid] = SeenProcess(pid, "paymentsd", ("/usr/bin/paymentsd", "--password=secret"), (pid,))
    unit = next(cgroup for _, cgroup in snapshot.cgroups() if cgroup.path.endswith("db.service"))
    unit.attributes = Attributes(0o755, 0, 0, {"user.invocation_id": b"ab" * 16, "user.delegate": b"1"})
    snapshot.left_out = ["command lines: 2 (paymentsd, other): Permission denied"]
    return snapshot


def test_no_name_is_left() -> None:
    data = gzip.decompress(pack(redact(node(), KEY)))
    for secret in (b"payments", b"secret", b"password", UID[:8].encode(), ID[:12].encode(), b"abababab"):
        assert secret not in data


def test_the_structure_of_names_stays() -> None:
    paths = [cgroup.path for _, cgroup in redact(node(), KEY).cgroups()]
    uid = next(found[1] for path in paths if (found := re.fullmatch(r"/kubepods/besteffort/pod([0-9a-f-]{36})", path)))
    below = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid.replace('-', '_')}.slice"
    assert below in paths
    container = next(path for path in paths if path.startswith(f"{below}/"))
    assert re.fullmatch(r"cri-containerd-[0-9a-f]{64}\.scope", container.rpartition("/")[2])
    assert f"/kubepods/besteffort/pod{uid}/{container[-70:-6]}" in paths
    units = [path for path in paths if path.endswith(".service")]
    assert len({unit.partition("-")[0] for unit in units}) == 1
    assert len(set(units)) == 2


def test_processes_and_lists_have_the_same_other_numbers() -> None:
    redacted = redact(node(), KEY)
    lists = [c.files["cgroup.procs"].data for _, c in redacted.cgroups() if c.path.endswith(".service")]
    (listed,) = filter(None, lists)
    assert int(listed) in redacted.processes
    one = redacted.processes[int(listed)]
    assert one.threads == (one.pid,)
    assert one.name != "paymentsd"
    assert len(one.name) == len("paymentsd")
    assert len(one.command) == 2


def test_a_redacted_snapshot_is_restored_as_the_other() -> None:
    snapshot = unpack(pack(redact(node(), KEY)))
    restored = restore(snapshot)
    assert restored.differs == ()
    assert compare(snapshot, of_kernel(restored)) == []


def test_it_says_that_it_is_redacted_and_what_was_left_out() -> None:
    redacted = redact(node(), KEY)
    assert redacted.redacted
    assert redacted.left_out == [
        "command lines: 2: Permission denied",
        "the state of the model: it is not redacted",
    ]
    assert redacted.state == []


def test_another_key_gives_other_names_and_the_same_key_the_same() -> None:
    snapshot = node()
    assert pack(redact(snapshot, KEY)) == pack(redact(snapshot, KEY))
    first, second = ({c.path for _, c in redact(snapshot, key).cgroups()} for key in (KEY, b"another"))
    assert {path for path in first & second if re.search(r"pod[0-9a-f]|service", path)} == set()


@pytest.mark.parametrize("layout", ["v1", "hybrid"])
def test_every_name_stays_one_of_its_own(layout: str) -> None:
    snapshot = of_kernel(busy_kernel(layout, "6.1"))
    redacted = redact(snapshot, KEY)
    for before, after in zip(snapshot.hierarchies, redacted.hierarchies, strict=True):
        assert len({cgroup.path for cgroup in after.cgroups}) == len(before.cgroups)
    assert restore(unpack(pack(redacted))).differs == ()
