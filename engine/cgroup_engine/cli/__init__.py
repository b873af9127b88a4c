"""The command line ``cgroup-engine``: one file per command, and the parts that they share."""

from cgroup_engine.cli.program import main

__all__ = ["main"]
