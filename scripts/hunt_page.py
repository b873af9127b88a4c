"""The program behind scripts/hunt."""

from __future__ import annotations

import sys

from generated_page import main
from oracle_vm.hunt.page import page

if __name__ == "__main__":
    sys.exit(main("hunt", "docs/evidence/hunt.md", "findings and what kernels answered", page))
