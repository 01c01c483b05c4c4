"""List the names of TensorFlow that talweg has, and those that a program needs.

Words are looked for in names and in what functions say of themselves.  With --of, the names a
program uses are listed with their lines, those that are missing first; nothing is run.

examples:
  talweg ops conv              names with "conv" in them
  talweg ops "smooth relu"     both words, in a name or its description
  talweg ops tf.nn.relu        one name: its signature, description, and where it is made
  talweg ops --missing image   what TensorFlow 2.21 has and talweg has not
  talweg ops --of train.py     what a program uses, and what of it is missing

exit status: 0 fine, 1 nothing was found (or the program needs what is missing), 2 wrong use.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Iterable
from typing import Any

from talweg.api.export import V1, find_shared_name, look_up
from talweg.api.names.known import KERAS, absent, alike, describe, resolve
from talweg.api.names.never import never
from talweg.api.table import TABLE
from talweg.command.launch import FINE, FOUND, first_uses
from talweg.command.program import UsageError, find
from talweg.command.uses import NameUse, read

WIDTH = 100
QUOTED = re.compile(r"(: |-> )'([^']*)'")  # annotations, which are texts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `talweg ops`."""
    parser.add_argument("words", nargs="*", metavar="WORD", help="what to look for")
    parser.add_argument("--missing", action="store_true", help="names that are not there yet")
    parser.add_argument("--of", metavar="PROGRAM", help="the names that a program uses")
    parser.add_argument("--all", action="store_true", help="tf.compat.v1 and tf.raw_ops, too")
    parser.add_argument("--json", action="store_true", help="print JSON")


def main(options: argparse.Namespace) -> int:
    """Print the lists that the options ask for."""
    if options.of:
        return of_program(options)
    words = [word.lower().removeprefix("tf.") for word in options.words]
    if options.missing:
        names = sorted(name for name in list_names(absent(), options) if matches(name, words))
        rows = [{"name": f"tf.{name}"} for name in names]
        text = "\n".join(row["name"] for row in rows)
    elif len(options.words) == 1 and is_name(options.words[0]):
        return one(options.words[0].removeprefix("tf."), options.json)
    elif len(words) == 1 and (absent_name := tensorflows(options.words[0])):
        return absent_one(absent_name, options.json)
    else:
        rows = search_names(words, options)
        width = max([min(48, len(row["name"])) for row in rows], default=0)
        text = "\n".join(f"{row['name']:<{width}}  {row['summary']}".rstrip() for row in rows)
    if options.json:
        print(json.dumps(rows, indent=1))
    elif rows:
        print(text)
    elif not options.missing and len(words) == 1 and (name := without_namespace(options.words[0])):
        return absent_one(name, options.json)
    elif options.missing:
        about = f" with {' and '.join(options.words)} in its name" if words else ""
        print(f"talweg: no name of TensorFlow 2.21{about} is missing", file=sys.stderr)
    else:
        near = alike(options.words[0].removeprefix("tf.")) if len(words) == 1 else ""
        nothing = f"talweg: nothing has {' and '.join(options.words)} in it"
        print(f"{nothing}; near: {near}" if near else nothing, file=sys.stderr)
    return FINE if rows else FOUND


def is_name(word: str) -> bool:
    """Return whether a word is exactly the name of something there."""
    name = word.removeprefix("tf.")
    return resolve(name).there and (name in TABLE or find_shared_name(name) in TABLE)


def tensorflows(word: str) -> str | None:
    """Return the name that a word is of something which only TensorFlow has; None if it is none."""
    name = word.removeprefix("tf.")
    if name in absent():
        return name
    if "." not in word:
        return None
    known = resolve(name)
    named = known.in_tensorflow or known.generation == 1 or never(name) is not None
    return name if named and not known.there else None


def without_namespace(word: str) -> str | None:
    """Return the name that only TensorFlow has of
    which a word is the last part; None if there is none.
    """
    last = f".{word.removeprefix('tf.')}"
    found = [name for name in sorted(absent()) if name.endswith(last)]
    operation = f"raw_ops{last}"
    return found[0] if found else operation if never(operation) is not None else None


def absent_one(name: str, as_json: bool) -> int:
    """Say why a name of TensorFlow is not there, and what to use."""
    text = describe(name)
    print(json.dumps({"name": f"tf.{name}", "absent": text}, indent=1) if as_json else text)
    return FOUND


def list_names(names: Iterable[str], options: argparse.Namespace) -> list[str]:
    """Return the names of TensorFlow 2 as people use them, or all."""
    shown = [name for name in names if ":" not in name and "__internal__" not in name]
    if options.all:
        return shown
    return [name for name in shown if not name.startswith((V1, "raw_ops."))]


def matches(text: str, words: list[str]) -> bool:
    """Return whether all words are in a text."""
    lowered = text.lower()
    return all(word in lowered for word in words)


def search_names(words: list[str], options: argparse.Namespace) -> list[dict]:
    """Return names with all words in them, then those whose description has them."""
    names = sorted(list_names(TABLE, options))
    first = [name for name in names if matches(name, words)]
    if not first:  # perhaps a name of TensorFlow 1
        first = sorted(n for n in TABLE if n.startswith(V1) and last_part(n) == " ".join(words))
    rows = [{"name": f"tf.{name}", "summary": summary(name) if words else ""} for name in first]
    if words:
        others = [name for name in names if name not in set(first)]
        described = [(name, summary(name)) for name in others]
        rows += [
            {"name": f"tf.{name}", "summary": text}
            for name, text in described
            if matches(f"{name} {text}", words)
        ]
    return rows


def last_part(name: str) -> str:
    """Return the name without its namespace, in small letters."""
    return name.rpartition(".")[2].lower()


def summary(name: str) -> str:
    """Return the first sentence of an object's docstring."""
    if name.removeprefix(V1).split(".")[0] in KERAS:
        return "Keras, running on talweg"  # not looked up: that would load it
    try:
        value = look_up(name)
    except (AttributeError, ImportError):
        return ""
    if not (inspect.isclass(value) or callable(value)):
        return repr(value).splitlines()[0][:60]
    text = inspect.getdoc(value) or ""
    return " ".join(text.split("\n\n")[0].split())[:110]


def one(name: str, as_json: bool) -> int:
    """Print all that is known of one name."""
    value = look_up(name)
    origin = TABLE.get(name) or TABLE.get(find_shared_name(name) or "", "")
    signature = signature_text(f"tf.{name}", value)
    others = [
        other
        for other in TABLE
        if TABLE[other] == origin and other != name and ":" not in other and look_up(other) is value
    ]
    row = {
        "name": f"tf.{name}",
        "signature": signature,
        "defined in": origin,
        "also": [f"tf.{other}" for other in others],
        "description": inspect.getdoc(value) if callable(value) else repr(value),
    }
    if as_json:
        print(json.dumps(row, indent=1))
        return FINE
    also = f"also: {', '.join(row['also'])}\n" if others else ""
    print(f"{signature}\n\n{row['description']}\n\n{also}defined in: {origin}")
    return FINE


def signature_text(name: str, value: Any) -> str:
    """Return a function's name with its parameters,
    a line for each where they do not fit into one.
    """
    try:
        text = f"{name}{inspect.signature(value)}"
    except (TypeError, ValueError):
        return name
    text = without_quotes(text)
    if len(text) <= WIDTH:
        return text
    parameters = inspect.signature(value).parameters.values()
    lines = "".join([f"    {without_quotes(str(each))},\n" for each in parameters])
    return f"{name}(\n{lines}{text[text.rindex(')') :]}"


def without_quotes(signature: str) -> str:
    """Return a signature whose annotations are texts, as it stands in a program."""
    return QUOTED.sub(r"\1\2", signature)


def of_program(options: argparse.Namespace) -> int:
    """List the names a program uses; whether any is missing."""
    program = find(options.of)
    try:
        reading = read(program.path, program.parts())
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{program.path} cannot be read: {error}") from None
    first = bool(first_uses(program))
    missing = reading.missing(first)
    missing += [use for use in reading.uses if is_refused(use.name)]
    there = [use for use in reading.uses if use not in set(missing)]
    if options.json:
        rows = [row_of(use, False) for use in missing] + [row_of(use, True) for use in there]
        print(
            json.dumps(
                {"tensorflow": 1 if first else 2, "files": reading.files, "uses": rows}, indent=1
            )
        )
        return FOUND if missing else FINE
    for use in missing:
        print(f"missing  {use.text:<34} {use.file}:{use.line}  {describe(use.name, first)}")
    counts: dict[str, list[int]] = {}
    for use in there:
        counts.setdefault(use.text, []).append(use.line)
    for text in sorted(counts):
        lines = counts[text]
        shown = ", ".join(map(str, lines[:6])) + (", ..." if len(lines) > 6 else "")
        print(f"there    {text:<34} {'line' if len(lines) == 1 else 'lines'} {shown}")
    generation = "TensorFlow 1" if first else "TensorFlow 2"
    number = len({use.text for use in missing})
    there_are = "1 name is" if len(counts) == 1 else f"{len(counts)} names are"
    print(
        f"\n{program.path}: a program for {generation}; {there_are} there, "
        f"{number} {'is' if number == 1 else 'are'} missing"
    )
    return FOUND if missing else FINE


def is_refused(name: str) -> bool:
    """Return whether a name is there so that programs get as far as its use, which raises."""
    return resolve(name).there and never(name) is not None


def row_of(use: NameUse, there: bool) -> dict:
    """Return a use for JSON."""
    return {"name": use.name, "text": use.text, "file": use.file, "line": use.line, "there": there}
