"""What a program was made into is found again, by programs that are the same and by no others."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.core.errors import InternalError
from talweg.execute import cache, compilation, executor, heap, manifest


@pytest.fixture(autouse=True)
def compiled(tmp_path):
    """Everything is compiled, into an empty cache."""
    with settings.cache(str(tmp_path / "cache")), settings.executor("llvm"):
        yield tmp_path / "cache"


@pytest.fixture
def lowered(monkeypatch):
    """The names of the programs that were lowered."""
    found, made = [], compilation.compile_program

    def noted(program, *rest):
        found.append(program.name)
        return made(program, *rest)

    monkeypatch.setattr(compilation, "compile_program", noted)
    return found


X = np.linspace(-1, 1, 12).reshape(3, 4).astype("float32")


def dense():
    weights = tf.Variable(tf.ones([4, 2]))
    steps = tf.Variable(0)

    def run(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.softmax(x @ weights) ** 2)
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        steps.assign_add(1)
        return loss, weights.read_value(), steps.read_value()

    return run


def dropout():
    generator = tf.random.Generator.from_seed(3)
    return lambda x: (tf.random.stateless_uniform([3], [1, 2]) * x[:, 0], generator.normal([2]))


def seeded():
    tf.random.set_seed(5)
    return lambda x: tf.nn.dropout(x, 0.5, seed=7) + tf.random.normal([4], seed=3)


def called():
    @tf.function
    def inner(x, y):
        return tf.tanh(x) * y, x + y

    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            one, two = inner(x, x * 2)
            loss = tf.reduce_sum(one * two)
        return tape.gradient(loss, x)

    return run


def looped():
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for i in tf.range(3):
                if tf.reduce_sum(y) > tf.cast(i, tf.float32) - 0.5:  # sums of 0 are rounded anyhow
                    y = y * x + 1.0
                else:
                    y = tf.sin(y)
            while tf.reduce_max(y) < 10.0:
                y = y * 1.5 + 1.0
        return y, tape.gradient(y, x)

    return run


def scanned():
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.scan(lambda total, row: tf.tanh(total * row), x, tf.ones([4]))
        return y, tape.gradient(y, x)

    return run


def guarded():
    table = tf.constant(np.arange(20, dtype="float32").reshape(5, 4))
    return lambda x: tf.gather(table, tf.cast(x[:, 0] + 1.5, tf.int32)) + x


def sized():
    return tf.function(
        lambda x: tf.reshape(x, [tf.shape(x)[0] * 2, -1]) - tf.reduce_mean(x, 0)[:2],
        input_signature=[tf.TensorSpec([None, 4])],
    )


def with_constants():
    numbers = np.float32([[0.0, -0.0, np.nan, np.inf]])
    return lambda x: tf.where(tf.math.is_nan(numbers), x, numbers / x)


PROGRAMS = [dense, seeded, called, looped, scanned, guarded, sized, with_constants]


def numbers(result):
    return [np.asarray(each) for each in tf.nest.flatten(result)]


def test_loops_name_the_code(monkeypatch):
    """A program that another process lowered otherwise has code of another name on disk."""
    names, before = [], compilation.name_of

    def name_of(program):
        names.append(before(program))
        return names[-1]

    monkeypatch.setattr(compilation, "name_of", name_of)
    x = tf.constant(X)
    for factor in (1.0, 2.0):
        tf.function(lambda x, factor=factor: tf.tanh(x) + factor)(x)
    assert len(set(names)) == len(names) == 2


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_the_same_program_is_lowered_once(make, lowered):
    results = []
    for _ in range(3):
        function = make()
        function = function if hasattr(function, "python_function") else tf.function(function)
        results.append([numbers(function(tf.constant(X))) for _ in range(3)])
        if len(results) == 1:
            once = list(lowered)
    assert once and lowered == once
    with settings.executor("interpret"):
        plain = make()
        plain = plain if hasattr(plain, "python_function") else tf.function(plain)
        wanted = [numbers(plain(tf.constant(X))) for _ in range(3)]
    for found in results:
        for ours, first, other in zip(found, results[0], wanted):
            for a, b, c in zip(ours, first, other, strict=True):
                np.testing.assert_array_equal(a, b)
                np.testing.assert_allclose(a, c, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("make", [dropout, seeded])
def test_random_numbers_go_on(make):
    results = []
    for _ in range(3):
        function = tf.function(make())
        results.append([numbers(function(tf.constant(X))) for _ in range(3)])
    with settings.executor("interpret"):
        function = tf.function(make())
        results.append([numbers(function(tf.constant(X))) for _ in range(3)])
    assert not np.array_equal(results[0][0][-1], results[0][1][-1])
    for found in results:
        for ours, first in zip(found, results[0], strict=True):
            for a, b in zip(ours, first, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6)


def test_errors_that_depend_on_values(lowered):
    for _ in range(2):
        function = tf.function(guarded())
        function(tf.constant(X))
        with pytest.raises(tf.errors.InvalidArgumentError, match="= 8 is not in"):
            function(tf.constant(X + 8))
    assert len(lowered) == 1


ZERO = np.zeros(2, "float32")
DIFFERENT = [
    lambda x: x + 1.0,
    lambda x: x + 2.0,
    lambda x: x * 2.0,
    lambda x: x + ZERO,
    lambda x: x + -ZERO,
    lambda x: x + ZERO / 0,
    lambda x: x + np.float32([0, 1]),
    lambda x: (x, x + 1.0),
    lambda x: (x + 1.0, x),
    lambda x: tf.concat([x, x], 0),
    lambda x: tf.stack([x, x], 0),
    lambda x: tf.stack([x, x], 1),
    lambda x: tf.reduce_sum(x, 0),
    lambda x: tf.reduce_sum(x, 0, keepdims=True),
    lambda x: tf.reduce_max(x, 0),
    lambda x: tf.cast(x, tf.float64),
    lambda x: tf.cast(x, tf.int32),
    lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32),
    lambda x: tf.random.stateless_uniform([2], [1, 2]) + x,
    lambda x: tf.random.stateless_uniform([2], [1, 3]) + x,
    lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), (0, x))[1],
    lambda x: tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * 2.0), (0, x))[1],
    lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 3.0), (0, x))[1],
    lambda x: tf.cond(x[0] > 0, lambda: x, lambda: x + 1.0),
    lambda x: tf.cond(x[0] > 0, lambda: x + 1.0, lambda: x),
    lambda x: tf.cond(x[0] >= 0, lambda: x, lambda: x + 1.0),
]


def test_no_program_is_taken_for_another(lowered):
    given = tf.constant([1.25, -2.0])
    with np.errstate(invalid="ignore"):
        for _ in range(2):
            for function in DIFFERENT:
                with settings.executor("interpret"):
                    wanted = numbers(tf.function(function)(given))
                for a, b in zip(numbers(tf.function(function)(given)), wanted, strict=True):
                    assert a.dtype == b.dtype
                    np.testing.assert_array_equal(a, b)
                    np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
    assert len(lowered) == len(DIFFERENT)


def test_kinds_of_arguments_and_variables(lowered):
    def assigning(first, second):
        def run(x):
            first.assign(x)
            second.assign(x + 1)
            return x

        return run

    one, two = tf.Variable([1.0]), tf.Variable([2.0])
    tf.function(assigning(one, two))(tf.constant([5.0]))
    assert (one.numpy(), two.numpy()) == ([5.0], [6.0])
    tf.function(assigning(two, one))(tf.constant([7.0]))
    assert (one.numpy(), two.numpy()) == ([8.0], [7.0])
    assert len(lowered) == 1
    small = tf.Variable([1, 2])
    tf.function(assigning(small, tf.Variable([1, 2])))(tf.constant([3, 4]))
    assert len(lowered) == 2
    add = lambda x, y: x + y  # noqa: E731
    for shapes in ((2,), (2,)), ((2,), (1,)), ((1, 2), (2,)):
        tf.function(add)(*[tf.ones(shape) for shape in shapes])
    assert len(lowered) == 5
    read = tf.function(lambda x: x * small.read_value())
    read(tf.constant([1, 2]))
    read(small)
    assert len(lowered) == 7


def test_what_decides_beside_the_program(lowered, monkeypatch):
    double = lambda x: x * 2  # noqa: E731
    tf.function(double)(tf.ones([2]))
    with settings.winograd(False):
        tf.function(double)(tf.ones([2]))
    threads = settings.threads.get()
    with settings.threads(2 if threads == 1 else 1):
        tf.function(double)(tf.ones([2]))
    assert len(lowered) == 3
    monkeypatch.setattr(manifest, "_fingerprint", lambda: "another version")
    tf.function(double)(tf.ones([2]))
    assert len(lowered) == 4
    tf.function(double)(tf.ones([2]))
    assert len(lowered) == 4


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.numpy_function(lambda y: y + 1, [x], tf.float32) * 2,
        lambda x: tf.reduce_sum(tf.boolean_mask(x, x > 0) * 2),
        lambda x: tf.linalg.qr(tf.reshape(x, [2, 2]) * 2)[1],
        lambda x: tf.reduce_sum(np.arange(400_000, dtype="float32")[:, None] * x, 0),
    ],
)
def test_what_is_not_kept(function, lowered):
    given = tf.constant([1.0, 2.0, 3.0, 4.0])
    results = [numbers(tf.function(function)(given)) for _ in range(2)]
    np.testing.assert_array_equal(*results)
    assert len(lowered) == 2


def test_without_code_or_with_damage_it_is_made_again(compiled, lowered):
    double = lambda x: x * 2  # noqa: E731

    def run():
        assert tf.function(double)(tf.ones([2])).numpy().tolist() == [2, 2]
        return len(lowered)

    assert run() == run() == 1
    paths = list(compiled.iterdir())
    manifests = [path for path in paths if b'"buffers"' in path.read_bytes()]
    assert len(manifests) == 1
    for path in paths:
        if path not in manifests:
            path.unlink()
    assert run() == 2 and run() == 2
    content = bytearray(manifests[0].read_bytes())
    content[-3] ^= 1
    manifests[0].write_bytes(content)
    assert run() == 3 and run() == 3
    manifests[0].write_bytes(content[:50])
    assert run() == 4


def test_who_looks_sees_the_loops(lowered, capsys):
    double = lambda x: x * 2  # noqa: E731
    tf.function(double)(tf.ones([2]))
    with settings.debug(4):
        tf.function(double)(tf.ones([2]))
    assert len(lowered) == 2 and "kernel" in capsys.readouterr().err


def test_without_a_cache():
    with settings.cache("off"):
        assert cache.current() is None
        assert float(tf.function(lambda x: x * 2)(tf.constant(4.0))) == 8


def test_a_second_process_loads_neither_passes_nor_llvm(compiled):
    script = (
        "import sys, talweg as tf\n"
        "w = tf.Variable(tf.ones([4, 4]))\n"
        "@tf.function\n"
        "def step(x):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_sum(tf.nn.relu(x @ w))\n"
        "    w.assign_sub(0.1 * tape.gradient(loss, w))\n"
        "    return loss\n"
        "print([float(step(tf.ones([2, 4]))) for _ in range(3)])\n"
        "heavy = 'llvmlite', 'talweg.lower.build', 'talweg.passes.specialize.specializer'\n"
        "print([name in sys.modules for name in heavy])\n"
    )
    root = os.path.dirname(os.path.dirname(tf.__file__))
    environment = os.environ | {"TALWEG_CACHE": str(compiled), "PYTHONPATH": root}
    environment |= {"TALWEG_EXECUTOR": "llvm"}
    command = [sys.executable, "-c", script]
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert first.splitlines()[0] == second.splitlines()[0]
    assert first.splitlines()[1] == "[True, True, True]"
    assert second.splitlines()[1] == "[False, False, False]"


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("fails", [False, True])
def test_the_collector_rests_while_something_is_made(enabled, fails, monkeypatch):
    seen, build = [], compilation.build

    def noted(*given, **named):
        seen.append(gc.isenabled())
        if fails:
            raise KeyError("a fault of ours")
        return build(*given, **named)

    monkeypatch.setattr(compilation, "build", noted)
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(InternalError, match="TW404") if fails else nullcontext():
            tf.function(lambda x: x * 2)(tf.ones([2]))
        assert seen == [False] and gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


def long_program(x):
    for number in range(40):
        x = tf.tanh(x) * (number + 1.5)
    return x


def test_left_to_itself_a_long_program_found_on_disk_runs_compiled(lowered, monkeypatch):
    interpreted, run = [], executor.interpret.run

    def noted(*given):
        interpreted.append(1)
        return run(*given)

    monkeypatch.setattr(executor.interpret, "run", noted)
    wanted = tf.function(long_program)(tf.constant(X))
    with settings.executor("auto"):
        function = tf.function(long_program)
        np.testing.assert_array_equal(function(tf.constant(X)), wanted)
        assert lowered == ["long_program"] and not interpreted
        function(tf.constant(X[:2]))
        assert len(interpreted) == 1
        tf.function(lambda x: long_program(x) + 1)(tf.constant(X))
        assert len(interpreted) == 2 and len(lowered) == 1
        with settings.cache("off"):
            tf.function(long_program)(tf.constant(X))
        assert len(interpreted) == 3
    with settings.executor("interpret"):
        tf.function(long_program)(tf.constant(X))
    assert len(interpreted) == 4 and len(lowered) == 1


def test_what_interpreted_calls_took_is_given_back(monkeypatch):
    given = []
    monkeypatch.setattr(heap, "give_back", lambda: given.append(1))
    tf.function(lambda x: x * 5)(tf.ones([2]))
    assert given == [1]
    monkeypatch.undo()
    heap.give_back()


def test_what_was_interpreted_while_it_was_compiled_is_given_back_before_large_temporaries(
    monkeypatch,
):
    given = []
    monkeypatch.setattr(heap, "give_back", lambda: given.append(1))
    for rows, wanted in ((2, 1), (1 << 19, 2)):  # once before it is compiled
        given.clear()
        total = tf.function(lambda x: tf.reduce_sum(tf.sort(x * 2.0)))(tf.ones([rows]))
        assert float(total) == 2 * rows and len(given) == wanted
