"""Numbers and words of a KubeletConfiguration that a kubelet refuses, of fields that no cgroup depends on.

Source: ValidateKubeletConfiguration of ``pkg/kubelet/apis/config/validation/validation.go``, 1.25 to 1.36. A field that
is 0 or "" has its default, as far as ``.../v1beta1/defaults.go`` gives it one.
"""

from __future__ import annotations

from cgroup_engine.errors import quoted
from cgroup_engine.inputs.config.fields import ConfigFields
from cgroup_engine.inputs.config.known_fields import FIELD_SINCE

_LARGEST = (1 << 31) - 1
_PORT = 65535

# field -> least and largest number
_WITHIN: dict[str, tuple[int, int]] = {
    "containerLogMaxWorkers": (1, _LARGEST),
    "eventBurst": (0, _LARGEST),
    "eventRecordQPS": (0, _LARGEST),
    "healthzPort": (0, _PORT),
    "imageGCHighThresholdPercent": (0, 100),
    "imageGCLowThresholdPercent": (0, 100),
    "iptablesDropBit": (0, 31),
    "iptablesMasqueradeBit": (0, 31),
    "kubeAPIBurst": (0, _LARGEST),
    "kubeAPIQPS": (0, _LARGEST),
    "maxOpenFiles": (0, (1 << 63) - 1),
    "maxParallelImagePulls": (1, _LARGEST),
    "maxPods": (0, _LARGEST),
    "nodeLeaseDurationSeconds": (0, _LARGEST),
    "nodeStatusMaxImages": (-1, _LARGEST),
    "podsPerCore": (0, _LARGEST),
    "port": (0, _PORT),
    "readOnlyPort": (0, _PORT),
    "registryBurst": (0, _LARGEST),
    "registryPullQPS": (0, _LARGEST),
}
_ONE_OF: dict[str, tuple[str, ...]] = {
    "hairpinMode": ("promiscuous-bridge", "hairpin-veth", "none"),
    "topologyManagerPolicy": ("none", "best-effort", "restricted", "single-numa-node"),
    "topologyManagerScope": ("container", "pod"),
}


def check_ranges(config: ConfigFields) -> None:
    """Refuses numbers and words outside of what the release takes.

    :raises ConfigError: one is outside, or no number.
    """
    for name, (least, largest) in _WITHIN.items():
        value = config.fields.get(name)
        if value is None or not config.version.at_least(FIELD_SINCE[name]):
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= largest:
            config.refuse(name, f"{quoted(value)} is not a whole number from {least} to {largest}", "correct it")
    for name, words in _ONE_OF.items():
        word = config.text(name, "")
        if word not in ("", *words):
            config.refuse(name, f"{quoted(word)} is not known", f"use {', '.join(words)}", word)
    _check_image_gc(config)
    files = config.fields.get("containerLogMaxFiles")
    if config.version.at_least(33) and isinstance(files, int) and files < 2:
        config.refuse("containerLogMaxFiles", f"{quoted(files)} is not 2 or more", "correct it")
    if config.version.at_least(32) and config.flag("runOnce", False):
        config.refuse("runOnce", f"is refused by kubelet {config.version}", "leave it out")
    pulls = config.fields.get("maxParallelImagePulls")
    if (
        config.version.at_least(27)
        and isinstance(pulls, int)
        and pulls > 1
        and config.flag("serializeImagePulls", False)
    ):
        config.refuse("maxParallelImagePulls", "is more than 1, and serializeImagePulls is true", "use one of them")


def max_pods(config: ConfigFields, cpus: int) -> int:
    """The pods that a kubelet admits: maxPods (0 is the default, 110), or podsPerCore times the CPUs if that is less.

    Source: MachineInfo of ``pkg/kubelet/nodestatus/setters.go``.
    """
    pods, per_core = (_above_zero(config.fields.get(name)) for name in ("maxPods", "podsPerCore"))
    most = pods or 110
    return min(most, per_core * cpus) if per_core else most


def _above_zero(value: object) -> int:
    """A number above zero, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _check_image_gc(config: ConfigFields) -> None:
    high, low = (
        config.fields.get(name, default) if config.fields.get(name) is not None else default
        for name, default in (("imageGCHighThresholdPercent", 85), ("imageGCLowThresholdPercent", 80))
    )
    if isinstance(high, int) and isinstance(low, int) and low >= high:
        config.refuse(
            "imageGCLowThresholdPercent", f"{low} is not below imageGCHighThresholdPercent, {high}", "correct it"
        )
