"""Run the jobs of one library and print what they give, a line of JSON for each.

python -m library_jobs NAME [--talweg]     (with this folder's parent on PYTHONPATH)
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback

import numpy as np


def plain(value):
    """A result as JSON has it, numbers rounded to 4 digits."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, (str, bool, int, type(None))):
        return value
    array = np.asarray(value)
    return np.round(array.astype("float64"), 4).tolist() if array.dtype != object else str(value)


def main() -> None:
    """Run all functions `job_...` of the module, each with the same seeds."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if "--talweg" in sys.argv:
        importlib.import_module("talweg").as_tensorflow()
    tensorflow = importlib.import_module("tensorflow")
    importlib.import_module("keras")  # some libraries load it late; its import is not timed
    module = importlib.import_module(f"library_jobs.{sys.argv[1]}")
    for name, job in list(vars(module).items()):
        if not name.startswith("job_"):
            continue
        tensorflow.keras.utils.set_random_seed(1)
        start = time.perf_counter()
        try:
            found, error = plain(job()), None
        except Exception as caught:  # whatever a job raises is its result
            found, error = None, f"{type(caught).__name__}: {str(caught)[:200]}"
            traceback.print_exc()
        seconds = round(time.perf_counter() - start, 2)
        line = {"job": name, "result": found, "error": error, "seconds": seconds}
        print("JOB", json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
