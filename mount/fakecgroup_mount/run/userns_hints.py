"""What forbids a part of the sandbox, as far as a refusal does not say it itself."""

from __future__ import annotations

from pathlib import Path

SYSCTLS = Path("/proc/sys")


def sysctl(name: str) -> str:
    """The value of a sysctl such as user.max_user_namespaces; "" for one that this kernel has not."""
    try:
        return (SYSCTLS / name.replace(".", "/")).read_text().strip()
    except OSError:
        return ""


def hint(otherwise: str) -> str:
    """How to allow what was refused in, or on the way into, a user namespace; `otherwise` where no sysctl is known to
    forbid it.

    Ubuntu from 23.10 on lets a plain user make the namespace and refuses what takes capabilities in it: with
    unshare(1), the map of users.
    """
    if sysctl("kernel.unprivileged_userns_clone") == "0":
        return "as root: sysctl kernel.unprivileged_userns_clone=1"
    if sysctl("kernel.apparmor_restrict_unprivileged_userns") == "1":
        return "as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    return otherwise
