"""The UID of a static pod whose manifest gives none (applyDefaults, ``pkg/kubelet/config/common.go``)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from cgroup_engine.errors import quoted
from cgroup_engine.inputs.static_pods.amounts import with_amounts
from cgroup_engine.inputs.static_pods.dump import dumped
from cgroup_engine.inputs.static_pods.not_covered import NotCoveredError
from cgroup_engine.inputs.static_pods.type_table import NEWEST_TYPES
from cgroup_engine.model.kubelet_version import KubeletVersion
from cgroup_engine.model.pod import Pod

_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9_]+(?:\.[0-9_]*)?)[eE][-+]?[0-9]+|0o[0-7_]+", re.ASCII)
_FNV_PRIME = (1 << 88) + 0x13B
_FNV_BASIS = 0x6C62272E07BB014262B821756295C58D


def static_uid(item: Mapping[str, Any], pod: Pod, version: KubeletVersion, node_name: str, path: str) -> str:
    """The hash of the decoded pod, the node's name and the manifest's path on the node, as 32 hex digits.

    ``item``: the manifest. ``pod``: the same read, with defaults. MD5 until 1.34, FNV-1a of 128 bits since 1.35.

    :raises NotCoveredError: the place of a part of the manifest in the hash is not known.
    """
    _check(item, version)
    if not path.endswith(".json"):
        _check_numbers(item, "", set())
    manifest = with_amounts(item, pod, version)
    try:
        text = f"{dumped(manifest, version)}host:{node_name}file:{path}".encode()
    except UnicodeEncodeError:
        raise NotCoveredError("", "has a text that is not Unicode") from None
    if version.at_least(35):
        return f"{_fnv1a_128(text):032x}"
    return hashlib.md5(text, usedforsecurity=False).hexdigest()


def _check(item: Mapping[str, Any], version: KubeletVersion) -> None:
    """Refuses fields that decoding treats by rules that this engine does not follow, and releases of unknown types."""
    if version.at_least(NEWEST_TYPES + 1):
        raise NotCoveredError("the manifest", f"is for kubelet {version}, whose types are not known")
    if item.get("status"):
        raise NotCoveredError("status", "is given")
    spec = item["spec"]
    period = spec.get("terminationGracePeriodSeconds")
    if isinstance(period, int) and period < 0:
        raise NotCoveredError("spec.terminationGracePeriodSeconds", "is below zero")
    for n, volume in enumerate(spec.get("volumes") or ()):
        image = volume.get("image") if isinstance(volume, dict) else None
        if version.at_least(31) and isinstance(image, dict) and not image.get("pullPolicy"):
            raise NotCoveredError(f"spec.volumes[{n}].image.pullPolicy", "is missing")


def _check_numbers(item: Any, spot: str, seen: set[int]) -> None:
    """Refuses texts that the kubelet's YAML reader reads as numbers without quotes, and ours does not."""
    if isinstance(item, str) and _NUMBER.fullmatch(item):
        raise NotCoveredError(spot, f"{quoted(item)} is a number or a text to the kubelet, depending on quotes")
    if isinstance(item, (dict, list)) and id(item) not in seen:
        seen.add(id(item))  # YAML's aliases can repeat one object exponentially often
        for key, value in item.items() if isinstance(item, dict) else enumerate(item):
            _check_numbers(value, f"{spot}.{key}" if spot else str(key), seen)


def _fnv1a_128(data: bytes) -> int:
    number = _FNV_BASIS
    for byte in data:
        number = (number ^ byte) * _FNV_PRIME & (1 << 128) - 1
    return number
