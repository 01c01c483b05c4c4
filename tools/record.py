"""Record what TensorFlow answers to the cases of `tests/recorded/cases/*.txt`.

Run with a Python that has TensorFlow:

    python tools/record.py                 every area
    python tools/record.py math gradients  these areas
    python tools/record.py --new math      only cases that have no recorded value yet
    python tools/record.py --check math    write nothing; fail if anything would change

Each area becomes `tests/recorded/values/<area>.json`, one line a case, in the order of the case
file. The syntax of the cases stands in `tests/recorded/case_files.py`.
"""

import argparse
import importlib
import json
import os
import re
import sys
import time
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from recorded import case_files, description, helpers  # noqa: E402

QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": "-1"}
ADDRESS = re.compile(r"at 0x[0-9a-f]+")
MISTAKES = ("NameError", "SyntaxError", "AttributeError", "IndentationError")


def main():
    """Record the areas named on the command line."""
    options = arguments()
    unknown = sorted(set(options.areas) - set(case_files.areas()))
    if unknown:
        sys.exit(f"no case file for: {', '.join(unknown)}; there are {case_files.areas()}")
    tf = load_tensorflow()
    total = 0
    for area in options.areas or case_files.areas():
        total += record_area(area, tf, options)
    print(f"{total} case(s) {'would change' if options.check else 'changed'}")
    sys.exit(1 if options.check and total else 0)


def arguments():
    """Return the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("areas", nargs="*", metavar="area", help="default: all areas")
    parser.add_argument("--new", action="store_true", help="keep what is recorded already")
    parser.add_argument("--check", action="store_true", help="write nothing; say what would change")
    return parser.parse_args()


def load_tensorflow():
    """TensorFlow, quiet, on one thread of the CPU, so that its answers repeat."""
    os.environ.update(QUIET)
    warnings.simplefilter("ignore")
    try:
        tf = importlib.import_module("tensorflow")
    except ImportError:
        sys.exit("This Python has no TensorFlow: run tools/record.py with one that has.")
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.get_logger().setLevel("ERROR")
    return tf


def record_area(area, tf, options):
    """Evaluate the cases of an area, write its values; the number of cases that changed."""
    cases = case_files.read_cases(area)
    check_cases(area, cases)
    earlier = read_values(area)
    names = helpers.namespace(tf)
    values = {}
    for case in progress(cases, area):
        if options.new and case.text in earlier:
            values[case.text] = earlier[case.text]
        else:
            numbers = "loose" not in case.flags
            values[case.text] = description.encode(description.run(case, tf, names), numbers)
    changed = report(area, cases, earlier, values)
    if changed and not options.check:
        write_values(area, values)
    return changed


def check_cases(area, cases):
    """Every case must parse, and stand in its file once."""
    seen = {}
    for case in cases:
        case.code()
        if case.text in seen:
            sys.exit(f"{area}: lines {seen[case.text]} and {case.line} are the same case")
        seen[case.text] = case.line


def report(area, cases, earlier, values):
    """Say what changed and what looks like a mistake in a case; the number of changes."""
    gone = [text for text in earlier if text not in values]
    for text in gone:
        print(f"{area}: gone     {shorten(text)}")
    changed = len(gone)
    for case in cases:
        value = values[case.text]
        if case.text not in earlier:
            changed += 1
        elif json.dumps(earlier[case.text]) != json.dumps(value):
            changed += 1
            print(f"{area}:{case.line}: changed  {shorten(case.text)}")
        if isinstance(value, dict) and value.get("raises") in MISTAKES:
            print(f"{area}:{case.line}: mistake? {shorten(case.text)}\n    {value['message']}")
        if ADDRESS.search(json.dumps(value)):
            print(f"{area}:{case.line}: an address will not repeat: {shorten(case.text)}")
    raising = sum(isinstance(value, dict) and "raises" in value for value in values.values())
    print(f"{area}: {len(values)} cases, {raising} of them errors, {changed} changed")
    return changed


def shorten(text, limit=90):
    """Return a case on one short line."""
    text = " | ".join(text.splitlines())
    return text if len(text) <= limit else text[:limit] + "..."


def read_values(area):
    """What is recorded for an area: text of the case -> encoded description."""
    path = case_files.VALUES / f"{area}.json"
    if not path.exists():
        return {}
    return {entry["case"]: entry["gives"] for entry in json.loads(path.read_text("utf-8"))}


def write_values(area, values):
    """Write the values of an area as a whole, or not at all."""
    lines = [
        json.dumps({"case": text, "gives": value}, ensure_ascii=False)
        for text, value in values.items()
    ]
    path = case_files.VALUES / f"{area}.json"
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    os.replace(part, path)


def progress(items, title):
    """The items, with a bar: rich's where it is installed and this is a terminal, else our own."""
    if not sys.stderr.isatty():
        return items
    try:
        from rich.progress import track
    except ImportError:
        return plain_progress(items, title)
    return track(items, description=title)


def plain_progress(items, title, width=40, pause=0.1):
    """Yield a bar made of characters."""
    shown = 0.0
    for index, item in enumerate(items, start=1):
        yield item
        if time.monotonic() - shown > pause or index == len(items):
            shown = time.monotonic()
            done = width * index // len(items)
            bar = "#" * done + "." * (width - done)
            print(f"\r{title} [{bar}] {index}/{len(items)}", end="", file=sys.stderr)
    print(file=sys.stderr)


if __name__ == "__main__":
    main()
