"""What the kubelet's functions answered about resizes: ``data/resizes.jsonl.gz``."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parent / "data" / "resizes.jsonl.gz"


def recorded(group: str) -> list[dict[str, Any]]:
    """The rows of a group, ``allocation`` or ``refusal``."""
    with gzip.open(_FILE, "rt") as lines:
        return [row for row in map(json.loads, lines) if row["group"] == group]
