"""Where the command `fakecgroup` begins: until its parts are loaded Ctrl-C ends it, without a traceback."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from fakecgroup_mount.warm import VARIABLE


def main() -> int:
    """`program.main`, here or in a child of the server of `fakecgroup warm`."""
    if VARIABLE in os.environ:
        from fakecgroup_mount.warm.client import ask

        status = ask(sys.argv[1:])
        if status is not None:
            os._exit(status)  # nothing is left to do
    import signal  # takes a while to load

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # and not ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # what is loaded stays: `program.main` enables it
    atexit.register(gc.freeze)  # at its end Python need not search all modules for cycles
    from fakecgroup_mount.cli.program import main

    return main()
