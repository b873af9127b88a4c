"""What can go wrong."""

from __future__ import annotations


class ClusterError(Exception):
    """One line for the user."""
