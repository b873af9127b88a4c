"""ptrace(2): a process that is held for a limit goes on before another traces it. `host.traced_holds` traces it too."""

from __future__ import annotations

from collections.abc import Callable

from fakecgroup_mount.calls.ptrace_requests import TRACEME
from fakecgroup_mount.host.pid_namespaces import pid_namespace_of
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call
from fakecgroup_mount.seccomp.process import signed, thread_group


class PtraceCall:
    """`let_go` lets a process go on, and does not hold it again at once."""

    def __init__(self, let_go: Callable[[int], None]) -> None:
        self._let_go = let_go

    def ptrace(self, call: Call) -> Answer:
        """The kernel makes the call."""
        number = signed(call.arguments[1])
        tid = call.tid if call.arguments[0] == TRACEME else pid_namespace_of(call.tid).tid(number) if number > 0 else 0
        if tid:
            try:
                self._let_go(thread_group(tid))
            except OSError:
                pass  # the kernel says ESRCH
        return CONTINUE
