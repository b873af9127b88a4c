"""Fields of a KubeletConfiguration that a kubelet does not know, or that this engine does not act on."""

from __future__ import annotations

from cgroup_engine.errors import quoted
from cgroup_engine.inputs.config.fields import ConfigFields
from cgroup_engine.inputs.config.known_fields import FIELD_SINCE, NEEDS_STATE


def warn_of_fields(config: ConfigFields) -> None:
    for name in config.fields:
        since = FIELD_SINCE.get(name) if isinstance(name, str) else None
        if since is None:
            config.warnings.append(f"{config.where}: {quoted(name)}: is no field of KubeletConfiguration; ignored")
        elif not config.version.at_least(since):
            config.warnings.append(f"{config.where}: {name}: is not known before 1.{since}; ignored")
    for name, (policy, what) in NEEDS_STATE.items():
        if config.fields.get(name) == policy:
            config.warnings.append(f"{config.where}: {not_acted_on(name)}: {what}")


def not_acted_on(name: str) -> str:
    """The beginning of the warning about a policy whose state is not known."""
    option = "--cpu-manager-state" if name.startswith("cpu") else "--memory-manager-state"
    return f"{name}: is not acted on without {option}"
