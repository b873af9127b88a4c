"""cpu.max acts on real processes (`run --enforce cpu`)."""

from __future__ import annotations

from .conftest import Sandboxed, said

BEGIN = """
set -e; cd /sys/fs/cgroup; echo +cpu >cgroup.subtree_control; mkdir a; echo '1000 1000000' >a/cpu.max
(echo 0 >a/cgroup.procs; while :; do :; done) & busy=$!
is() { for i in $(seq 500); do [ $(cut -d' ' -f3 /proc/$busy/stat) = $1 ] && return; sleep 0.02; done; echo never $1; }
is T
"""


def test_a_process_that_has_used_its_quota_is_stopped_and_counted(sandboxed: Sandboxed) -> None:
    script = f"{BEGIN} until grep -q 'nr_throttled [1-9]' a/cpu.stat; do sleep 0.02; done; echo counted; kill -9 $busy"
    assert said(sandboxed(script, enforce="cpu")) == "counted\n"


def test_without_a_quota_it_goes_on(sandboxed: Sandboxed) -> None:
    script = f"{BEGIN} echo max >a/cpu.max; is R; kill -9 $busy"
    assert said(sandboxed(script, enforce="cpu")) == ""


def test_in_another_cgroup_it_goes_on(sandboxed: Sandboxed) -> None:
    script = f"{BEGIN} mkdir b; echo $busy >b/cgroup.procs; is R; kill -9 $busy"
    assert said(sandboxed(script, enforce="cpu")) == ""


def test_frozen_it_does_not_go_on_with_the_next_period(sandboxed: Sandboxed) -> None:
    script = f"""{BEGIN} echo 1 >a/cgroup.freeze; echo max >a/cpu.max; sleep 0.2; is T
        echo 0 >a/cgroup.freeze; is R; kill -9 $busy"""
    assert said(sandboxed(script, enforce="cpu")) == ""


def test_a_limit_above_counts_too(sandboxed: Sandboxed) -> None:
    script = """
        set -e; cd /sys/fs/cgroup; echo +cpu >cgroup.subtree_control; mkdir a; echo '1000 1000000' >a/cpu.max; mkdir a/b
        (echo 0 >a/b/cgroup.procs; while :; do :; done) & busy=$!
        until [ $(cut -d' ' -f3 /proc/$busy/stat) = T ]; do sleep 0.02; done; kill -9 $busy"""
    assert said(sandboxed(script, enforce="cpu")) == ""
