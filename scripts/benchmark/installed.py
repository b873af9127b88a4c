"""A Python that finds this checkout's packages as it finds installed ones: by a directory in its path.

An editable installation finds them by a module of setuptools. That loads pathlib and more with each start of Python,
which takes ten milliseconds, and no user has it.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

_REPOSITORY = Path(__file__).parents[2]


def installed(directory: Path) -> str:
    """Makes an environment in a directory that is missing. Returns its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    packages = sysconfig.get_path("purelib", "venv", {"base": str(directory), "platbase": str(directory)})
    (Path(packages) / "fakecgroup.pth").write_text(f"{_REPOSITORY}\n{_REPOSITORY / 'mount'}\n")
    return str(directory / "bin" / "python")
