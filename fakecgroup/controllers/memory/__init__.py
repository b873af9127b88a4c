"""The memory controller: one css, the files of the unified hierarchy (`dfl`) and those of v1 (`legacy`)."""

from ...core.css import Controller
from .css import Memory
from .dfl import DFL
from .legacy import LEGACY

MEMORY = Controller("memory", Memory, dfl=DFL, legacy=LEGACY, legacy_config="MEMCG_V1")
