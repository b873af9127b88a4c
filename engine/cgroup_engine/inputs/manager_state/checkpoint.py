"""A checkpoint file of the kubelet: JSON with a checksum (``pkg/kubelet/checkpointmanager``).

The checksum is the 32-bit FNV-1a hash of the Go value as spew prints it (``k8s.io/utils/dump``, ForHash; before 1.29
DeepHashObject, with the same text). A file with other shapes than a kubelet writes is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cgroup_engine.errors import ConfigError, quoted
from cgroup_engine.inputs.standard_input import open_input

MAX_BYTES = 16 << 20  # a node of 1000 pods has less than 1 MiB
_FNV_BASIS, _FNV_PRIME = 0x811C9DC5, 0x01000193
_UINT64 = 1 << 64


class Checkpoint:
    """The content of a checkpoint file; its methods raise ConfigError where a field has another shape."""

    def __init__(self, path: Path) -> None:
        """Reads a file, or standard input for ``-``.

        :raises ConfigError: it cannot be read, is too large, or is no JSON object.
        """
        self.where = str(path)
        try:
            with open_input(path) as file:
                raw = bytearray()
                while len(raw) <= MAX_BYTES and (chunk := file.read(MAX_BYTES + 1 - len(raw))):
                    raw += chunk
        except OSError as failed:
            raise self._error(f"cannot be read: {failed.strerror}") from None
        if len(raw) > MAX_BYTES:
            raise self._error(f"larger than {MAX_BYTES >> 20} MiB")
        try:
            self.fields = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique)
        except (ValueError, RecursionError):
            raise self._error("is no JSON as a kubelet writes it") from None
        if not isinstance(self.fields, dict):
            raise self._error("is no JSON object")

    def _error(self, message: str, todo: str = "give the file that the kubelet wrote") -> ConfigError:
        return ConfigError(f"{self.where}: {message}", path=self.where, todo=todo)

    def refused(self, message: str) -> ConfigError:
        """The error for content with which a kubelet does not start."""
        return self._error(
            f"{message}, so a kubelet does not start with it",
            "drain the node, remove the file and start the kubelet, or give the file of this node",
        )

    def text(self, name: str) -> str:
        value = self.fields.get(name, "")
        if not isinstance(value, str):
            raise self._error(f"{name}: {quoted(value)} is not a text")
        return value

    def number(self, value: Any, spot: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _UINT64:
            raise self._error(f"{spot}: {quoted(value)} is not a whole number")
        return value

    def mapping(self, value: Any, spot: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self._error(f"{spot}: is not a mapping")
        return value

    def list(self, value: Any, spot: str) -> list[Any]:
        if not isinstance(value, list):
            raise self._error(f"{spot}: is not a list")
        return value

    def of_text(self, value: Any, spot: str) -> str:
        if not isinstance(value, str):
            raise self._error(f"{spot}: {quoted(value)} is not a text")
        return value

    def matches(self, texts: Sequence[str]) -> bool:
        """Is the checksum that of one of the texts?"""
        return self.number(self.fields.get("checksum", 0), "checksum") in map(fnv1a_32, texts)

    def verify(self, texts: Sequence[str], *, zero: bool) -> None:
        """Returns if the checksum ``matches``; ``zero``: a missing one is accepted.

        :raises ConfigError: it does not.
        """
        stated = self.number(self.fields.get("checksum", 0), "checksum")
        if not (zero and stated == 0) and not self.matches(texts):
            gives = fnv1a_32(texts[0])
            raise self.refused(f"is corrupt: its checksum is {stated}, and its content gives {gives}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; one with a key twice, or with half a surrogate pair, is an error."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    for key, value in pairs:
        key.encode()
        if isinstance(value, str):
            value.encode()
    return found


def fnv1a_32(text: str) -> int:
    number = _FNV_BASIS
    for byte in text.encode():
        number = (number ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return number


def printed_map(entries: Mapping[Any, str]) -> str:
    """A map of printed values as spew prints it: ``map[a:1 b:2]``, sorted by key."""
    return f"map[{' '.join(f'{key}:{entries[key]}' for key in sorted(entries))}]"


def printed_struct(fields: Mapping[str, str]) -> str:
    """A struct of printed fields as spew prints it: ``{A:(int)1 B:(string)x}``."""
    return f"{{{' '.join(f'{name}:{value}' for name, value in fields.items())}}}"
