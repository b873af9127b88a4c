"""Who may signal whom (kill(2), kernel/signal.c)."""

from __future__ import annotations

from collections.abc import Sequence
from signal import SIGCONT


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
