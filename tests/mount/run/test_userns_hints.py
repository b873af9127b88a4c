"""The hint names the sysctl that forbids user namespaces. The sysctls are files of the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakecgroup_mount.run import userns_hints


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("apparmor_restrict_unprivileged_userns", "1", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
        ("apparmor_restrict_unprivileged_userns", "0", "else"),
        ("unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("unprivileged_userns_clone", "1", "else"),
        ("something", "1", "else"),
    ],
)
def test_the_sysctl_that_forbids_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, advice: str
) -> None:
    monkeypatch.setattr(userns_hints, "SYSCTLS", tmp_path)
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / name).write_text(f"{value}\n")
    assert userns_hints.hint("else").endswith(advice)
