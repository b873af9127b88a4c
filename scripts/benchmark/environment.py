"""The environment of programs that are measured."""

from __future__ import annotations

import os


def environment() -> dict[str, str]:
    """Ours, but modules are compiled once, as where they are installed."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
