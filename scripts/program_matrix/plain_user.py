"""Runs `fakecgroup` as a plain user, also when root starts the matrix."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
UID = 54321
"""The user that root becomes, with a group of the same number. It has no other files or processes."""

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The PATH of the programs: the system's directories."""

_RANGES = [Path("/etc/subuid"), Path("/etc/subgid")]
_FIRST_RANGE, _RANGE = 100_000, 65_536  # as useradd gives them

_PACKAGES = f"{REPOSITORY}:{REPOSITORY}/mount"

_MAIN = ("-c", "import sys; from fakecgroup_mount.cli.program import main; sys.exit(main())")

# In a mount namespace of our own /dev/fuse is open to all, as on any distribution; the mounts of others are let go, as
# they would live as long as we do.
_PROLOGUE = """
set -e
umount -l -a -t fuse.fakecgroup || true
mount -t tmpfs none /run
mknod -m 666 /run/fuse c 10 229
mount --bind /run/fuse /dev/fuse
umount -l /run
user=$1
shift
exec setpriv --reuid "$user" --regid "$user" --clear-groups sh -c 'exec "$@"' sh "$@"
"""


def environment(home: Path) -> dict[str, str]:
    """The variables to run it with: the system's programs, and logs below `home`."""
    return {
        "PATH": SEARCH_PATH,
        "LC_ALL": "C.UTF-8",
        "HOME": str(home),
        "XDG_STATE_HOME": str(home),
        "PYTHONPATH": _PACKAGES,
    }


@cache
def fakecgroup_command(many_users: bool = False) -> tuple[str, ...]:
    """The command. Root becomes a plain user for it, if there is a Python that such a user can run from here.

    With `many_users` root stays root, as the plain user that it becomes has no ranges of ids.
    """
    if os.geteuid() == 0 and not many_users:
        for python in (sys.executable, "/usr/bin/python3"):
            command = ("unshare", "-m", "sh", "-c", _PROLOGUE, "sh", str(UID), python)
            tried = subprocess.run(
                [*command, "-c", "import fakecgroup_mount.cli.program"],
                env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": _PACKAGES},
                cwd="/",
                capture_output=True,
                check=False,
            )
            if tried.returncode == 0:
                return (*command, *_MAIN)
    return (sys.executable, *_MAIN)


def has_many_users() -> bool:
    """Whether fakecgroup_command(many_users=True) runs with more than one user id."""
    if os.geteuid() == 0:
        return True
    names = "|".join(map(re.escape, _own_names()))
    return all(file.exists() and re.search(f"^({names}):", file.read_text(), re.M) for file in _RANGES)


def ranges_command() -> str:
    """With which root gives this user the first ranges that nobody has."""
    texts = [file.read_text() for file in _RANGES if file.exists()]
    taken = [words for text in texts for words in re.findall(r"^[^:\n]+:(\d+):(\d+)$", text, re.M)]
    first = max([_FIRST_RANGE, *(int(begin) + int(count) for begin, count in taken)])
    ids = f"{first}-{first + _RANGE - 1}"
    return f"usermod --add-subuids {ids} --add-subgids {ids} {_own_names()[0]}"


def _own_names() -> list[str]:
    """As the files of ranges may have this user; the name is first, if there is one."""
    uid = os.geteuid()
    try:
        return [pwd.getpwuid(uid).pw_name, str(uid)]
    except KeyError:
        return [str(uid)]


def is_plain() -> bool:
    """Whether fakecgroup_command() runs as a plain user."""
    return os.geteuid() != 0 or fakecgroup_command()[0] != sys.executable
