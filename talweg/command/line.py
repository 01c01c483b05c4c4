"""The command line: the subcommands, and their exit statuses.

0 all is well; 1 something was found, or the program that was run failed; 2 the command was used
wrongly; 3 the program that was to be looked at failed before its end.  `talweg run` gives the
program's own status.
"""

from __future__ import annotations

import argparse
import os
import sys
from difflib import get_close_matches
from importlib import import_module

from talweg.command.launch import USAGE
from talweg.command.program import UsageError
from talweg.core.version import RELEASE, VERSION

VERSIONS = f"talweg {RELEASE}, with the API of TensorFlow {VERSION}"

COMMANDS = {  # name: what it does; the module of the same name has `configure` and `main`
    "run": "run a TensorFlow program, unchanged, on talweg",
    "doctor": "run a program and say what it wastes and where its gradients break",
    "explain": "print the page of an error or finding: its cause and its cure",
    "graph": "draw the graphs of a program, or a saved graph (SVG, or HTML to look around in)",
    "profile": "run a program and say where its time goes, by line, operation and kernel",
    "dump": "run a program and write every stage of what it compiles",
    "ops": "what of TensorFlow is there, and what of it a program needs",
    "bench": "measure this machine, or a program with each executor",
    "settings": "list the settings",
}
EPILOG = """examples:
  talweg run train.py --epochs 3       a TensorFlow program on talweg, nothing edited
  talweg run -m package.train          a module; notebooks (.ipynb) run, too
  talweg doctor train.py               waste and broken gradients, with lines and cures
  talweg explain TW301                 the page of a code
  talweg graph -o graph.html train.py  a picture with scopes that fold
  talweg profile train.py              time by line, by operation, by kernel

exit status: 0 fine, 1 findings (or the program failed), 2 wrong use, 3 the program that was to be
looked at failed.  `talweg COMMAND --help` has more."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of everything; a subcommand's own part is made when it is asked for."""
    found = argparse.ArgumentParser(
        prog="talweg",
        description="Run TensorFlow programs on talweg, and look into them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--version", action="version", version=VERSIONS)
    commands = found.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        commands.add_parser(name, help=text, add_help=False)
    return found


def parser_of(name: str) -> argparse.ArgumentParser:
    """Return the parser of one subcommand."""
    module = import_module(f"talweg.command.{name}")
    found = argparse.ArgumentParser(
        prog=f"talweg {name}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.configure(found)
    found.set_defaults(action=module.main, command_name=name)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Carry out a command line; the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if not given:
            parser().print_help(sys.stderr)
            return USAGE
        if given[0] not in COMMANDS:
            near = get_close_matches(given[0], COMMANDS, 1)
            if near:
                raise UsageError(f"there is no command {given[0]}: did you mean {near[0]}?")
            parser().parse_args(given)
            return USAGE
        own = parser_of(given[0])
        options, unknown = own.parse_known_args(given[1:])
        if unknown:
            near = get_close_matches(unknown[0], own._option_string_actions, 1)
            meant = f"; did you mean {near[0]}?" if near else ""
            own.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        if given[0] != "run":
            note_late_options(own, options)
        return options.action(options)
    except SystemExit as exit:  # argparse
        return exit.code if isinstance(exit.code, int) else USAGE
    except UsageError as error:
        print(f"talweg: {error}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:  # `talweg ... | head`
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 -- so that Python's exit is quiet
        return 0


def note_late_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Say so if an option of the command stands behind the program, which gets it then."""
    known = {name for action in parser._actions for name in action.option_strings}
    late = [text for text in getattr(options, "arguments", []) if text.split("=")[0] in known]
    if late:
        print(
            f"talweg: note: {late[0]} stands behind the program, which gets it; options of "
            f"talweg {options.command_name} come before",
            file=sys.stderr,
        )
