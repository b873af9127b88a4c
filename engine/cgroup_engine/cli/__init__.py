"""The command line ``cgroup-engine``: one file per command, what they share beside them."""

from cgroup_engine.cli.program import main

__all__ = ["main"]
