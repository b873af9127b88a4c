"""The program behind scripts/parity."""

from __future__ import annotations

import sys

from generated_page import main
from fakecgroup.conformance.parity import page

if __name__ == "__main__":
    sys.exit(main("parity", "docs/evidence/parity.md", "the recordings", page))
