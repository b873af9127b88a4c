"""What `fakecgroup` gives by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fakecgroup


def test_each_name_is_there() -> None:
    assert all(getattr(fakecgroup, name) is not None for name in fakecgroup.__all__)


def test_names_are_listed_before_anybody_asks() -> None:
    program = "import fakecgroup; print(set(fakecgroup.__all__) <= set(dir(fakecgroup)), 'Kernel' in vars(fakecgroup))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        fakecgroup.Nothing  # noqa: B018
