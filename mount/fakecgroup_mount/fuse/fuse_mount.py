"""Mounts and unmounts a FUSE file system: with mount(2) as root, with fusermount3(1) as any other user."""

from __future__ import annotations

import array
import ctypes
import os
import socket
from errno import EBUSY, EINVAL, ENODEV, EPERM

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.hints import shown
from fakecgroup_mount.host.mountinfo import FSTYPE, SOURCE

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_MNT_DETACH = 2
DEVICE = "/dev/fuse"
_libc = ctypes.CDLL(None, use_errno=True)


def mount_fuse(path: str, *, allow_other: bool) -> int:
    """Mounts at `path` and returns the open /dev/fuse of the mount.

    Root's mount is open to all users. Another user mounts with fusermount3, for that user only; with `allow_other` for
    all users, if /etc/fuse.conf has `user_allow_other`. Raises MountError.
    """
    if os.geteuid() != 0:
        return _mount_with_helper(path, allow_other)
    fd = open_device()
    data = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other"
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    if _libc.mount(SOURCE.encode(), os.fsencode(path), FSTYPE.encode(), flags, data.encode()):
        code = ctypes.get_errno()
        os.close(fd)
        hint = "; mounting takes CAP_SYS_ADMIN, which this root has not (a container?): unshare -Urm COMMAND has it"
        hint = hint if code == EPERM else ""
        hint = "; this kernel has no FUSE" if code == ENODEV else hint
        raise MountError(f"{shown(path)}: cannot mount: {os.strerror(code)}{hint}")
    return fd


def open_device() -> int:
    """Opens /dev/fuse. Raises MountError."""
    try:
        return os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        hint = f"load the module (modprobe fuse), or give the device to the container (--device {DEVICE})"
        raise MountError(f"{DEVICE} is missing: {hint}") from None
    except PermissionError as error:
        hint = "its mode must let you read and write (distributions have 0666), and a container must permit the device"
        raise MountError(f"{DEVICE}: {error.strerror}: {hint}") from None
    except OSError as error:
        raise MountError(f"{DEVICE}: {error.strerror}: is FUSE in this kernel?") from None


def helper() -> str | None:
    """The path of fusermount3, or else of fusermount; None without either."""
    import shutil  # shutil and subprocess take a while to load, and root needs neither

    return shutil.which("fusermount3") or shutil.which("fusermount")


def _mount_with_helper(path: str, allow_other: bool) -> int:
    program = helper()
    if program is None:
        raise MountError("fusermount3 is missing, and only root can mount without it: install fuse3 (Debian package)")
    os.close(open_device())  # fusermount3 opens it with the user's rights
    options = f"fsname={SOURCE},subtype={FSTYPE.partition('.')[2]},nosuid,nodev,noexec"
    if allow_other:
        options += ",allow_other"
    import subprocess

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        done = subprocess.run(
            [program, "-o", options, "--", path],
            env={**os.environ, "_FUSE_COMMFD": str(theirs.fileno()), "LC_ALL": "C"},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise MountError(f"{shown(path)}: cannot mount: {_first_line(done.stderr)}")
        _, ancillary, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(array.array("i", [0]).itemsize))
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fd = array.array("i", content)[0]
            os.set_inheritable(fd, False)
            return fd
    raise MountError(f"{shown(path)}: cannot mount: {program} gave no connection")


def umount_fuse(path: str, *, lazy: bool = False) -> None:
    """Unmounts `path` (umount2(2)). `lazy` is MNT_DETACH: the mount leaves the path at once and ends with its last
    user.

    Raises MountError: busy, or not permitted.
    """
    if os.geteuid() == 0:
        if _libc.umount2(os.fsencode(path), _MNT_DETACH if lazy else 0):
            error = ctypes.get_errno()
            if error == EBUSY:
                raise MountError(_busy(path))
            if error == EINVAL:
                raise MountError(f"{shown(path)} is not a mount point")
            raise MountError(f"{shown(path)}: cannot unmount: {os.strerror(error)}")
        return
    program = helper()
    if program is None:
        raise MountError("fusermount3 is missing, and only root can unmount without it: install fuse3 (Debian package)")
    import subprocess

    done = subprocess.run(
        [program, "-u", *(["-z"] if lazy else []), "--", path],
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        why = _first_line(done.stderr)
        raise MountError(_busy(path) if os.strerror(EBUSY) in why else f"{shown(path)}: cannot unmount: {why}")


def _busy(path: str) -> str:
    return f"{shown(path)} is busy: a process has its working directory or an open file there; end it and try again"


def _first_line(output: bytes) -> str:
    """The first line of fusermount3's message, without the program's name."""
    text = output.decode(errors="replace").strip().partition("\n")[0]
    text = text.partition(": ")[2] or text or "fusermount3 failed without a word"
    if text == "could not determine username":
        text += f": fusermount3 serves users of /etc/passwd alone, and uid {os.getuid()} is not there"
    return text
