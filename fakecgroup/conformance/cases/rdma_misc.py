"""rdma and misc, on a machine without such devices and resources."""

from __future__ import annotations

from collections.abc import Iterator

from fakecgroup.conformance.case import Case
from fakecgroup.conformance.cases.place import at, child
from fakecgroup.conformance.cases.values import each_read_back, short_parser_cases


def cases() -> Iterator[Case]:
    for layout in ("v2", "v1"):
        for controller, names in (("rdma", ("max", "current", "peak", "events", "events.local")),
                                  ("misc", ("max", "current", "events", "events.local", "peak",
                                  "capacity"))):  # fmt: skip
            for name in names:
                yield from short_parser_cases(layout, at(layout, controller, f"a/{controller}.{name}"),
                    child(layout, controller), [
                    "mlx4_0 hca_handle=2 hca_object=2000", "mlx4_0 hca_handle=max", "sev 5", "sev max", "res_a 5",
                    " "])  # fmt: skip
            for name in names:
                path = at(layout, controller, f"{controller}.{name}")
                yield Case(
                    f"{controller}.{name} of the root",
                    layout,
                    (("read", path), *each_read_back(path, ["", "1", "sev 5"])),
                )
        values = ["x", "x y", "x =1", "x junk=1", "x hca_handle", "x Hca_handle=1"]
        values += [
            f"x hca_handle={limit}"
            for limit in (
                "",
                "m",
                "max",
                "maxx",
                "MAX",
                "5x",
                "0x10",
                "0x",
                "08",
                "-1",
                "-0",
                "+1",
                "-",
                "--1",
                " 1",
                "1=2",
                "1.5",
                "2147483647",
                "2147483648",
                "18446744073709551616",
                "-18446744073709551615",
                "0" * 22 + "1",
                "0" * 23 + "1",
                "1 hca_object=2",
                "1  hca_object=2",
                "1\thca_object=2",
                "1\nhca_object=2",
                "1\nhca_object=q",
                "1 junk=1",
            )
        ]
        values += ["x  hca_handle=1", "x\thca_handle=q"]  # fmt: skip
        path = at(layout, "rdma", "a/rdma.max")
        yield Case("rdma.max looks at the limits first", layout, (
            *child(layout, "rdma"), *(("write", path, value) for value in values)))  # fmt: skip
