"""The worker processes of a run: started when first asked, one a peer, all on the same cores."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.peers import PEERS, interpreter, missing

ROOT = Path(__file__).parent.parent
ONE_THREAD_EACH = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")
CPU_ONLY = {
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "PYTHONHASHSEED": "0",
}
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH")


class WorkerLost(Exception):
    """The worker died or did not answer in time; the message says what is known."""


class Worker:
    """One process and the line-JSON conversation with it."""

    def __init__(self, peer, python, threads):
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 -- closed with the worker
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", peer.name, str(threads)],
            cwd=ROOT,
            env=environment(threads, os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )
        assert self.process.stdin and self.process.stdout
        self.requests, self.replies = self.process.stdin, self.process.stdout
        self.ready = selectors.DefaultSelector()
        self.ready.register(self.replies, selectors.EVENT_READ)
        self.pending = b""

    def ask(self, timeout, **request):
        """Send one request and wait for its reply."""
        try:
            self.requests.write(json.dumps(request).encode() + b"\n")
            self.requests.flush()
        except BrokenPipeError:
            raise WorkerLost(f"worker died: {self.last_words()}") from None
        return json.loads(self._line(time.monotonic() + timeout))

    def _line(self, deadline):
        while b"\n" not in self.pending:
            if not self.ready.select(max(0.0, deadline - time.monotonic())):
                raise WorkerLost("no answer in time")
            chunk = os.read(self.replies.fileno(), 65536)
            if not chunk:
                raise WorkerLost(f"worker died: {self.last_words()}")
            self.pending += chunk
        line, _, self.pending = self.pending.partition(b"\n")
        return line

    def last_words(self):
        """The last line the worker wrote to stderr, without paths; or its exit status."""
        try:
            status = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "it closed its output and did not end"
        self.errors.seek(0)
        lines = self.errors.read().strip().splitlines()
        return without_paths(lines[-1]) if lines else f"exit status {status}"

    def close(self):
        """End the process, gently and then not."""
        with contextlib.suppress(BrokenPipeError):
            self.requests.close()
        try:
            self.process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.ready.close()
        self.replies.close()
        self.errors.close()


class Absent(Exception):
    """A peer that cannot be measured on this machine."""


class Crew:
    """The workers of one run at one number of threads; remembers who is absent and why."""

    def __init__(self, names, threads, timeout=300.0):
        self.names = names
        self.threads = threads
        self.timeout = timeout
        self.workers = {}
        self.absent = {}
        self.versions = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in list(self.workers):
            self.dismiss(name)

    def ask(self, name, **request):
        """Ask a peer's worker, starting it first; a lost worker is dismissed and replied for."""
        if name in self.absent:
            return {"ok": False, "absent": True, "error": self.absent[name]}
        try:
            reply = self._worker(name).ask(self.timeout, **request)
            return reply if reply["ok"] else reply | {"error": without_paths(reply["error"])}
        except WorkerLost as lost:
            self.dismiss(name)
            return {"ok": False, "error": str(lost)}
        except Absent as absent:
            self.absent[name] = str(absent)
            return {"ok": False, "absent": True, "error": str(absent)}

    def dismiss(self, name):
        """End a peer's worker; the next request starts a fresh one."""
        worker = self.workers.pop(name, None)
        if worker:
            worker.close()

    def _worker(self, name):
        if name not in self.workers:
            python = interpreter(PEERS[name])
            if not python:
                raise Absent(missing(PEERS[name]))
            self.workers[name] = worker = self._started(name, python)
            hello = worker.ask(self.timeout, do="hello")
            if not hello["ok"]:
                self.dismiss(name)
                raise Absent(without_paths(hello["error"]))
            self.versions[name] = hello["versions"]
        return self.workers[name]

    def _started(self, name, python):
        try:
            return Worker(PEERS[name], python, self.threads)
        except OSError as error:
            raise Absent(f"{PEERS[name].variable}: {error.strerror}") from None


def environment(threads, environ):
    """The environment of a worker: little of ours, CPU only, `threads` for every library."""
    kept = {name: environ[name] for name in KEPT if name in environ}
    kept |= {name: value for name, value in environ.items() if name.startswith("TALWEG_")}
    count = {f"{name}_NUM_THREADS": str(threads) for name in ONE_THREAD_EACH}
    tensorflow = {f"TF_NUM_{kind}_THREADS": str(threads) for kind in ("INTRAOP", "INTEROP")}
    return kept | CPU_ONLY | count | tensorflow


def without_paths(text):
    """Text with every absolute path cut down to its last part.

    >>> without_paths("no module in /somewhere/else/file.py, sorry")
    'no module in file.py, sorry'
    """
    return re.sub(r"(?:/[\w.+-]+)+/([\w.+-]+)", r"\1", text)
