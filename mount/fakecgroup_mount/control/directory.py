"""The directory of the control sockets: of mode 0700, and the user's own."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from errno import ECONNREFUSED

from fakecgroup_mount.host.log import Log

log = Log(__name__)

CONTROL_XATTR = "user.fakecgroup.control"
"""The attribute of a tree's root directories that says where its control socket is."""

_SUFFIX = ".sock"


def runtime_directory() -> str | None:
    """Makes the directory if it is missing; None, with a line in the log, if there is no place for it.

    It is below /run for root and below /run/user/UID for others; without that below /tmp, where a directory that is not
    ours alone is not used.
    """
    uid = os.geteuid()
    why = ""
    for place in (f"/run/user/{uid}/fakecgroup" if uid else "/run/fakecgroup", f"/tmp/fakecgroup-{uid}"):
        try:
            _require_own(os.path.dirname(place), uid, private=False)
            os.makedirs(place, 0o700, exist_ok=True)
            _require_own(place, uid, private=True)
        except OSError as error:
            why = f"{place}: {error.strerror}"
        else:
            return place
    log.warning("no commands are answered: there is no directory for a control socket: %s", why)
    return None


def _require_own(place: str, uid: int, *, private: bool) -> None:
    """Raises PermissionError for a link, a directory of another user than `uid` and root, or one open to others."""
    found = os.lstat(place)
    others = stat.S_IMODE(found.st_mode) & 0o077
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in ({uid} if private else {uid, 0}):
        raise PermissionError(0, "it is no directory of this user")
    if private and others:
        raise PermissionError(0, "others may use it")


def socket_of(directory: str, device: str) -> str:
    """The socket for the mount with a device number such as "0:42"."""
    return os.path.join(directory, device.replace(":", "-") + _SUFFIX)


def remove_stale(directory: str) -> None:
    """Removes the sockets of daemons that were killed."""
    for name in os.listdir(directory):
        if not name.endswith(_SUFFIX):
            continue
        path = os.path.join(directory, name)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
                asked.settimeout(1)
                asked.connect(path)
        except OSError as error:
            if error.errno == ECONNREFUSED:
                with suppress(FileNotFoundError):
                    os.unlink(path)
