"""Draw the graphs of a program, or a saved graph.

A program is run, and the traces of its functions, its graphs (tf.Graph), or, if it has neither, the
operations that ran at once are drawn.  A saved graph is a GraphDef (.pb, .pbtxt), a meta graph
(.meta), an event file of TensorBoard's, or talweg's own text (.txt).  HTML pages need nothing else:
groups fold, boxes tell what they are and from which line.

examples:
  talweg graph train.py                      writes graph.html, a page to look around in
  talweg graph -o step.svg train.py          one picture; several graphs: step-2.svg, ...
  talweg graph -o g.svg --depth 1 train.py   scopes open to depth 1
  talweg graph -o model.html model.pb        a saved graph
  talweg graph --list train.py               as text
  talweg graph --only step train.py          the graphs whose names contain "step"

exit status: 0 drawn, 1 no graph, 2 wrong use, 3 the program failed (what it had is drawn).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from talweg.command.drawing import page, saved, svg
from talweg.command.drawing.model import Picture
from talweg.command.graphs import Keeper, as_data, listing
from talweg.command.launch import FAILED, FINE, FOUND, add_json, add_program, launch, program_of
from talweg.command.program import UsageError
from talweg.core.dispatch import observe

KINDS = (".html", ".htm", ".svg")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `talweg graph`."""
    parser.add_argument(
        "-o",
        "--output",
        default="graph.html",
        metavar="FILE",
        help="where to: .html or .svg (%(default)s)",
    )
    parser.add_argument(
        "--depth", type=int, help="how many levels of groups are open at first (else: what fits)"
    )
    parser.add_argument("--only", metavar="TEXT", help="only graphs whose names contain TEXT")
    parser.add_argument("--list", action="store_true", help="print the graphs as text instead")
    add_json(parser)
    add_program(parser)


def main(options: argparse.Namespace) -> int:
    """Draw the pictures that the options ask for."""
    kind = Path(options.output).suffix.lower()
    if kind not in KINDS:
        raise UsageError(f"--output {options.output}: pictures are .html or .svg")
    if saved.is_saved(options.program) and not options.module:
        pictures, failed = from_file(options.program), False
    else:
        keeper = Keeper()
        outcome = launch(program_of(options), options, observe(keeper))
        pictures, failed = keeper.pictures(), outcome.failed
    if options.only:
        pictures = [each for each in pictures if options.only in each.title]
    if not pictures:
        print("talweg: there is no graph to draw", file=sys.stderr)
        return FAILED if failed else FOUND
    if options.json:
        print(json.dumps([as_data(picture) for picture in pictures], indent=1))
    elif options.list:
        print("\n\n".join(map(listing, pictures)))
    else:
        for path in write(pictures, Path(options.output), options.depth):
            print(f"talweg: drawn: {path}", file=sys.stderr)
    return FAILED if failed else FINE


def from_file(path: str) -> list[Picture]:
    """Return the pictures of a saved graph; UsageError if it cannot be read."""
    if not Path(path).is_file():
        raise UsageError(f"there is no file {path!r}")
    try:
        return saved.pictures_of(path)
    except ValueError as error:
        raise UsageError(str(error)) from None


def write(pictures: list[Picture], path: Path, depth: int | None = None) -> list[Path]:
    """Write one page with all pictures, or an SVG for each; the files."""
    if path.suffix.lower() != ".svg":
        path.write_text(page.draw(pictures, depth, f"talweg: {pictures[0].title}"), "utf-8")
        return [path]
    files = []
    for number, picture in enumerate(pictures, 1):
        own = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        own.write_text(svg.draw(picture, depth), "utf-8")
        files.append(own)
    return files
