"""The memory controller: one css, the files of the unified hierarchy (`dfl`) and those of v1 (`legacy`)."""

from ...core.cftype import CFType
from ...core.css import Controller
from .css import Memory


def _dfl() -> tuple[CFType, ...]:
    from .dfl import DFL

    return DFL


def _legacy() -> tuple[CFType, ...]:
    from .legacy import LEGACY

    return LEGACY


MEMORY = Controller("memory", Memory, dfl=_dfl, legacy=_legacy, legacy_config="MEMCG_V1")
