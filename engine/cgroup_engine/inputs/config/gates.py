"""The feature gates of a KubeletConfiguration: those with which a kubelet does not start.

Sources: ``SetFromMap`` and ``Validate`` of ``k8s.io/component-base/featuregate``. A kubelet sets the gates before it
reads anything else, and refuses an unknown name and another value of a locked gate. Since 1.35 it also refuses a gate
that is on without the gates that it needs.
"""

from __future__ import annotations

from collections.abc import Mapping

from cgroup_engine.errors import quoted
from cgroup_engine.inputs.config.fields import ConfigFields
from cgroup_engine.model.known_gates import NEWEST_KNOWN, gate_states, needed_gates, releases_of
from cgroup_engine.model.kubelet_version import ALL_OF_A_STAGE, GATES, KubeletVersion


def check_gates(config: ConfigFields) -> None:
    """Refuses what the kubelet's release refuses.

    In a release after the table's last one an unknown name is only warned of. Without a setting the table is not read.

    :raises ConfigError: a gate is refused.
    """
    if not config.version.gates:
        return
    states = _states(config.version)
    for name, on in config.version.gates.items():
        where = f"featureGates.{name if name.isprintable() and 0 < len(name) <= 100 else quoted(name)}"
        state = states.get(name)
        if state is None:
            _refuse_unknown(config, name, where, states)
        elif state.endswith("!") and on != ("+" in state):
            config.refuse(where, f"cannot be {str(on).lower()} in kubelet {config.version}", "leave it out")
    if config.version.minor > NEWEST_KNOWN:
        return
    for name, needs in needed_gates(config.version.minor).items():
        off = [needed for needed in needs if not _is_on(needed, states, config.version.gates)]
        if off and _is_on(name, states, config.version.gates):
            config.refuse(
                f"featureGates.{name}",
                f"is on and needs {', '.join(off)}, which kubelet {config.version} has not on",
                f"set {name} to false",
            )


def _states(version: KubeletVersion) -> Mapping[str, str]:
    """Gate -> state in this release; after the table's last release the gates of ``GATES`` have their states there."""
    states = dict(gate_states(version.minor))
    if version.minor > NEWEST_KNOWN:
        for name in GATES:
            gate = version.gate(name)
            states.pop(name, None)
            if gate is not None and gate.stage != "removed":
                states[name] = f"{gate.stage}{'+' if gate.on else '-'}{'!' if gate.locked else ''}"
    return states


def _refuse_unknown(config: ConfigFields, name: str, where: str, states: Mapping[str, str]) -> None:
    version, releases = config.version, releases_of(name)
    if version.minor > NEWEST_KNOWN and name not in GATES:
        config.warnings.append(f"{config.where}: {where}: is not known of kubelet {version}, which may refuse it")
        return
    since, gone = releases or (None, None)
    if gone is not None and version.minor >= gone:
        what = f"does not have it any more (since 1.{gone})"
    elif since is not None or name in GATES:
        what = f"does not know it yet (it came with 1.{since})" if since else "does not have it"
    else:
        from difflib import get_close_matches

        close = get_close_matches(name.casefold(), {known.casefold(): known for known in states}, 1, 0.9)
        meant = [known for known in states if [known.casefold()] == close]
        what = "does not know it" + (f" ({meant[0]} is meant?)" if meant else "")
    config.refuse(where, f"a kubelet {version} {what}", "leave it out")


def is_on(version: KubeletVersion, name: str, *, or_since: int = 1000) -> bool:
    """Is a gate of the table on? A name that the release does not know is off, from 1.``or_since`` it is on."""
    return version.at_least(or_since) or _is_on(name, _states(version), version.gates)


def _is_on(name: str, states: Mapping[str, str], gates: Mapping[str, bool]) -> bool:
    """Is a gate on? Its own setting decides, else AllAlpha or AllBeta, else its default. A locked one stays."""
    state = states.get(name, "")
    if state.endswith("!"):
        return "+" in state
    if name in gates:
        return gates[name]
    for every, stage in ALL_OF_A_STAGE.items():
        if state.startswith(stage) and every in gates:
            return gates[every]
    return "+" in state
