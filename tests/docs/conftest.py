"""Pages whose sessions mount trees."""

from __future__ import annotations

from ..mount.conftest import no_daemon_failed, state_home  # noqa: F401
