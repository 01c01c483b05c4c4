"""The programs of this folder: where they are, how they are run, where their values are kept.

A program is a function `name(tf, np)` of a module `<directory>/<topic>.py` which lists it in
`PROGRAMS`.  It returns a nest of arrays, numbers, text, lists and dictionaries.  What TensorFlow
gave stands in `values/<directory>_<topic>.json`, one line a program.

- Programs of `v1/` get `tensorflow.compat.v1`, or ours, and run inside a new graph; those of any
  other directory get the library itself.
- A module may widen the tolerances of `recorded/comparison.py`:
  `TOLERANCE = {"name": {"rtol": 1e-4}}`, with "*" for all its programs.
- An expected error is returned by class: `support.raised(lambda: ...)`.
- Where talweg departs on purpose, `differences.json` has the reason and our own answer, which is
  tested in TensorFlow's place; `tools/record_programs.py --differs` writes it.
"""

import importlib
import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from recorded import description

HERE = Path(__file__).resolve().parent
VALUES = HERE / "values"
DIFFERENCES = HERE / "differences.json"


@dataclass(frozen=True)
class Program:
    """One program, its area (`v1/graphs`) and what the comparison allows."""

    area: str
    name: str
    function: object
    tolerance: dict


def areas():
    """All areas, as `directory/topic`."""
    files = sorted(HERE.glob("*/*.py"))
    return [f"{f.parent.name}/{f.stem}" for f in files if f.stem != "__init__"]


def programs(area):
    """The programs of an area, in the order of its list; a name may stand there once."""
    module = importlib.import_module(f"programs.{area.replace('/', '.')}")
    functions = {function.__name__: function for function in module.PROGRAMS}
    if len(functions) != len(module.PROGRAMS):
        raise ValueError(f"{area}: two programs of one name")
    tolerance = getattr(module, "TOLERANCE", {})
    return [
        Program(area, name, function, tolerance.get(name, tolerance.get("*", {})))
        for name, function in functions.items()
    ]


def run(program, library):
    """Run a program on a library; the description of what it gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library.random.set_seed(None)  # as in a new process, whatever ran before
        if program.area.startswith("v1/"):
            tf = library.compat.v1
            with tf.Graph().as_default():
                return description.describe(program.function(tf, np), tf)
        return description.describe(program.function(library, np), library)


def read_differences():
    """Where talweg departs on purpose: (area, program) -> entry."""
    if not DIFFERENCES.exists():
        return {}
    entries = json.loads(DIFFERENCES.read_text("utf-8"))
    return {(entry["area"], entry["program"]): entry for entry in entries}


def write_differences(entries):
    """Write all entries, in order of area and program."""
    write_lines(DIFFERENCES, [entries[key] for key in sorted(entries)])


def values_path(area):
    """Where the values of an area are kept."""
    return VALUES / f"{area.replace('/', '_')}.json"


def read_values(area):
    """What is recorded for an area: name of the program -> encoded description."""
    path = values_path(area)
    if not path.exists():
        return {}
    return {entry["program"]: entry["gives"] for entry in json.loads(path.read_text("utf-8"))}


def write_values(area, values):
    """Write the values of an area."""
    entries = [{"program": name, "gives": value} for name, value in values.items()]
    write_lines(values_path(area), entries)


def write_lines(path, entries):
    """Write a list, one line an entry, as a whole or not at all."""
    lines = [json.dumps(entry, ensure_ascii=False) for entry in entries]
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    os.replace(part, path)
