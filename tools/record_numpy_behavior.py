"""Record what TensorFlow does once NumPy's behaviour is enabled, a process for each mode.

    python tools/record_numpy_behavior.py [mode ...]

Run it with a Python that has TensorFlow.  The cases stand in tests/recorded/cases/numpy_behavior,
in the syntax of `tests/recorded/case_files.py`; enabling cannot be undone, hence the processes.
"""

import argparse
import subprocess
import sys

import record

MODES = {
    "legacy": {},
    "prefer_float32": {"prefer_float32": True},
    "all": {"dtype_conversion_mode": "all"},
    "safe": {"dtype_conversion_mode": "safe"},
}


def main():
    """Record the modes named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modes", nargs="*", metavar="mode", help=", ".join(MODES))
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        tf = record.load_tensorflow()
        tf.experimental.numpy.experimental_enable_numpy_behavior(**MODES[options.here])
        options.new = options.check = False
        record.record_area(f"numpy_behavior/{options.here}", tf, options)
        return
    for mode in options.modes or MODES:
        subprocess.run([sys.executable, __file__, "--here", mode], check=True)


if __name__ == "__main__":
    main()
