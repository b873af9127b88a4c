"""rt_sigaction(2) for SIGCHLD: its handler does not make a trapped call fail with EINTR.

A trapped call that nobody has taken yet is interrupted by any signal with a handler, and only with SA_RESTART begun
again (seccomp_do_user_notification; SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV is for those that were taken). To a shell
that has just forked that happens all the time on a busy machine, and no program expects EINTR of fork(2), few of
open(2). So the flag is added; what it changes besides is that read(2), wait4(2) and the like go on too when a child has
ended.
"""

from __future__ import annotations

from struct import pack, unpack

from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call

_FLAGS = 8  # where they are in the kernel's struct sigaction, behind the handler
_RESTART = 0x10000000
_NO_HANDLERS = (0, 1)  # SIG_DFL, SIG_IGN


def rt_sigaction(call: Call) -> Answer:
    """Adds SA_RESTART in the caller's memory, and the kernel goes on."""
    address = call.arguments[1]
    if address:
        try:
            handler, flags = unpack("=QQ", call.memory.read(call.tid, address, 16))
            if handler not in _NO_HANDLERS and not flags & _RESTART and call.waits():
                call.memory.write(call.tid, address + _FLAGS, pack("=Q", flags | _RESTART))
        except OSError:
            pass  # EFAULT, from the kernel
    return CONTINUE
