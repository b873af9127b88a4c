"""Names in a KubeletConfiguration that a kubelet does not know, or that this engine does not act on."""

from __future__ import annotations

from difflib import get_close_matches

from cgroup_engine.errors import quoted
from cgroup_engine.inputs.config.fields import ConfigFields
from cgroup_engine.inputs.config.known_fields import FIELD_SINCE, NOT_ACTED_ON
from cgroup_engine.model.kubelet_version import ALL_OF_A_STAGE, GATES


def check_gates(config: ConfigFields) -> None:
    """Refuses a gate as a kubelet does: an unknown one, or a locked one with another value.

    Only the gates that cgroups depend on are known here. Other names are accepted; one that resembles a known gate
    gets a warning.
    """
    for name, on in config.version.gates.items():
        where = f"featureGates.{name}" if name.isprintable() and len(name) <= 100 else "featureGates"
        if name not in GATES and name not in ALL_OF_A_STAGE:
            close = get_close_matches(name.casefold(), {known.casefold(): known for known in GATES}, 1, 0.9)
            meant = [known for known in GATES if [known.casefold()] == close]
            if meant:
                config.warnings.append(f"{config.where}: {where}: is no feature gate; is {meant[0]} meant?")
        if name not in GATES:
            continue
        gate = config.version.gate(name)
        if gate is None or gate.stage == "removed":
            state = "not know it yet" if gate is None else "not have it any more"
            raise config.error(where, f"a kubelet {config.version} does {state} and does not start", "leave it out")
        if gate.locked and on != gate.on:
            raise config.error(where, f"cannot be {str(on).lower()} in kubelet {config.version}", "leave it out")


def warn_of_fields(config: ConfigFields) -> None:
    for name in config.fields:
        since = FIELD_SINCE.get(name) if isinstance(name, str) else None
        if since is None:
            config.warnings.append(f"{config.where}: {quoted(name)}: is no field of KubeletConfiguration; ignored")
        elif not config.version.at_least(since):
            config.warnings.append(f"{config.where}: {name}: is not known before 1.{since}; ignored")
    for name, (inert, what) in NOT_ACTED_ON.items():
        value = config.fields.get(name)
        if value not in (None, *inert):
            config.warnings.append(f"{config.where}: {name}: is not acted on yet: {what}")
