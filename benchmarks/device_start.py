"""How long the first call of a compiled step takes through XLA, beside JAX written by hand.

    python -m benchmarks.device_start compiled.cnn talweg

prints, as JSON, the seconds of the first call (tracing, compiling or finding on disk, running), of
the clock and of the processor.  Libraries are imported and variables made before.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module

from benchmarks import declare, worker
from benchmarks.device_calls import in_a_process
from benchmarks.starting import caches


def observe(name, label):
    """Seconds of the first call of a contender's step."""
    declared = declare.load_topics()[name]
    setup = declared.contender(label).setup
    import_module("talweg.execute.xla.engine" if label == "talweg" else "jax")
    made = setup(**worker.arguments(setup, label.partition(" ")[0], declared.parameters))
    step = made[0] if isinstance(made, tuple) else made
    begun, spent = time.perf_counter(), time.process_time()
    result = step()
    getattr(result, "numpy", getattr(result, "block_until_ready", lambda: None))()
    return {"wall": time.perf_counter() - begun, "cpu": time.process_time() - spent}


def observed(name, label, folder):
    """`observe` in a process of its own, whose compilers keep what they cache in `folder`.

    talweg keeps what it has compiled itself, so JAX's cache is on for JAX alone.
    """
    kept = caches(folder)
    if label == "talweg":
        kept = {key: value for key, value in kept.items() if not key.startswith("JAX_")}
    return in_a_process("benchmarks.device_start", name, label, threads="", **kept)


if __name__ == "__main__":
    print(json.dumps(observe(sys.argv[1], sys.argv[2])))
