"""Want of memory: ResourceExhaustedError that names the operation; variables are unchanged."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import talweg as tf
from talweg.core import settings
from talweg.core.errors import lacks_memory
from talweg.trace.autograph import calls

HUGE = 2**31 - 1
LARGE = {  # what no memory holds
    "zeros": lambda: tf.zeros([HUGE, HUGE]),
    "fill": lambda: tf.fill([HUGE, HUGE], 1.0),
    "random_normal": lambda: tf.random.normal([HUGE, HUGE]),
    "integers": lambda: tf.random.uniform([HUGE, HUGE], maxval=5, dtype=tf.int32),
    "range": lambda: tf.range(2**60),
    "repeat": lambda: tf.repeat(tf.ones([2]), 2**60),
    "one_hot": lambda: tf.one_hot([1, 2], 2**60),
    "eye": lambda: tf.eye(HUGE),
    "pad": lambda: tf.pad(tf.ones([2]), [[2**60, 0]]),
    "scatter": lambda: tf.scatter_nd([[0]], [1.0], [2**60]),
    "segments": lambda: tf.math.unsorted_segment_sum([1.0], [0], 2**60),
    "resize": lambda: tf.image.resize(tf.ones([1, 2, 2, 1]), [2**30, 2**30]),
    "strings": lambda: tf.fill([HUGE, HUGE], "a"),
}


@pytest.mark.parametrize("executor", ["eager", "interpret", "llvm", "xla"])
@pytest.mark.parametrize("name", LARGE)
def test_sizes_that_no_memory_holds(name, executor):
    v = tf.Variable(1.0)

    def f(x):
        v.assign_add(x)
        return LARGE[name]()

    if executor == "eager":
        with pytest.raises(tf.errors.ResourceExhaustedError):
            LARGE[name]()
        return
    with settings.executor(executor), pytest.raises(tf.errors.ResourceExhaustedError):
        tf.function(f)(1.0)
    assert float(v) == 1.0


PROGRAM = """
    import resource, sys
    import talweg as tf
    from talweg.core import settings

    n = 1500
    SMALL = {
        "svd": lambda x: tf.linalg.svd(x),
        "qr": lambda x: tf.linalg.qr(x),
        "eigh": lambda x: tf.linalg.eigh(x),
        "cholesky": lambda x: tf.linalg.cholesky(x),
        "inv": lambda x: tf.linalg.inv(x),
        "matmul": lambda x: x @ x,
        "sort": lambda x: tf.sort(x),
        "top_k": lambda x: tf.math.top_k(x, 700),
        "fft": lambda x: tf.signal.fft2d(tf.cast(x, tf.complex64)),
        "unique": lambda x: tf.unique(tf.reshape(x, [-1])),
        "concat": lambda x: tf.concat([x] * 9, 0),
        "normal": lambda x: tf.random.normal([n, n]) + x,
        "shuffle": lambda x: tf.random.shuffle(x),
        "as_string": lambda x: tf.strings.as_string(x),
        "join": lambda x: tf.strings.join([tf.fill([n, n], "a" * 60), "b"]),
        "split": lambda x: tf.strings.split([tf.strings.reduce_join(tf.fill([10**6], "ab "))]),
        "ragged": lambda x: tf.RaggedTensor.from_tensor(x) * 2.0 + 1.0,
        "to_tensor": lambda x: tf.ragged.range(tf.range(6000)).to_tensor(),
        "sparse": lambda x: tf.sparse.to_dense(tf.sparse.from_dense(x + 1.0)),
        "resize": lambda x: tf.image.resize(x[None, :, :, None], [4000, 4000]),
        "conv2d": lambda x: tf.nn.conv2d(x[None, :, :, None], tf.ones([5, 5, 1, 32]), 1, "SAME"),
        "pool": lambda x: tf.nn.max_pool2d(tf.tile(x[None, ..., None], [1, 1, 1, 9]), 5, 1, "SAME"),
        "encode": lambda x: tf.io.encode_png(tf.zeros([6000, 6000, 3], tf.uint8)),
        "serialize": lambda x: tf.io.serialize_tensor(tf.tile(x, [4, 4])),
        "cumsum": lambda x: tf.cumsum(tf.tile(x, [4, 1])),
        "gather": lambda x: tf.gather(x, tf.range(9000) % n),
        "segments": lambda x: tf.math.unsorted_segment_sum(x, tf.range(n), 9000),
        "map_fn": lambda x: tf.map_fn(lambda row: tf.tile(row, [9]), x),
        "pipeline": lambda x: tf.data.Dataset.from_tensors(x)
        .map(lambda y: tf.tile(y, [4, 4]))
        .batch(1)
        .reduce(0.0, lambda total, y: total + tf.reduce_sum(y)),
        "parallel pipeline": lambda x: tf.data.Dataset.from_tensors(x)
        .map(lambda y: tf.tile(y, [4, 4]), num_parallel_calls=2)
        .prefetch(1)
        .reduce(0.0, lambda total, y: total + tf.reduce_sum(y)),
    }
    refused = []
    v, x = tf.Variable(tf.zeros([3])), tf.eye(n)
    settings.executor.set("auto" if sys.argv[1] == "eager" else sys.argv[1])
    def step(of, x):
        v.assign_add(tf.ones([3]))
        return of(x)

    tf.function(step)(lambda x: tf.linalg.svd(tf.sin(x) @ x), tf.eye(200))  # loads what it needs
    v.assign(tf.zeros([3]))

    def attempt(name, of):
        try:
            if sys.argv[1] == "eager":
                of(x)
            else:
                tf.function(step)(of, x)
            v.assign(tf.zeros([3]))  # what was freed before may be enough
        except tf.errors.ResourceExhaustedError as error:
            assert "memory" in str(error), error
            refused.append(name)
        except (MemoryError, ImportError, OSError) as error:
            print(name, "gave", repr(error))
        assert float(tf.reduce_sum(v)) == 0, name

    with open("/proc/self/statm") as file:
        for name, of in SMALL.items():  # each has 6 MB, whatever those before it have kept
            file.seek(0)
            used = int(file.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + (6 << 20), resource.RLIM_INFINITY))
            attempt(name, of)
    if len(refused) < len(SMALL) // 2:
        print("only these were refused:", refused)
"""


@pytest.mark.parametrize("executor", ["eager", "interpret", "llvm", "xla"])
def test_kernels_without_memory(executor, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    found = subprocess.run(
        [sys.executable, path, executor], capture_output=True, text=True, timeout=300
    )
    assert (found.returncode, found.stdout) == (0, ""), found.stderr


def test_a_library_that_has_no_room_for_a_part_is_want_of_memory():
    """SciPy raises an error of its own then, from which nobody could tell."""
    with pytest.raises(ImportError) as caught:
        try:
            raise ImportError("part.so: failed to map segment from shared object")
        except ImportError as error:
            raise ImportError("this install seems to be broken") from error
    assert lacks_memory(caught.value)
    assert not lacks_memory(ImportError("no such module"))


def test_frames_that_python_has_no_room_for_are_want_of_memory():
    assert lacks_memory(SystemError("error return without exception set"))
    assert lacks_memory(SystemError("<function f> returned NULL without setting an exception"))
    assert not lacks_memory(SystemError("bad argument to internal function"))


FAILS = """
def fail(function):
    if function.__name__ == "<lambda>":
        raise SystemError("error return without exception set")
    return convert(function)
"""


def test_what_a_traced_function_called_has_no_room_for_a_frame(monkeypatch):
    """The user's function is on the way to it; what failed is talweg's all the same."""
    names = {"convert": calls.convert_code}
    exec(compile(FAILS, calls.__file__, "exec"), names)  # a function of talweg's
    monkeypatch.setattr(calls, "convert_code", names["fail"])
    v = tf.Variable(1.0)

    @tf.function
    def step(of, x):
        v.assign_add(x)
        return of(x)

    with pytest.raises(tf.errors.ResourceExhaustedError, match="not enough memory"):
        step(lambda x: x + 1.0, tf.constant(1.0))
    assert float(v) == 1.0


def test_want_of_memory_in_the_users_own_frame_is_his():
    def step(x):
        raise MemoryError("mine")

    with pytest.raises(MemoryError, match="mine"):
        tf.function(step)(1.0)
