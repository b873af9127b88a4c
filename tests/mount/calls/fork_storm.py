"""Starts tasks that stay, by several workers at once: `fork_storm.py KIND WORKERS TRIES`.

Prints how many tasks there are in the end, how many starts failed with EAGAIN, and how many failed otherwise.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time


def start(kind: str) -> None:
    """A task that stays. Raises OSError."""
    if kind == "fork":
        if os.fork() == 0:
            signal.pause()
    elif kind == "spawn":
        os.posix_spawnp("sleep", ["sleep", "1000"], os.environ)
    else:
        try:
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        except RuntimeError:  # "can't start new thread", of pthread_create's EAGAIN
            raise OSError(errno.EAGAIN, "no thread") from None


def work(kind: str, tries: int, begin: int, told: int) -> None:
    os.read(begin, 1)
    for _ in range(tries):
        said = b"+"
        try:
            start(kind)
        except OSError as error:
            said = b"-" if error.errno == errno.EAGAIN else b"?"
        os.write(told, said)
    signal.pause()


if __name__ == "__main__":
    kind, workers, tries = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    (waiting, begin), (hearing, told) = os.pipe(), os.pipe()
    for _ in range(workers):
        if os.fork() == 0:
            work(kind, tries, waiting, told)
    os.write(begin, b"+" * workers)
    heard = b""
    while len(heard) < workers * tries:
        heard += os.read(hearing, 4096)
    print(1 + workers + heard.count(b"+"), heard.count(b"-"), heard.count(b"?"))
