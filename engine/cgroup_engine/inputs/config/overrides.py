"""Fields of a configuration that the command line replaces: KEY=VALUE."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cgroup_engine.errors import ConfigError, quoted


def with_overrides(fields: Mapping[str, Any], overrides: Iterable[str]) -> Mapping[str, Any]:
    """A copy of the fields with some replaced, such as ``podPidsLimit=100`` or ``featureGates.MemoryQoS=true``.

    The value is YAML. ``KEY=`` leaves the field out.

    :raises ConfigError: no KEY=VALUE, or the field above the last one is no mapping.
    """
    changed = dict(fields)
    for text in overrides:
        key, equals, value = text.partition("=")
        names = key.split(".")
        if not equals or not all(names):
            raise ConfigError(f"{quoted(text)} is neither a file nor KEY=VALUE", value=text)
        at = changed
        for name in names[:-1]:
            inner = at.get(name) or {}
            if not isinstance(inner, dict):
                raise ConfigError(f"{quoted(text)}: {name} is no mapping", value=text)
            at[name] = dict(inner)
            at = at[name]
        if value == "":
            at.pop(names[-1], None)
            continue
        import yaml  # it takes long to import

        try:
            at[names[-1]] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ConfigError(f"{quoted(text)}: the value is no YAML", value=text) from None
    return changed
