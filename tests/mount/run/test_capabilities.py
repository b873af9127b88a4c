"""In the sandbox the command is root with all capabilities; whoever gives some up there, or takes others, is not."""

from __future__ import annotations

import shutil

import pytest

from .conftest import Sandboxed, said

ATTEMPTS = """
cd /sys/fs/cgroup
try() { "$@" sh -c 'echo /agent >pids/release_agent' 2>/dev/null && echo set || echo refused; }
try unshare -Ur
try unshare -UrC
try setpriv --bounding-set -all
try setpriv --bounding-set -sys_admin
cat pids/release_agent; try env; cat pids/release_agent
setpriv --bounding-set -all mkdir pids/a 2>/dev/null || echo no cgroup
"""


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
@pytest.mark.hostile("the command's own containers set a release agent", times=4)
def test_only_the_sandboxs_root_sets_a_release_agent(sandboxed: Sandboxed) -> None:
    refused = ["refused"] * 4
    assert said(sandboxed(ATTEMPTS, layout="v1")).splitlines() == [*refused, "", "set", "/agent", "no cgroup"]
