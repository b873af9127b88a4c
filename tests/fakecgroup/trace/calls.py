"""Calls that nobody made, for tests of what reads them."""

from __future__ import annotations

from hypothesis import strategies as st

from fakecgroup.trace.call import Call

_OPERATIONS = st.sampled_from(
    ["open", "close", "read", "write", "mkdir", "rmdir", "rename", "stat", "lookup", "access", "chmod", "chown", "poll",
     "lseek", "truncate", "setxattr", "getxattr", "clone3", "fork", "unshare", "mount", "process", "thread", "exit",
     "reap", "fault", "lost", "kill", "copy_file_range", "nonsense", "\x1b[2J"]
)  # fmt: skip
_VALUES = (
    st.none()
    | st.integers(-3, 2**40)
    | st.text(max_size=6)
    | st.sampled_from(["O_RDONLY", "0755", "vanish", "cgroup2"])
)
_PATHS = ["", ".", "a", "a/b", "cgroup.procs", "a/cgroup.procs", "/proc", "x" * 5000, "a/../b", "\udcff", "a\n\x1b[2J"]
_KEYS = ["handle", "flags", "mode", "size", "offset", "to", "uid", "gid", "mask", "events", "whence", "tid", "target",
         "descriptors", "pids", "cgroups", "name", "type", "atime", "removed", "fault", "assumed"]  # fmt: skip

calls = st.builds(
    Call,
    st.floats(0, 1e6),
    st.integers(0, 5) | st.sampled_from([1001, 1002, 1 << 30, 2**31 - 1]),
    st.sampled_from(["x", "\x1b[2J", "\udc80"]),
    _OPERATIONS,
    st.sampled_from(_PATHS),
    st.none() | st.binary(max_size=8) | st.just(b"1001\n"),
    st.none() | st.just("EINVAL"),
    _VALUES | st.just({"uid": 5, "gid": "x", "groups": 3, "capabilities": 7}),
    st.dictionaries(st.sampled_from(_KEYS), _VALUES | st.just(["a", 3]), max_size=5),
)
