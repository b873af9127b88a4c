"""The default imagePullPolicy of an image."""

from __future__ import annotations

import re

_DOMAIN = r"(?:(?:localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)+|[a-z0-9-]+(?=:[0-9]))(?::[0-9]+)?/)?"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_NAME = re.compile(
    rf"{_DOMAIN}{_PART}(?:/{_PART})*(?::(?P<tag>\w[\w.-]{{0,127}}))?(?P<digest>@sha256:[0-9a-f]{{64}})?", re.ASCII
)
_MAX_NAME = 200
_IDENTIFIER = re.compile(r"[a-f0-9]{64}", re.ASCII)


def pull_policy(image: str) -> str | None:
    """``Always`` for the tag latest, or a name with neither tag nor digest; else ``IfNotPresent``.

    None for unusual names: a kubelet's parser fails on some of them, and the result is unknown here.
    Source: SetDefaults_Container, ParseImageName (``pkg/util/parsers``).
    """
    if image == "":
        return "IfNotPresent"
    match = _NAME.fullmatch(image) if len(image) <= _MAX_NAME and not _IDENTIFIER.fullmatch(image) else None
    if match is None:
        return None
    latest = match["tag"] == "latest" or (match["tag"] is None and match["digest"] is None)
    return "Always" if latest else "IfNotPresent"
