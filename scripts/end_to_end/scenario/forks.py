"""A program for a container: forks until a fork is refused, prints the number of forks and the errno."""

import errno
import os
import sys

_MOST = 500


def main() -> None:
    reading, writing = os.pipe()
    made, why = 0, "none"
    while made < _MOST:
        try:
            child = os.fork()
        except OSError as refused:
            why = errno.errorcode[refused.errno or 0]
            break
        if child == 0:
            os.close(writing)
            os.read(reading, 1)  # until the parent is gone
            os._exit(0)
        made += 1
    print(made, why, flush=True)
    sys.stdin.close()
    os.read(reading, 1)  # until it is killed


main()
