"""A kubeconfig in one file, with the certificates in it."""

from __future__ import annotations

import base64
import json
from pathlib import Path


def write(file: Path, server: str, authority: Path, certificate: Path, key: Path) -> None:
    """`server` such as https://198.51.100.1. Only the owner may read the file."""
    cluster = {"server": server, "certificate-authority-data": _text(authority)}
    user = {"client-certificate-data": _text(certificate), "client-key-data": _text(key)}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "user"}}],
        "current-context": "cluster",
    }
    file.touch(mode=0o600)
    file.write_text(json.dumps(content, indent=1) + "\n")


def _text(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
