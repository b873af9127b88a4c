"""What a kubeconfig says beside server and credentials."""

from __future__ import annotations

from pathlib import Path


def namespace_of(kubeconfig: Path | None, context: str | None) -> str:
    """The namespace of a context, "default" if it names none. Without a file: of the pod that this runs in."""
    if kubeconfig is None:
        try:
            return Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace").read_text().strip() or "default"
        except OSError:
            return "default"
    from kubernetes import config

    contexts, current = config.list_kube_config_contexts(str(kubeconfig))
    chosen = next((each for each in contexts if each["name"] == context), current) if context else current
    return str(chosen.get("context", {}).get("namespace") or "default")
