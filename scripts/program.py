"""Runs a package that stands beside this file: program.py PACKAGE ARGUMENTS.

`python -m` would look in the working directory first, where a package of the same name may be.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    repository = Path(__file__).resolve().parents[1]
    sys.path[1:1] = [str(repository), str(repository / "mount")]  # in another release's root nothing is installed
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
