"""rt_sigaction(2) for SIGCHLD: its handler does not make a trapped call fail with EINTR.

Any signal with a handler interrupts a trapped call that the daemon has not taken yet. The call is made again only with
SA_RESTART (seccomp_do_user_notification; SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV is for calls that were taken). On a
busy machine this happens often to a shell that has just forked. No program expects EINTR of fork(2), and few of
open(2). So the flag is added. It also makes read(2), wait4(2) and others go on when a child has ended.
"""

from __future__ import annotations

from struct import pack, unpack

from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call

_FLAGS = 8  # their offset in the kernel's struct sigaction, after the handler
_RESTART = 0x10000000
_NO_HANDLERS = (0, 1)  # SIG_DFL, SIG_IGN


def rt_sigaction(call: Call) -> Answer:
    """Adds SA_RESTART in the caller's memory. The kernel makes the call."""
    address = call.arguments[1]
    if address:
        try:
            handler, flags = unpack("=QQ", call.memory.read(call.tid, address, 16))
            if handler not in _NO_HANDLERS and not flags & _RESTART and call.waits():
                call.memory.write(call.tid, address + _FLAGS, pack("=Q", flags | _RESTART))
        except OSError:
            pass  # the kernel says EFAULT
    return CONTINUE
