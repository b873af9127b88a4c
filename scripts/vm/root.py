"""A Debian root with systemd, D-Bus, Python and what is asked for: packages unpacked into a cache, never installed."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from fakecgroup_mount.vm.architecture import ARCHITECTURES
from fakecgroup_mount.vm.cache import cache_directory, locked
from fakecgroup_mount.vm.initramfs import pack
from fakecgroup_mount.vm.kernels import number_and_architecture

from .apt import Apt, run
from .kernels import SUITES

_PACKAGES = [
    "systemd-sysv",
    "dbus",
    "dbus-user-session",
    "libpam-systemd",
    "python3-minimal",
    "libpython3-stdlib",
    "bash",
    "coreutils",
    "findutils",
    "grep",
    "util-linux",
]
#: Directories that take memory and time at boot, and that nothing here reads.
_NOT_NEEDED = ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/zoneinfo",
               "usr/share/perl*", "usr/lib/*/perl*", "usr/lib/*/gconv", "usr/lib/udev", "lib/udev",
               "usr/lib/systemd/system-generators", "lib/systemd/system-generators"]  # fmt: skip
_PASSWD = """\
root:x:0:0:root:/root:/bin/bash
messagebus:x:100:100::/nonexistent:/usr/sbin/nologin
user:x:1000:1000::/home/user:/bin/bash
"""
_GROUP = "root:x:0:\nmessagebus:x:100:\nuser:x:1000:\n"
# what libpam-runtime's installation makes of the packages' profiles; everybody is let in, and has a session of logind
_PAM = {
    "common-auth": "auth required pam_permit.so",
    "common-account": "account required pam_permit.so",
    "common-password": "password required pam_permit.so",
    "common-session": "session required pam_permit.so\nsession optional pam_systemd.so",
    "common-session-noninteractive": "session required pam_permit.so",
    "other": "auth required pam_deny.so",
}
# the only unit that is started: the script, its output on the second serial port, then the machine goes off
_UNIT = """\
[Unit]
Description=The script
DefaultDependencies=no
Requires=dbus.service
After=dbus.service
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
Environment=PATH=/opt/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH=/opt/python PYTHONDONTWRITEBYTECODE=1 HOME=/root
WorkingDirectory=/opt
ExecStart=/bin/bash -c 'bash /opt/script >/dev/{output} 2>&1; echo "exit $?" >/dev/{output}'
"""


def needed(series: str, report: Callable[[str], None], also: Sequence[str] = ()) -> Path:
    """The initramfs of the Debian suite that has a kernel series; it is made if it is not here.

    `also`: the suite's packages that it has beside systemd, D-Bus and Python. Raises MachineError.
    """
    home = _home(series)
    with locked(home):
        image = home / _image(also)
        if not image.exists():
            report(f"fetching Debian's {', '.join(['systemd', 'Python', *also])} for {series} (46 MB or more)")
            _fetch(series, home, also)
        return image


def fetch(series: str) -> Path:
    """Downloads and unpacks the packages (about 46 MB; the machine's mirror) and packs them as an initramfs.

    Raises MachineError where apt cannot get them.
    """
    home = _home(series)
    with locked(home):
        _fetch(series, home, ())
        return home / _image(())


def _image(also: Sequence[str]) -> str:
    """The image's name, another one for other packages or another configuration."""
    parts = [*_PACKAGES, *also, *_NOT_NEEDED, _PASSWD, _GROUP, *_PAM.values(), _UNIT]
    return f"root-{hashlib.sha256(repr(parts).encode()).hexdigest()[:12]}.cpio"


def _home(series: str) -> Path:
    return cache_directory() / "systemd" / series


def _fetch(series: str, home: Path, also: Sequence[str]) -> None:
    number, architecture = number_and_architecture(series)
    apt = Apt(home / "apt", SUITES[number], architecture)
    apt.update()
    packages = apt.download_with_dependencies([*_PACKAGES, *also])
    with tempfile.TemporaryDirectory(prefix="root-", dir=home) as directory:
        tree = Path(directory) / "tree"
        tree.mkdir()
        for package in _usrmerge_first(packages):
            # unlike dpkg -x, tar goes through the links of a merged /usr and needs no root
            command = 'dpkg-deb --fsys-tarfile "$0" | tar -x -C "$1" --no-same-owner --keep-directory-symlink'
            run(["bash", "-o", "pipefail", "-c", command, str(package), str(tree)], f"unpacking {package.name}")
        _configure(tree, ARCHITECTURES[architecture].output)
        pack(tree, home / _image(also))
    shutil.rmtree(home / "apt" / "cache")


def _usrmerge_first(packages: list[Path]) -> list[Path]:
    """base-files brings the links of a merged /usr (trixie and later), which the others are unpacked through."""
    return sorted(packages, key=lambda package: not package.name.startswith("base-files_"))


def _configure(tree: Path, output: str) -> None:
    for pattern in _NOT_NEEDED:
        for path in tree.glob(pattern):
            shutil.rmtree(path)
    etc = tree / "etc"
    (etc / "passwd").write_text(_PASSWD)
    (etc / "group").write_text(_GROUP)
    for name, lines in _PAM.items():
        (etc / "pam.d" / name).write_text(lines + "\n")
    (tree / "home" / "user").mkdir(parents=True)
    (etc / "machine-id").write_text("0" * 31 + "1\n")
    (etc / "systemd/system").mkdir(parents=True, exist_ok=True)
    (etc / "systemd/system/script.service").write_text(_UNIT.format(output=output))
    python = next(path.name for path in sorted((tree / "usr/bin").glob("python3.*")) if not path.is_symlink())
    for link, target in (("init", "/sbin/init"), ("var/run", "/run"), ("usr/bin/python3", python), ("bin/sh", "bash")):
        path = tree / link
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(target)
