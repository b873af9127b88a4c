"""Extended attributes of directories and files."""

from __future__ import annotations

from collections.abc import Iterator

from fakecgroup.conformance.case import Case


def cases() -> Iterator[Case]:
    for layout, p in (("v2", ""), ("v1", "pids/"), ("v1", "systemd/")):
        where = f" ({p.rstrip('/')})" if p else ""
        a, f = f"{p}a", f"{p}a/cgroup.procs"
        make = (("mkdir", a),)
        yield Case(f"attributes are kept{where}", layout, (*make, *(
            op for path in (a, f, p or ".") for op in (
                ("listxattr", path), ("getxattr", path, "user.x"), ("setxattr", path, "user.x", "1"),
                ("getxattr", path, "user.x"),
                ("getxattr", path, "user.x", 0), ("setxattr", path, "user.x", "longer", "CREATE"),
                ("setxattr", path, "user.x", "longer", "REPLACE"),
                ("getxattr", path, "user.x", 3), ("getxattr", path, "user.x", 6),
                ("setxattr", path, "user.y", "2", "REPLACE"),
                ("setxattr", path, "user.y", "", "CREATE"), ("getxattr", path, "user.y"),
                ("setxattr", path, "trusted.z", "t"),
                ("setxattr", path, "security.s", "s"), ("listxattr", path), ("removexattr", path, "user.x"),
                ("removexattr", path, "user.x"),
                ("getxattr", path, "user.x"), ("listxattr", path)))))  # fmt: skip
        names = ["user.", "user", "foo", "foo.bar", "", "trusted.", "security.", "system.x",
            "system.posix_acl_access", "security.capability",
                 "security.selinux", "user.a b", "user.\u00e9", "user." + "n" * 250, "user." + "n" * 251, "USER.x",
                 "trusted.overlay.opaque"]  # fmt: skip
        yield Case(f"names of attributes{where}", layout, (*make, *(
            op for name in names for op in (("setxattr", a, name, "v"), ("getxattr", a, name),
            ("removexattr", a, name)))))  # fmt: skip
        yield Case(f"sizes of attributes{where}", layout, (*make, *(
            op for size in (0, 1, 4096, 65535, 65536, 65537) for op in
            (("setxattr", a, "user.v", {"repeat": ["v", size]}), ("getxattr", a, "user.v", 0)))))  # fmt: skip
        yield Case(f"how many attributes{where}", layout, (*make, *(
            ("setxattr", a, f"user.n{i}", "v") for i in range(130)), ("setxattr", a, "trusted.more", "v"),
            ("removexattr", a, "user.n5"),
            ("setxattr", a, "user.again", "v"), ("setxattr", a, "user.toomany", "v"), ("setxattr", a, "user.n6", "w"),
            ("setxattr", f, "user.x", "v")))  # fmt: skip
        yield Case(f"how much in attributes{where}", layout, (*make, *(
            ("setxattr", a, f"user.n{i}", {"repeat": ["v", 60000]}) for i in range(3)),
            ("setxattr", a, "user.n4", {"repeat": ["v", 11072]}),
            ("setxattr", a, "user.n5", "v"), ("setxattr", a, "user.n0", ""), ("setxattr", a, "user.n2",
            {"repeat": ["v", 60000]}),
            ("setxattr", a, "trusted.t", {"repeat": ["v", 60000]})))  # fmt: skip
        yield Case(f"order of attributes{where}", layout, (*make, *(
            ("setxattr", a, f"user.{n}", "v") for n in ("b", "a", "c", "zz", "aa", "m")), ("listxattr", a),
            ("setxattr", a, "user.a", "again"),
            ("listxattr", a)))  # fmt: skip
        yield Case(f"attributes go with the directory{where}", layout, (
            *make, ("setxattr", a, "user.x", "1"), ("rmdir", a), ("mkdir", a), ("getxattr", a, "user.x"),
            ("mkdir", f"{a}/b"),
            ("setxattr", a, "user.x", "1"), ("listxattr", f"{a}/b"), ("rename", a, f"{p}r"),
            ("getxattr", f"{p}r", "user.x")))  # fmt: skip
        yield Case(f"attributes and users{where}", layout, (
            *make, ("mkdir", f"{p}o"), ("chown", f"{p}o", 1000, 1000), ("setxattr", a, "user.x", "1"),
            ("setxattr", a, "trusted.x", "1"),
            ("setxattr", f"{p}o", "trusted.x", "1"), ("as", 1000, 1000), ("getxattr", a, "user.x"),
            ("getxattr", a, "trusted.x"), ("listxattr", a),
            ("setxattr", a, "user.y", "1"), ("removexattr", a, "user.x"), ("setxattr", f"{p}o", "user.y", "1"),
            ("getxattr", f"{p}o", "user.y"),
            ("setxattr", f"{p}o", "trusted.y", "1"), ("setxattr", f"{p}o", "security.y", "1"), ("listxattr", f"{p}o"),
            ("removexattr", f"{p}o", "trusted.x"), ("removexattr", f"{p}o", "user.y"),
            ("setxattr", f"{p}o/cgroup.procs", "user.y", "1"),
            ("getxattr", f"{p}no", "user.x"), ("setxattr", f"{p}no", "user.x", "1"),
            ("listxattr", f"{p}no")))  # fmt: skip
        odd = ("user.", "foo", "trusted.", "security.", "security.x", "security.capability", "system.x",
               "system.posix_acl_access")  # fmt: skip
        yield Case(f"permission comes before an attribute's name{where}", layout, (
            *make, ("mkdir", f"{p}own"), ("chown", f"{p}own", 1000, 1000), ("mkdir", f"{p}sticky"),
            ("chmod", f"{p}sticky", "1777"), ("mkdir", f"{p}hidden"), ("setxattr", f"{p}hidden", "user.x", "v"),
            ("chmod", f"{p}hidden", "0222"), ("as", 1000, 1000),
            *(op for place in ("a", "own", "sticky", "hidden") for name in ("user.x", *odd) for op in (
                ("setxattr", p + place, name, "v"), ("getxattr", p + place, name), ("removexattr", p + place, name))),
            ("as", 0, 0)))  # fmt: skip
        lists = ["", "v", "vvv", "vvvv", "v" * 12, {"b64": "AgAAAA=="}, {"b64": "AgAAAAA="}, {"b64": "AwAAAAA="},
                 {"b64": "AgAAAAEABwD/////"}, {"b64": "AgAAAAMABwD/////"}, {"b64": "AgAAAAIABwD/////"},
                 {"b64": "AgAAAAIABwDoAwAA"}, {"b64": "AgAAAAgABwD/////"},
                 {"b64": "AgAAAAEABwD/////BAAFAP////8gAAUA/////w=="}]  # fmt: skip
        yield Case(f"access lists{where}", layout, (*make, *(
            op for name in ("access", "default", "x") for value in lists for op in (
                ("setxattr", a, f"system.posix_acl_{name}", value), ("as", 1000, 1000),
                ("setxattr", a, f"system.posix_acl_{name}", value, "REPLACE"), ("as", 0, 0)))))  # fmt: skip
        yield Case(f"empty attributes{where}", layout, (*make, *(
            op for user in (0, 1000) for name in odd for op in (
                ("as", user, user), ("setxattr", a, name, ""), ("getxattr", a, name), ("listxattr", a),
                ("removexattr", a, name), ("as", 0, 0)))))  # fmt: skip
