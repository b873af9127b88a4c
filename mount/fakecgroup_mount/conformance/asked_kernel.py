"""A kernel that was asked the cases, and where its configuration is found."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakecgroup.conformance.recording import Recording
from fakecgroup.conformance.seen_files import observed_options

_MOST = 4 << 20  # bytes of a configuration; Debian's has 300 KB


@dataclass(frozen=True)
class AskedKernel:
    """`release` as uname -r has it, the build `options` that were found, the `machine` that was asked, and a recording
    per layout."""

    release: str
    options: frozenset[str]
    machine: Mapping[str, Any]
    recordings: Sequence[Recording]


def options_of(files: Iterable[Path]) -> frozenset[str]:
    """The build options in the first of these files that can be read, plain or with gzip; none, if none can."""
    for file in files:
        try:
            with open(file, "rb") as opened:
                data = opened.read(_MOST)
            text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        except (OSError, EOFError, zlib.error):
            continue
        return observed_options(text.decode("utf-8", "replace"))
    return frozenset()
