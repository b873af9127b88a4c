"""rdma and misc, on a machine without such devices and resources."""

from __future__ import annotations

from collections.abc import Iterator

from ..case import Case
from .place import at, child
from .values import each_read_back, short_parser_cases


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
                yield Case(f"{controller}.{name} of the root", layout, (("read", path),
                    *each_read_back(path, ["", "1", "sev 5"])))
