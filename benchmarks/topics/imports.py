"""What a program pays before its first line: the import, measured in fresh Python processes."""

# pyright: reportSelfClsParameterName=false, reportArgumentType=false

from __future__ import annotations

import subprocess
import sys

from benchmarks.declare import AtMost, benchmark
from benchmarks.peers import PEERS

_FIRST_VALUE = {
    "numpy": "numpy.ones(3) + 1.0",
    "talweg": "talweg.constant([1.0, 2.0]) + 1.0",
    "tensorflow": "tensorflow.constant([1.0, 2.0]) + 1.0",
    "jax": "jax.numpy.ones(3) + 1.0",
    "torch": "torch.ones(3) + 1.0",
}


def _fresh_process(statements, numpy_first):
    """Seconds that `statements` take in a new process, after NumPy's own import or with it."""
    program = (
        "import time\n"
        + ("import numpy\n" if numpy_first else "")
        + f"started = time.perf_counter()\n{statements}\nprint(time.perf_counter() - started)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return float(done.stdout)


@benchmark("imports.package", aims=[AtMost(0.060)], timed=False, rounds=7)
class Package:
    """Importing the package when NumPy is loaded already; for NumPy, importing NumPy."""

    def every(peer):
        module = PEERS[peer].module
        return lambda: _fresh_process(f"import {module}", numpy_first=peer != "numpy")


@benchmark("imports.first_value", timed=False, rounds=7)
class FirstValue:
    """Import and one addition, NumPy loaded already: what laziness only puts off shows here."""

    def every(peer):
        statements = f"import {PEERS[peer].module}\n{_FIRST_VALUE[peer]}"
        return lambda: _fresh_process(statements, numpy_first=peer != "numpy")
