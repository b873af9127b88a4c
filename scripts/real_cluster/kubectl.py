"""kubectl, as the administrator, for what its answer is read of."""

from __future__ import annotations

import os
import subprocess

from . import build
from .errors import ClusterError
from .state import State


def ask(state: State, *words: str) -> str:
    """What it prints. Raises ClusterError with the last line of its complaint."""
    command = [str(build.directory() / "kubectl"), *words]
    environment = {**os.environ, "KUBECONFIG": str(state.kubeconfig)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"kubectl {' '.join(words[:2])}: {(done.stderr.strip().splitlines() or [''])[-1]}")
    return done.stdout
