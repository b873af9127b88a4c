"""Names are taken out of a trace, the same everywhere, and its replay stays what it was."""

from __future__ import annotations

import io
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from fakecgroup import Kernel
from fakecgroup.snapshot import of_kernel
from fakecgroup.snapshot.redact import redact
from fakecgroup.trace.call import Call, line_of
from fakecgroup.trace.redact import Redactor
from fakecgroup.trace.trace_file import TraceReader

from .calls import calls
from .traces import Script, differing


def redacted(script: Script) -> Script:
    redactor = Redactor(b"a key")
    redactor.learn(script.calls)
    other = Script()
    other.head = script.head
    other.calls = list(redactor.redact(script.calls))
    return other


def named() -> Script:
    script = Script(kernel="7.2")
    script.write("cgroup.subtree_control", "+cpu +memory")
    script.call("process", result={"uid": 0, "gid": 0, "parent": 4242}, pid=4243)
    script.call("mkdir", "acme-payroll.slice", result=0, mode="0755")
    script.call("mkdir", "acme-payroll.slice/bob", result=0, mode="0755")
    script.write("acme-payroll.slice/bob/cgroup.procs", "4243")
    script.call("fork", result=4250, pid=4243, cgroups=["acme-payroll.slice/bob"])
    script.read("acme-payroll.slice/bob/cgroup.procs", "4243\n4250\n")
    script.write("acme-payroll.slice/bob/cpu.max.burst", "1000")
    script.write("acme-payroll.slice/bob/cpu.weight", "bob", "EINVAL")
    script.call("setxattr", "acme-payroll.slice", b"payroll!", result=0, name="user.acme")
    script.call("getxattr", "acme-payroll.slice", b"payroll!", result=8, name="user.acme", size=8)
    script.call("rename", "acme-payroll.slice", errno="EPERM", to="bobs")
    script.call("openat", "/proc/4243/cgroup", b"0::/acme-payroll.slice/bob\n", result="descriptor", pid=4243)
    script.call("openat", "/home/bob/secret", b"acme", result="descriptor", pid=4243)
    script.call("mount", "/mnt/acme", b"release_agent=/opt/acme,memory", errno="EINVAL", type="cgroup", source="acme")
    return script


def test_no_name_is_left() -> None:
    text = redacted(named()).text.decode()
    for secret in ("acme", "payroll", "bob", "424", "4250", "/home", "/opt", "/mnt"):
        assert secret not in text, secret


def test_a_name_is_the_same_everywhere() -> None:
    calls = redacted(named()).calls
    slice_, cgroup = [call.path for call in calls if call.op == "mkdir"]
    assert re.fullmatch(r"[a-z]{4}-[a-z]{7}\.slice", slice_)
    assert cgroup.startswith(f"{slice_}/")
    opened = next(call for call in calls if call.op == "openat")
    assert (opened.path, opened.data) == ("/proc/1002/cgroup", f"0::/{cgroup}\n".encode())
    fork = next(call for call in calls if call.op == "fork")
    assert (fork.pid, fork.result, fork.more["cgroups"]) == (1002, 1003, [cgroup])


def test_what_kernels_and_files_have_stays() -> None:
    text = redacted(named()).text.decode()
    for kept in ("+cpu +memory", "cpu.max.burst", "EPERM", "user.", '"type": "cgroup"', "release_agent=", ",memory"):
        assert kept in text, kept


def test_a_snapshot_has_the_same_other_names() -> None:
    kernel = Kernel()
    kernel.mkdir("/acme-payroll.slice")
    kernel.mkdir("/acme-payroll.slice/bob")
    taken = redact(of_kernel(kernel), b"a key")
    made = ["/" + call.path for call in redacted(named()).calls if call.op == "mkdir"]
    assert [cgroup.path for _, cgroup in taken.cgroups() if cgroup.path != "/"] == made


def test_the_replay_is_the_same() -> None:
    before, after = named().replay("5.10", "6.12", "7.2"), redacted(named()).replay("5.10", "6.12", "7.2")
    assert [(op, errnos) for op, _, errnos in differing(after)] == [(op, errnos) for op, _, errnos in differing(before)]
    assert len(after.unreproduced()) == len(before.unreproduced())


def test_processes_keep_their_order_as_kernels_sort_by_it() -> None:
    script = Script("v1", "6.1")
    script.call("mkdir", "pids/a", result=0, mode="0755")
    for number in ("900", "70000", "5000"):
        script.write("pids/a/cgroup.procs", number)
    script.read("pids/a/tasks", "900\n5000\n70000\n")
    assert redacted(script).replay("6.1").unreproduced() == []


@settings(deadline=None)
@given(st.lists(calls, max_size=10))
def test_any_trace_becomes_one_that_can_be_read(made: list[Call]) -> None:
    redactor = Redactor(b"a key")
    redactor.learn(made)
    text = "".join(map(line_of, [Script().head.as_call(), *redactor.redact(made)]))
    assert len(list(TraceReader(io.BytesIO(text.encode()), "t"))) == len(made)
