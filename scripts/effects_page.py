"""The program behind scripts/effects."""

from __future__ import annotations

import sys

from generated_page import main
from oracle_vm.effects.page import page

if __name__ == "__main__":
    sys.exit(main("effects", "docs/evidence/effects.md", "what kernels did in scenarios", page))
