"""The program behind scripts/parity."""

from __future__ import annotations

import sys

from fakecgroup.conformance.parity import page
from generated_page import main

if __name__ == "__main__":
    sys.exit(main("parity", "docs/evidence/parity.md", "the recordings", page))
