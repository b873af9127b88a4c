"""The error for a part of a manifest whose place in the kubelet's hash is not known."""

from __future__ import annotations


class NotCoveredError(Exception):
    """A field or value cannot be printed as the kubelet prints it: ``spot`` in the manifest, and ``why``."""

    def __init__(self, spot: str, why: str) -> None:
        self.spot = spot
        self.why = why
        super().__init__(f"{spot}: {why}")
