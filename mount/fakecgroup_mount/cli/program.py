"""The command `fakecgroup`."""

from __future__ import annotations

import argparse
import gc
import os
import select
import signal
import sys
from collections.abc import Callable
from errno import EDQUOT, EFBIG, EIO, ENOSPC
from typing import Any, NoReturn, TextIO

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host import procfs

_FULL = (ENOSPC, EDQUOT, EFBIG, EIO)  # what write(2) says of a file that takes no more

# argparse has gettext look for a catalog at each of its words, which loads `locale`: a tenth of a start. There is none.
argparse._ = str  # type: ignore[attr-defined]


class Formatter(argparse.HelpFormatter):
    """As argparse's, which imports shutil for the width; that takes longer than all the rest of `--help`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    """As shutil.get_terminal_size does it."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


class Parser(argparse.ArgumentParser):
    """An argparse parser whose complaint is one line. `fill`, if set, adds its options once it is the one to parse."""

    fill: Callable[[argparse.ArgumentParser], None] | None = None

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=Formatter, **options)

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        if self.fill is not None:
            self.fill(self)
            self.fill = None
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns the exit status: 0 done, 1 failed, 2 the command line is wrong."""
    _hold_standard_files()
    words = sys.argv[1:] if argv is None else argv
    options = parser(words[0] if words else None).parse_args(words)
    if not gc.isenabled():  # `cli.main`: what was loaded since stays
        gc.freeze()
        gc.enable()
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # `start`
            signal.signal(signal.SIGINT, signal.default_int_handler)
        procfs.require_own_pid_namespace()
        status = int(options.run(options))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        if not _has_lost_its_reader(sys.stdout):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more
        return 1
    except (MountError, OSError, RuntimeError, MemoryError) as error:
        from fakecgroup_mount.host import shortage

        why = error if isinstance(error, MountError) else _unwritten(error) or shortage.explained(error)
        if why is None:
            raise
        print(f"fakecgroup {options.command}: {why}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"fakecgroup {options.command}: interrupted", file=sys.stderr)
        return 1


def _unwritten(error: BaseException) -> str | None:
    """What is said if standard output takes no more, as on a full disk; None for another error."""
    if not isinstance(error, OSError) or error.filename is not None or error.errno not in _FULL:
        return None
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more
    return f"standard output: {error.strerror}"


def _has_lost_its_reader(stream: TextIO) -> bool:
    """Whether it is a pipe that nobody reads any more, as that of `fakecgroup ... | head`."""
    poller = select.poll()
    poller.register(stream.fileno(), 0)
    return any(event & select.POLLERR for _, event in poller.poll(0))


def _hold_standard_files() -> None:
    """Those that are closed lead nowhere, so that no other file gets their number; whom we execute gets them closed."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


class _Version(argparse.Action):
    """Prints the version of the installed package, which takes a while to look up."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"fakecgroup {version('fakecgroup')}")
        parser.exit()


def parser(first: str | None = None) -> argparse.ArgumentParser:
    """The command line. `Parser.fill` adds the options of a command that takes a while to load.

    If the first word is a command, the others are left out.
    """
    parser = Parser(prog="fakecgroup", description="A file system that answers like the Linux kernel's cgroups.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, **texts: Any) -> None:
        if first not in _FILL or first == name:
            commands.add_parser(name, **texts).fill = _FILL[name]

    add(
        "mount",
        help="show a tree at DIR",
        description="Mounts a tree of cgroups at DIR and leaves a daemon that answers for it until it is unmounted.",
        epilog="DIR must be an empty directory, so that a slip of the pen hides nobody's files, or a mount whose "
        "daemon has died, which is replaced. A tree that root mounts is open to all users; another user's is that "
        "user's alone, who plays root in it. SIGTERM to the daemon unmounts. The daemon writes nothing but its own "
        "failures, to $XDG_STATE_HOME/fakecgroup/daemon.log (~/.local/state/fakecgroup/daemon.log).",
    )
    add(
        "umount",
        help="take the tree at DIR away",
        description="Unmounts the tree at DIR and waits for its daemon to end.",
    )
    add(
        "list",
        help="show the trees that are mounted here",
        description="Shows the trees that are mounted in this mount namespace: each with its daemon, the layout and "
        "the kernel, since when it is there, and how many cgroups it has below the roots of its hierarchies. A tree "
        "that does not answer is told with what to do about it.",
        epilog="States: serves; stopped, by a signal to its daemon; silent, its daemon does not answer; dead, its "
        "daemon has ended; private, this user may not ask it; covered, another mount lies over it. -o json gives "
        '{"mounts": [...]} with dir, state, pid, layout, kernel, transport, since, cgroups and todo of each, null '
        "where nobody could tell.",
    )
    add(
        "doctor",
        help="say what works on this machine, and what to do about the rest",
        description="Tries for this user what fakecgroup needs: mounts a tree at a temporary directory, runs a command "
        "in front of one, and asks the kernel for what these need. Leaves nothing behind.",
        epilog="Exit status 0 if mount and run work, else 1. -o json gives uid, linux, ready, and the two tables as "
        "lists: commands and machine, with name, state (yes, partly, no), found and remedy of each.",
    )
    add(
        "run",
        help="run a command that finds a tree at /sys/fs/cgroup",
        usage="%(prog)s [-h] [TREE OPTIONS] [--] CMD [ARG...]",
        description="Runs a command that finds a tree at /sys/fs/cgroup, as do all that it starts, and for which "
        "nothing tells of FUSE: statfs, /proc/PID/cgroup, mountinfo and mounts, /proc/cgroups, new mounts of cgroup "
        "file systems, clone3 into a cgroup and file handles answer as with a real one. Needs no root.",
        epilog="The command is root in a user namespace of its own; for root all other users are there too, for "
        "anyone else nobody is. It sees this machine's CPUs and memory everywhere but in the tree. The exit status is "
        "the command's, 128+N where signal N killed it, 126 or 127 where it cannot be executed or found; where "
        "the tree or the namespaces cannot be made it is 1, after a line on stderr that begins with 'fakecgroup run:'. "
        "What the command leaves running is killed when it ends. In its environment, FAKECGROUP is the layout.",
    )
    add(
        "warm",
        help="run a command beside a server that makes starts of fakecgroup faster",
        usage="%(prog)s [-h] [--] CMD [ARG...]",
        description="Runs a command, such as a test suite. While it runs, each fakecgroup that it starts is a child of "
        "a server that has loaded everything: run and mount start in half the time or less. Nothing of it is left when "
        "the command has ended, but for what mount leaves.",
        epilog="The server serves its own user alone, in its own session, and whoever has the same namespaces, limits, "
        "cgroups, capabilities and CPUs; any other fakecgroup starts as always. In the environment, FAKECGROUP_WARM is "
        "the name of its socket; without it, a start is as always. The exit status is the command's, 128+N where "
        "signal N killed it, 126 or 127 where it cannot be executed or found.",
    )
    add(
        "simulate",
        help="play a scenario on virtual time",
        description="Plays a scenario: makes its cgroups, lets its simulated processes use CPU time as the limits "
        "allow, writes what it says, and looks whether what it expects holds. Time is virtual: an hour takes a moment, "
        "and the same scenario and seed give the same output. Needs no root, no FUSE and no other machine.",
        epilog="CPU time, throttling, memory, huge pages, IO, pressure and the OOM killer are simulated. Exit status 1 "
        "where an expectation does not hold, 2 for a wrong scenario.",
    )
    add(
        "snapshot",
        help="take a node's tree, or a fake's, into one file",
        description="Reads the tree of cgroups at ROOT as far as this user can: each file's bytes, mode, owner and "
        "extended attributes, the processes in it, the machine and its kernel. Changes nothing. --from of mount, run "
        "and simulate makes a tree of the file that reads the same. What could not be read is told in a line per kind.",
        epilog="Exit status 1 where the tree cannot be read or the file not be written, 2 for a file that is no "
        "snapshot. The file has names of cgroups and command lines: --no-names leaves out the names of processes.",
    )
    add(
        "view",
        help="write a tree of cgroups as one page",
        description="Writes a node's tree of cgroups, a fake's, or a snapshot as one page for a browser: limits beside "
        "what is used, whose limit acts on a cgroup, and what has happened. The page fetches nothing.",
        epilog="cgroup-engine explain --html and status --html write such a page with the reason of each value.",
    )
    add(
        "trace",
        help="show what was recorded with --trace",
        description="Shows the calls of a trace as strace does, and a summary: what was refused, who wrote what, "
        "values that nobody read, and writes that changed nothing. With --import it makes a trace of what strace has "
        "printed.",
        epilog="Exit status 1 for a file that is no trace, or has no call on the tree.",
    )
    add(
        "replay",
        help="make the calls of a trace on other kernels",
        description="Makes the calls of a trace again, in their order, on kernels of the model, and shows which of "
        "them each kernel answers otherwise: with another errno, or with another text of a file that is read. Counters "
        "have no value in this.",
        epilog="Exit status 1 where a kernel answers a call otherwise, or for a file that is no trace; 2 for an "
        "unknown kernel.",
    )
    add(
        "ctl",
        help="change what happens in a tree that is mounted",
        description="Asks the daemon behind a tree to do something: with the workloads of simulated processes, with "
        "the rules of faults, with traces and snapshots. DIR is the tree's directory, /sys/fs/cgroup under `fakecgroup "
        "run`. Only the tree's mounter may ask, and under `run` the sandbox's root.",
        epilog="Exit status 1 where the daemon cannot be asked or refuses, 2 for a wrong scenario or rule.",
    )
    add(
        "conformance",
        help="compare with what real kernels answered",
        description="Runs the recorded cases on a target and compares each answer with the kernel's. Exit status 1 "
        "where some differ and are no known gaps.",
    )
    add(
        "learn",
        help="ask a kernel that is none of ours, and write what it is",
        description="Asks a kernel all cases and writes a learnt kernel: its controllers, files, build options and "
        "answers. --kernel takes the file everywhere. Takes minutes for each layout.",
        epilog="Tells which known kernel's rules it plays, and how many operations these answer otherwise: the known "
        "gaps. On this machine it needs what conformance --target host needs; for vm it needs QEMU.",
    )
    return parser


def _fill_mount(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.cli import mount

    mount.add_options(parser)
    parser.set_defaults(run=mount.run)


def _fill_umount(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.cli import umount

    umount.add_options(parser)
    parser.set_defaults(run=umount.run)


def _fill_run(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.run import command

    command.add_options(parser)
    parser.set_defaults(run=command.run)


def _fill_warm(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.warm import command

    command.add_options(parser)
    parser.set_defaults(run=lambda options: command.run(options, main, _load_starts))


def _fill_list(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.cli import list as command

    command.add_options(parser)
    parser.set_defaults(run=command.run)


def _fill_doctor(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.cli import doctor

    doctor.add_options(parser)
    parser.set_defaults(run=lambda options: doctor.run(options, main))


def _fill_simulate(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.cli import simulate

    simulate.add_options(parser)
    parser.set_defaults(run=simulate.run)


def _fill_view(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.cli import view

    view.add_options(parser)
    parser.set_defaults(run=view.run)


def _fill_snapshot(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.cli import snapshot

    snapshot.add_options(parser)
    parser.set_defaults(run=snapshot.run)


def _fill_trace(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.cli import trace

    trace.add_options(parser)
    parser.set_defaults(run=trace.run)


def _fill_replay(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.cli import replay

    replay.add_options(parser)
    parser.set_defaults(run=replay.run)


def _fill_ctl(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.cli import ctl

    ctl.add_options(parser)
    parser.set_defaults(run=ctl.run)


def _fill_conformance(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.conformance import command, options

    options.add_options(parser)
    parser.set_defaults(run=command.run)


def _fill_learn(parser: argparse.ArgumentParser) -> None:
    from fakecgroup_mount.conformance import learn

    learn.add_options(parser)
    parser.set_defaults(run=learn.run)


def _load_starts() -> None:
    """Loads all that `run`, `mount` and `umount` need, and compiles argparse's patterns."""
    import importlib  # takes a while to load

    for module in ("run.sandbox", "run.server", "fuse.serve"):
        importlib.import_module(f"fakecgroup_mount.{module}")
    for words in (["run", "--", "true"], ["mount", "/"], ["umount", "/"]):
        parser(words[0]).parse_args(words)


_FILL: dict[str | None, Callable[[argparse.ArgumentParser], None]] = {
    "mount": _fill_mount,
    "umount": _fill_umount,
    "run": _fill_run,
    "warm": _fill_warm,
    "list": _fill_list,
    "doctor": _fill_doctor,
    "simulate": _fill_simulate,
    "view": _fill_view,
    "snapshot": _fill_snapshot,
    "trace": _fill_trace,
    "replay": _fill_replay,
    "ctl": _fill_ctl,
    "conformance": _fill_conformance,
    "learn": _fill_learn,
}
