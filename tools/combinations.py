"""Ask TensorFlow and talweg for every combination of arguments that a user would try.

`tools/combinations.txt` has functions with choices for each argument.  Of each function the usual
call is asked for, every call that departs from it in one argument, and a sample of those that
depart in two.

    python tools/combinations.py ask tensorflow FILE [part of a name ...]   where TensorFlow is
    python tools/combinations.py ask talweg FILE [part of a name ...]
    python tools/combinations.py compare THEIRS OURS [--cases] [--all]

A file has one answer a line.  A call that ends the process is answered by `{"crash": true}`, and
the rest is asked in a new one.  `--cases` prints what differs as cases for `tests/recorded`.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import importlib
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from recorded import case_files, comparison, description, helpers  # noqa: E402

TABLE = Path(__file__).with_suffix(".txt")
PAIRS = 120  # calls that depart from the usual one in two arguments, of a function
SECONDS = 20  # for one call
# What TensorFlow's CPU build says where it has no kernel: talweg may compute.
NO_KERNEL = re.compile(
    r"Could not find device|not in the list of allowed|No unary variant|No OpKernel"
    r"|is not supported|not implemented|[Uu]nsupported|Invalid data type|only supports"
    r"|cannot compute \w+ as"
    r"|Cannot convert (True|\[True, False\]) to EagerTensor|convert a value \(SparseTensor"
    r"|object is not iterable|can only concatenate|has no len|index out of range"
    r"|must be in[a-z ]*int|indices must be|list cannot be interpreted"
)
MINOR = ("more is accepted", "their crash", "class of their accident")
STUMBLES = ("AttributeError", "SystemError", "UnboundLocalError", "NameError", "InternalError")


def calls() -> dict[str, list[str]]:
    """Return the texts of all calls, by function."""
    pools: dict[str, list[str]] = {}
    found: dict[str, list[str]] = {}
    for line in TABLE.read_text("utf-8").splitlines():
        if line.startswith("@"):
            name, _, rest = line[1:].partition(" ")
            pools[name] = choices(rest, pools)
        elif line.strip() and not line.startswith("#"):
            head, _, rest = line.partition("=")
            names, _, first = head.rpartition(" ")
            form = "list({})" if names.removeprefix("loose ").startswith("listed ") else "{}"
            arguments = []
            for text in f"{first}={rest}".split(" ; "):
                argument, _, values = text.partition("=")
                arguments.append((argument.strip(), choices(values, pools)))
            loose = "[loose] " if names.startswith("loose ") else ""
            for key in names.removeprefix("loose ").removeprefix("listed ").split(", "):
                texts = [loose + form.format(text) for text in build_calls(key, arguments)]
                known = found.setdefault(key, [])
                known += [text for text in dict.fromkeys(texts) if text not in set(known)]
    return found


def choices(text: str, pools: dict[str, list[str]]) -> list[str]:
    """Return the choices of a list, with those of the pools it names."""
    found: list[str] = []
    for choice in text.strip().split(" | "):
        found += pools[choice[1:]] if choice.startswith("@") else [choice.strip()]
    return list(dict.fromkeys(found))


def build_calls(name: str, arguments: list[tuple[str, list[str]]]) -> list[str]:
    """The usual call, those that depart from it once, and a sample of those that do twice."""
    usual = [values[0] for _, values in arguments]

    def call(chosen: dict[int, str]) -> str:
        given = [chosen.get(k, usual[k]) for k in range(len(usual))]
        parts = [
            value if argument == "_" else f"{argument}={value}"
            for (argument, _), value in zip(arguments, given)
            if value != "!"
        ]
        return f"tf.{name}({', '.join(parts)})"

    once = [{k: v} for k, (_, values) in enumerate(arguments) for v in values[1:]]
    twice = [
        {j: v, k: w}
        for (j, (_, first)), (k, (_, second)) in itertools.combinations(enumerate(arguments), 2)
        for v in first[1:]
        for w in second[1:]
    ]
    random.Random(name).shuffle(twice)
    return [call(chosen) for chosen in [{}, *once, *twice[:PAIRS]]]


def choose_calls(parts: list[str]) -> list[str]:
    """Return the calls of functions whose names have one of the parts."""
    return [
        text
        for name, texts in calls().items()
        if not parts or any(part in name for part in parts)
        for text in texts
    ]


def ask(module: str, path: Path, parts: list[str]) -> None:
    """Write what a module answers to calls that the file lacks, in processes behind crashes."""
    path.touch()
    texts = choose_calls(parts)
    while missing(texts, path):
        command = [sys.executable, __file__, "part", module, str(path), *parts]
        subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
        left = missing(texts, path)
        if left:
            write(path, left[0], {"crash": True})


def missing(texts: list[str], path: Path) -> list[str]:
    """Return the calls that a file has no answer for."""
    known = read(path)
    return [text for text in texts if text not in known]


def read(path: Path) -> dict[str, dict]:
    """Return the answers in a file, by call."""
    lines = path.read_text("utf-8").splitlines()
    return {row["call"]: row["gives"] for row in map(json.loads, lines)}


def write(path: Path, text: str, gives: object) -> None:
    """Append an answer to a file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"call": text, "gives": gives}) + "\n")


def answer(module: str, path: Path, parts: list[str]) -> None:
    """Append the answers that a file lacks, as long as the process lives."""
    os.environ.update({"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"})
    warnings.simplefilter("ignore")
    tf = importlib.import_module(module)
    importlib.import_module("logging").disable(50)
    names = helpers.namespace(tf)

    def stop(*_: object) -> None:
        raise InterruptedError("too slow")

    signal.signal(signal.SIGALRM, stop)
    known = read(path)
    for text in choose_calls(parts):
        if text in known:
            continue
        case = case_files._case("combinations", 0, text)
        signal.alarm(SECONDS)
        faulthandler.dump_traceback_later(2 * SECONDS, exit=True)  # what no signal interrupts
        found = description.run(case, tf, names)
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
        shown = description.encode(found, "loose" not in case.flags)
        if isinstance(found, dict) and "raises" in found:
            shown["classes"] = found["classes"]
        write(path, text, shown)


def compare(theirs: Path, ours: Path, parts: list[str], cases: bool, everything: bool) -> None:
    """Print what differs, by function, the most frequent first; then the counts."""
    wanted, got = read(theirs), read(ours)
    count: collections.Counter[str] = collections.Counter()
    shown = collections.defaultdict(list)
    for text in choose_calls(parts):
        if text not in wanted or text not in got:
            continue
        case = case_files._case("combinations", 0, text)
        kind, found = judge(wanted[text], got[text], case.flags)
        count[kind] += 1
        if found and (everything or kind not in MINOR):
            shown[text.removeprefix("list(").partition("(")[0]].append((kind, text, found))
    for name, rows in sorted(shown.items(), key=lambda item: -len(item[1])):
        if not cases:
            print(f"\n== {name}: {len(rows)}")
        for kind, text, found in rows:
            print(text if cases else f"{kind}: {text}\n      {found}")
    if not cases:
        print(dict(count), "of", sum(count.values()))


def judge(wanted: dict, got: dict, flags: dict) -> tuple[str, str | None]:
    """Return the kind of difference between two answers, and the difference in words."""
    if isinstance(wanted, dict) and "crash" in wanted:
        return "their crash", "crash"
    if isinstance(got, dict) and "crash" in got:
        return "our crash", "crash"
    found = comparison.difference(_decode(got), _decode(wanted), flags)
    if found is None:
        return "same", None
    raises = [isinstance(tree, dict) and "raises" in tree for tree in (wanted, got)]
    if raises == [True, False]:
        if NO_KERNEL.search(wanted["message"]) or wanted["raises"] in STUMBLES:
            return "more is accepted", found
        return "not refused", found
    if raises == [True, True] and (
        wanted["raises"] in STUMBLES
        or NO_KERNEL.search(wanted["message"])
        or "to EagerTensor of dtype" in wanted["message"]  # depends on the other arguments there
    ):
        return "class of their accident", found
    if raises == [False, True]:
        return "refused", found
    return ("class of error" if raises[0] else "value"), found


def _decode(tree: dict) -> dict:
    return tree if isinstance(tree, dict) and "raises" in tree else description.decode(tree)


def main() -> None:
    """Ask or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("task", choices=["ask", "part", "compare", "count"])
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--cases", action="store_true", help="as cases for tests/recorded")
    parser.add_argument("--all", action="store_true", help="what talweg accepts beyond, too")
    options = parser.parse_args()
    rest = options.rest
    if options.task == "ask":
        ask(rest[0], Path(rest[1]), rest[2:])
    elif options.task == "part":
        answer(rest[0], Path(rest[1]), rest[2:])
    elif options.task == "count":
        print(len(choose_calls(rest)))
    else:
        compare(Path(rest[0]), Path(rest[1]), rest[2:], options.cases, options.all)


if __name__ == "__main__":
    main()
