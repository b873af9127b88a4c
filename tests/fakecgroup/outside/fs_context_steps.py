"""What Linux 6.18 refuses of steps with a file system context."""

from __future__ import annotations

STEPS = [
    ("v2", "mount:0", ["mount:0 EINVAL"]),
    ("v2", "nsdelegate=1 bogus bogus=x", ["nsdelegate=1 EINVAL", "bogus EINVAL", "bogus=x EINVAL"]),
    ("v2", "source source=x source=y ro=1", ["source EINVAL", "source=y EINVAL"]),
    ("v2", "unknown reconfigure", ["unknown ENOTSUP", "reconfigure EBUSY"]),
    ("v2", "create create nsdelegate exclusive", ["create EBUSY", "nsdelegate EBUSY", "exclusive EBUSY"]),
    (
        "v2",
        "exclusive create nsdelegate mount:0",
        ["exclusive EBUSY", "create EBUSY", "nsdelegate EBUSY", "mount:0 EINVAL"],
    ),
    (
        "v2",
        "create mount:0x30 mount:0x40 mount:0x100000 mount:0x40000000",
        ["mount:0x30 EINVAL", "mount:0x40 EINVAL", "mount:0x100000 EINVAL", "mount:0x40000000 EINVAL"],
    ),
    (
        "v2",
        "create mount:0 mount:0 create nsdelegate reconfigure nsdelegate",
        ["mount:0 EBUSY", "create EBUSY", "reconfigure EPERM", "nsdelegate EBUSY"],
    ),
    ("v1", "memory=x nofavordynmods nosuch none=x", ["nosuch EINVAL", "none=x EINVAL"]),
    (
        "v1",
        "name name= name=a/b name=one name=one",
        ["name EINVAL", "name= EINVAL", "name=a/b EINVAL", "name=one EINVAL"],
    ),
]
"""Layout, the steps one after the other, and those that are refused, with their errno."""
