"""The process that measures one peer: requests on stdin, answers on stdout, a JSON line each.

    hello                           -> versions
    prepare benchmark, contender    -> seconds of one call, a digest of what it returned
    run slot, iterations            -> wall and CPU seconds of each call, or the figure reported
    release                         -> forgets what was prepared

Runs in the peer's environment, so it needs only the standard library, NumPy and the peer.
Whatever else writes to stdout goes to stderr: the channel is taken at the start.
"""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import inspect
import itertools
import json
import os
import platform
import sys
import time

from benchmarks import declare
from benchmarks.peers import PEERS, TENSORFLOW_FAMILY

WARM_CALLS = 20
WARM_SECONDS = 0.3
LONG_CALL = 0.2
IN_STEP_SECONDS = 0.03


class Session:
    """What this worker has prepared, and the answer to each request."""

    def __init__(self, peer, registry):
        self.peer = peer
        self.registry = registry
        self.slots = {}
        self.overhead = None

    def answer(self, request):
        """The reply to one request; an exception of the measured code becomes a reply too."""
        try:
            reply = getattr(self, "do_" + request.pop("do"))(**request)
            return {"ok": True, **reply}
        except declare.Unfit as reason:
            return {"ok": False, "unfit": True, "error": str(reason)}
        except Exception as error:
            return {"ok": False, "error": describe(error)}

    def do_hello(self):
        """Import the peer and say which versions answer."""
        started = time.perf_counter()
        module = importlib.import_module(self.peer.module)
        seconds = time.perf_counter() - started
        if getattr(module, "__file__", None) is None:
            raise ImportError(f"{self.peer.module} is an empty folder, no package")
        return {"versions": versions(self.peer), "import_seconds": seconds}

    def do_prepare(self, benchmark, contender):
        """Set a contender up, call it twice for the digest and until it is warm."""
        declared = self.registry[benchmark]
        setup = declared.contender(contender).setup
        call, evidence = opened(setup, self.peer.name, declared.parameters)
        self.slots[contender] = call, declared.timed
        if not declared.timed:
            return {"seconds": 0.0, "first_call": 0.0, "digest": []}
        started = time.perf_counter()
        first = call()
        first_call = time.perf_counter() - started
        return {
            "digest": digest(evidence()) if evidence else [*digest(first), *digest(call())],
            "first_call": first_call,
            "seconds": warm_up(call, declared.settle),
        }

    def do_run(self, slot, iterations, in_step=None):
        """One sample: seconds of one call, wall and CPU, without the cost of the loop itself."""
        call, is_timed = self.slots[slot]
        if not is_timed:
            figure = call()
            return {"wall": figure, "cpu": figure}
        get_in_step(call, IN_STEP_SECONDS if in_step is None else in_step)
        if self.overhead is None:
            self.overhead = min(loop(lambda: None, 20_000)[0] for _ in range(5))
        wall, cpu = loop(call, iterations)
        return {"wall": max(0.0, wall - self.overhead), "cpu": max(0.0, cpu - self.overhead)}

    def do_release(self):
        """Drop everything prepared."""
        self.slots.clear()
        gc.collect()
        return {}


def loop(call, iterations):
    """Wall and CPU seconds of one call, as the mean over `iterations` calls."""
    turns = itertools.repeat(None, iterations)
    cpu = time.process_time()
    wall = time.perf_counter()
    for _ in turns:
        call()
    wall = time.perf_counter() - wall
    cpu = time.process_time() - cpu
    return wall / iterations, cpu / iterations


def warm_up(call, settle=0.0):
    """Call until caches, pools and compilers have settled; seconds of the fastest call."""
    best, spent = float("inf"), 0.0
    for calls in itertools.count(1):
        wall, _ = loop(call, 1)
        best, spent = min(best, wall), spent + wall
        if spent >= settle and (spent > WARM_SECONDS or calls >= WARM_CALLS):
            return best


def get_in_step(call, seconds):
    """Call, untimed, until caches are warm and the threads of others no longer wait actively.

    Threads of OpenBLAS look out for more work for 25 ms after a product.
    """
    end = time.perf_counter() + seconds
    while True:
        call()
        if time.perf_counter() >= end:
            return


def opened(setup, peer, parameters):
    """What a setup makes: the callable to measure, and the evidence to compare or None."""
    made = setup(**arguments(setup, peer, parameters))
    return made if isinstance(made, tuple) else (made, None)


def arguments(setup, peer, parameters):
    """What a setup asks for by the names of its arguments."""
    return {
        name: parameters[name] if name in parameters else provide(name, peer)
        for name in inspect.signature(setup).parameters
    }


def provide(name, peer):
    """A module, or the peer's name, by the argument that asks for it."""
    if name == "peer":
        return peer
    if name == "tf" and peer in TENSORFLOW_FAMILY:
        return importlib.import_module(PEERS[peer].module)
    modules = {"np": "numpy", "jax": "jax", "jnp": "jax.numpy", "torch": "torch"}
    if name not in modules:
        raise LookupError(f"no peer {peer!r} can provide {name!r}")
    return importlib.import_module(modules[name])


def digest(result):
    """A few numbers that two libraries computing the same thing agree on; [] for no result."""
    if result is None:
        return []
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [number for part in result for number in digest(part)]
    numpy = importlib.import_module("numpy")
    if hasattr(result, "detach"):
        result = result.detach()
    values = numpy.asarray(result).astype("float64")
    return [float(numpy.abs(values).mean()) if values.size else 0.0]


def describe(error):
    """The class and first line of an exception, and the deepest line of the traceback."""
    text = str(error).strip().splitlines() or [""]
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = ""
    if where is not None:
        file = os.path.basename(where.tb_frame.f_code.co_filename)
        place = f" ({file}:{where.tb_lineno})"
    return f"{type(error).__name__}: {text[0]}{place}"


def versions(peer):
    """The versions of the distributions that matter for this peer's figures."""
    found = {"python": platform.python_version()}
    for distribution in peer.distributions:
        try:
            found[distribution] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    module = sys.modules.get(peer.module)
    if peer.name == "talweg" and module is not None:
        found["talweg"] = getattr(module, "__version__", "?")
    return found


def claim_stdout():
    """A channel on the real stdout; prints of libraries go to stderr from here on."""
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return channel


def pin(threads):
    """Keep to the last `threads` cores, before any library counts them; where the system can."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[-threads:])


def main(name, threads):
    """Answer requests until stdin closes."""
    pin(threads)
    channel = claim_stdout()
    session = Session(PEERS[name], declare.load_topics())
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "stop":
            break
        print(json.dumps(session.answer(request)), file=channel, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
    sys.stderr.flush()
    os._exit(0)
