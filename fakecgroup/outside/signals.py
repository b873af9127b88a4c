"""Who may signal whom (kill(2), kernel/signal.c)."""

from __future__ import annotations

from collections.abc import Sequence
from signal import SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH

from ..tasks.joined_processes import JoinedProcesses

_IGNORED = frozenset((SIGCHLD, SIGURG, SIGWINCH))
_STOPPING = frozenset((SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU))


def may_signal(
    number: int, caller_uids: Sequence[int], target_uids: Sequence[int], *, same_session: bool, capable: bool
) -> bool:
    """Whether a process may send a signal to another (check_kill_permission, kill_ok_by_cred).

    User ids are real, effective and saved ones. `capable` says whether the caller has CAP_KILL in the target's user
    namespace. SIGCONT is allowed within a session.
    """
    (real, effective, *_), (target_real, _, target_saved, *_) = caller_uids, target_uids
    same_user = bool({real, effective} & {target_real, target_saved})
    return same_user or capable or (number == SIGCONT and same_session)


def signal_simulated(processes: JoinedProcesses, tgid: int, number: int) -> None:
    """Do what a signal does to a simulated process, which has no handlers (signal(7)). 0 does nothing."""
    if not number or number in _IGNORED:
        return
    if number in _STOPPING or number == SIGCONT:
        processes.stop(tgid, number != SIGCONT)
    else:
        processes.kill(tgid)
