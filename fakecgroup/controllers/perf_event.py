"""The perf_event controller: it groups tasks for perf and has no files of its own."""

from __future__ import annotations

from ..core.css import Controller, Css

PERF_EVENT = Controller("perf_event", Css, config="CGROUP_PERF")
