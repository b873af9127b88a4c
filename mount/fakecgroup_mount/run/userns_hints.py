"""Hints about the sysctls that forbid user namespaces, for errors that do not name them."""

from __future__ import annotations

import os

SYSCTLS = "/proc/sys"


def sysctl(name: str) -> str:
    """The value of a sysctl such as user.max_user_namespaces; "" if this kernel lacks it."""
    try:
        with open(os.path.join(SYSCTLS, name.replace(".", "/"))) as file:
            return file.read().strip()
    except OSError:
        return ""


def hint(otherwise: str) -> str:
    """Says which sysctl allows what was refused in a user namespace; `otherwise` if no known sysctl forbids it.

    Ubuntu since 23.10 lets a plain user make the namespace, but refuses what takes capabilities in it. With unshare(1)
    that is the map of users.
    """
    if sysctl("kernel.unprivileged_userns_clone") == "0":
        return "as root: sysctl kernel.unprivileged_userns_clone=1"
    if sysctl("kernel.apparmor_restrict_unprivileged_userns") == "1":
        return "as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    return otherwise
