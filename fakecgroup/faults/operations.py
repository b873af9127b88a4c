"""The operations that a rule can name, in the words of a trace."""

from __future__ import annotations

ON_FILES = frozenset({"open", "read", "write", "truncate", "appear"})
"""Operations on interface files alone. `appear` is the moment at which a new cgroup or controller shows a file."""

OPERATIONS = (
    *("open", "read", "write", "truncate", "stat", "access", "listdir", "mkdir", "rmdir", "rename"),
    *("chmod", "chown", "utimens", "getxattr", "setxattr", "listxattr", "removexattr", "appear"),
)
