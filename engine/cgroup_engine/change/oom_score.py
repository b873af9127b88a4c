"""Sets oom_score_adj of processes that enter a container's cgroup, and of the node's kubelets."""

from __future__ import annotations

from errno import EINVAL
from pathlib import Path

from cgroup_engine.errors import StepFailedError, errno_name
from cgroup_engine.kubelet.node import NodeConfig
from cgroup_engine.tree.proc import Proc

_PROC = Path("/proc")


def set_oom_score_adj(pid: int, score: int, proc: Path = _PROC) -> str:
    """Sets how readily the kernel kills a process when memory is short, -1000 to 1000.

    Lowering it takes CAP_SYS_RESOURCE. Returns "", or a line that says why it stays as it is.
    """
    file = proc / str(pid) / "oom_score_adj"
    try:
        if int(file.read_text(encoding="utf-8")) != score:
            file.write_text(str(score), encoding="utf-8")
    except (OSError, ValueError) as refused:
        number = refused.errno or 0 if isinstance(refused, OSError) else EINVAL
        return f"{file}: {score} was refused: {errno_name(number)}; lowering it takes CAP_SYS_RESOURCE"
    return ""


def set_kubelets_oom_score_adj(node: NodeConfig, proc: Proc | None = None) -> None:
    """Gives each kubelet of this machine its oom_score_adj, if kubeletCgroups is set.

    Source: ensureProcessInContainerWithOOMScore of ``pkg/kubelet/cm/container_manager_linux.go``.

    :raises StepFailedError: the kernel refuses.
    """
    processes = proc or Proc()
    for pid in processes.kubelets() if node.kubelet_cgroups else ():
        path, score = processes.directory / str(pid) / "oom_score_adj", node.kubelet_oom_score_adj
        try:
            path.write_text(f"{score}\n", encoding="ascii")
        except OSError as refused:
            raise StepFailedError(
                f'{path}: write "{score}" failed: {errno_name(refused.errno or 0)}',
                path=str(path),
                value=str(score),
                errno=refused.errno,
                todo="run as root",
            ) from None
