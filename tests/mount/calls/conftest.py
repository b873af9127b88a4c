"""Programs that make trapped calls are run as those of `fakecgroup run` are."""

from __future__ import annotations

from ..run.conftest import Sandboxed, said, sandboxed

__all__ = ["Sandboxed", "said", "sandboxed"]
