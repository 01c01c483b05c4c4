"""Record what TensorFlow gives for the programs of `tests/programs`.

Run with a Python that has TensorFlow 2.21 and, for `tf.layers` and `tf.nn.rnn_cell`, which
TensorFlow takes from there, tf_keras 2.21:

    python tools/record_programs.py                      every area
    python tools/record_programs.py v1                   one directory
    python tools/record_programs.py v1/saver             one area
    python tools/record_programs.py --new v1             only programs without a value
    python tools/record_programs.py --check v1           write nothing; fail on any change
    python tools/record_programs.py --show v1/saver      print what each program gives

Where talweg departs on purpose, write its own answer, with a Python that has talweg:

    python tools/record_programs.py --differs "the reason" v1/saver:program_name

A program that raises is reported and not recorded.  `tests/programs/collection.py` says how a
program is written.
"""

import argparse
import importlib
import json
import os
import sys
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from programs import collection, support  # noqa: E402
from recorded import comparison, description  # noqa: E402

QUIET = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "CUDA_VISIBLE_DEVICES": "-1",
    "TF_USE_LEGACY_KERAS": "1",
}


def main():
    """Record the areas named on the command line."""
    options = arguments()
    if options.differs:
        sys.exit(record_differences(options.areas, options.differs))
    known = collection.areas()
    chosen = [a for a in known if not options.areas or {a, a.split("/")[0]} & set(options.areas)]
    unknown = [
        n for n in options.areas if n not in known and n not in {a.split("/")[0] for a in known}
    ]
    if unknown:
        sys.exit(f"no such area: {', '.join(unknown)}; there are {', '.join(known)}")
    tf = load_tensorflow()
    support.making = {}
    outcomes = [record_area(area, tf, options) for area in chosen]
    changed, failed = (sum(column) for column in zip(*outcomes))
    if changed and not options.check:
        support.keep()
    print(f"{changed} program(s) {'would change' if options.check else 'changed'}, {failed} raised")
    sys.exit(1 if failed or (options.check and changed) else 0)


def arguments():
    """Return the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("areas", nargs="*", metavar="area", help="default: all areas")
    parser.add_argument("--new", action="store_true", help="keep what is recorded already")
    parser.add_argument("--check", action="store_true", help="write nothing; say what would change")
    parser.add_argument("--show", action="store_true", help="print what each program gives")
    parser.add_argument("--differs", metavar="REASON", help="record talweg's own answers")
    return parser.parse_args()


def record_differences(chosen, reason):
    """Write talweg's own answers to programs given as `area:name`; the names that do not exist."""
    known = {
        f"{area}:{program.name}": program
        for area in collection.areas()
        for program in collection.programs(area)
    }
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        return f"give programs as area:name; unknown: {', '.join(unknown)}"
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    talweg = importlib.import_module("talweg")
    entries = collection.read_differences()
    for program in (known[name] for name in chosen):
        gives = description.encode(collection.run(program, talweg))
        entry = {"area": program.area, "program": program.name, "reason": reason, "gives": gives}
        entries[program.area, program.name] = entry
    collection.write_differences(entries)
    return 0


def load_tensorflow():
    """TensorFlow, quiet, on one thread of the CPU, so that its answers repeat; two devices of it.

    The second device is for replicas (`distribute/`); nothing else uses it.
    """
    os.environ.update(QUIET)
    warnings.simplefilter("ignore")
    try:
        tf = importlib.import_module("tensorflow")
    except ImportError:
        sys.exit("This Python has no TensorFlow: run tools/record_programs.py with one that has.")
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    cpu = tf.config.list_physical_devices("CPU")[0]
    two = [tf.config.LogicalDeviceConfiguration() for _ in range(2)]
    tf.config.set_logical_device_configuration(cpu, two)
    tf.get_logger().setLevel("ERROR")
    return tf


def record_area(area, tf, options):
    """Run the programs of an area, write its values; how many changed and how many raised."""
    earlier, values, changed, failed = collection.read_values(area), {}, 0, 0
    for program in collection.programs(area):
        if options.new and program.name in earlier:
            values[program.name] = earlier[program.name]
            continue
        try:
            value = description.encode(collection.run(program, tf))
        except Exception as error:  # reported; the program is to be mended
            failed += 1
            print(f"{area} {program.name} raised {where(error)}")
            continue
        values[program.name] = value
        if options.show:
            print(f"{program.name}: {shorten(json.dumps(value))}")
        if "object" in json.dumps(value):
            print(f"{area} {program.name}: gives an object: {shorten(json.dumps(value))}")
        changed += is_changed(program, earlier, value)
    changed += len([name for name in earlier if name not in values])
    if changed and not options.check:
        collection.write_values(area, values)
    print(f"{area}: {len(values)} programs, {changed} changed, {failed} raised")
    return changed, failed


def is_changed(program, earlier, value):
    """Whether the value is new or differs; a difference is reported with what differs."""
    before = earlier.get(program.name)
    if before is None or before == value:
        return before is None
    decoded = [description.decode(tree) for tree in (value, before)]
    found = comparison.difference(*decoded, program.tolerance)
    print(f"{program.area} {program.name} changed: {found or 'within the tolerance'}")
    return True


def where(error):
    """Return the error and the line of the program it comes from."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/programs/" in f.filename]
    line = f"{frames[-1].name}:{frames[-1].lineno} {frames[-1].line}" if frames else ""
    return f"{type(error).__name__}: {shorten(str(error), 300)}\n    {line}"


def shorten(text, limit=400):
    """Return the text on one line that is not too long."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[:limit] + "..."


if __name__ == "__main__":
    main()
