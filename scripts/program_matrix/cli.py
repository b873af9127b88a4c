"""The command ``scripts/programs``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from fakecgroup_mount.vm.cache import cache_directory

from . import debian, page, release, report
from .errors import ProgramsError
from .plain_user import is_plain
from .program import LAYOUTS
from .programs import PROGRAMS
from .run import run, surprises


class Parser(argparse.ArgumentParser):
    """An argparse parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code: 0 all as the page has it, 1 something is not or could not be done, 2 the command line is wrong."""
    options = _parser().parse_args(argv)
    chosen = [program for program in PROGRAMS if not options.programs or program.name in options.programs]
    layouts = options.layout or LAYOUTS
    try:
        if options.release and not release.is_entered(options.release):
            release.enter(
                options.release, cache_directory(), list(sys.argv[1:] if argv is None else argv), make=options.install
            )
        if options.install:
            debian.install(chosen)
        if not is_plain():
            print("programs: run as root: a plain user has no Python here that finds this checkout", file=sys.stderr)
        runs = []
        for program in chosen:
            for layout in (layout for layout in program.layouts if layout in layouts):
                runs.append(run(program, layout))
                if options.output == "table":
                    print(report.as_text(runs[-1]), flush=True)
        if options.output == "json":
            print(report.as_json(runs))
        elif options.output == "markdown":
            print(page.matrix(runs, release.this_release()), end="")
        if options.write or options.check:
            page.update(runs, release.this_release(), check=options.check)
    except ProgramsError as error:
        print(f"programs: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 1 if any(surprises(ran) for ran in runs) else 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="programs",
        description="Runs real programs under `fakecgroup run`, as a plain user, and looks at what they say and at "
        "what the tree holds then. Programs that are not installed are listed as not run.",
        epilog="Exit status: 0 all went as docs/evidence/programs.md has it, 1 something did not or could not be "
        "done, 2 the command line is wrong.",
    )
    names = [program.name for program in PROGRAMS]
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", choices=[*names, []], help=", ".join(names))
    parser.add_argument("--layout", action="append", choices=LAYOUTS, help="only this one; can be repeated")
    parser.add_argument(
        "--release", choices=release.SUITES, help="with this release's packages, in a root of their own, as root"
    )
    parser.add_argument(
        "--install",
        action="store_true",
        help="get the Debian packages first, with apt-get, as root, and the release's root with debootstrap",
    )
    parser.add_argument("-o", dest="output", choices=("table", "json", "markdown"), default="table")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help="put what was run into docs/evidence/programs.md")
    action.add_argument("--check", action="store_true", help="say whether docs/evidence/programs.md has what was run")
    return parser
