"""The first compiled call of a process, made by several threads at once."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time

from talweg.core.locking import once

PROGRAM = """
import sys, threading, time
import numpy as np
import talweg as tf
from talweg.execute.llvm.link import code
from talweg.execute.llvm.runtime import dispatch

before = code.compile_module
def slow(*args, **kwargs):  # so that threads are in it together
    time.sleep(0.2)
    return before(*args, **kwargs)
code.compile_module = slow

x = tf.constant(np.arange(4, dtype=np.float32))
functions = [tf.function(lambda x, n=n: x * float(n) + 1.0) for n in range(6)]
wrong = []

def work(function, n):
    for _ in range(50):
        if function(x).numpy().tolist() != [n * i + 1.0 for i in range(4)]:
            wrong.append(n)

threads = [threading.Thread(target=work, args=(f, n)) for n, f in enumerate(functions)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(len(wrong))
"""


def test_first_calls_of_a_process_in_threads(monkeypatch):
    """Each thread made the entry to machine code; all but the last one's was freed, and called."""
    monkeypatch.setenv("TALWEG_EXECUTOR", "llvm")
    program = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    found = subprocess.run(program, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr[-2000:]


def test_once():
    made: list = []

    @once
    def make() -> object:
        time.sleep(0.01)
        made.append(object())
        return made[-1]

    found: list = []
    threads = [threading.Thread(target=lambda: found.append(make())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and set(map(id, found)) == {id(made[0])}
