"""What cannot be compiled is called from inside the compiled program: nothing else differs."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.execute import kernel_profile
from talweg.passes.functionalize import program_of
from tests.trace.hosted import PROGRAMS, numbers


def versions(function, *arguments):
    """What a function is compiled to for these arguments."""
    tier = program_of(function.get_concrete_function(*arguments).body).tier
    return [] if tier is None else list(tier.versions.values())


def results(name, executor):
    """What three steps give, and the variables afterwards; the function; what it is compiled to."""
    tf.random.set_seed(1)
    step, arguments, variables = PROGRAMS[name]()
    function = tf.function(step)
    arguments = [tf.constant(x) for x in arguments]
    with settings.executor(executor):
        found = [x.numpy() for _ in range(3) for x in tf.nest.flatten(function(*arguments))]
    return found + [v.numpy() for v in variables], versions(function, *arguments)


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_give_what_the_interpreter_gives(name):
    wanted, _ = results(name, "interpret")
    found, compiled = results(name, "llvm")
    assert compiled and all(version.hosts is not None for version in compiled)
    for one, other in zip(wanted, found, strict=True):
        assert np.shape(one) == np.shape(other) and type(one) is type(other)
        if np.asarray(one).dtype.kind in "OS":
            assert np.array_equal(one, other)
        else:
            np.testing.assert_allclose(other, one, rtol=2e-4, atol=1e-5)


def test_a_program_with_one_mask_has_one_region():
    _, (version,) = results("masked_loss", "llvm")
    regions = [b for b in version.lowered.program.blocks if type(b).__name__ == "Host"]
    assert len(regions) == 1 and regions[0].name.startswith("nonzero, gather, reduce_mean")


def test_each_mask_that_depends_on_the_one_before_has_a_region():
    _, (version,) = results("masks_one_after_the_other", "llvm")
    regions = [b for b in version.lowered.program.blocks if type(b).__name__ == "Host"]
    assert len(regions) == 3


def test_little_is_left_to_the_interpreter_unless_it_is_to_be_compiled():
    function = tf.function(lambda x, m: tf.reduce_sum(tf.boolean_mask(x, m)) + 1.0)
    arguments = tf.ones([3]), tf.constant([True, False, True])
    with settings.executor("auto"):
        for _ in range(500):
            function(*arguments)
    assert not versions(function, *arguments)
    (note,) = program_of(function.get_concrete_function(*arguments).body).notes
    assert "what could be compiled is too little (nonzero: the shape of the result" in note


def test_what_is_not_compiled_is_told(capfd):
    with settings.debug(1):
        results("masked_loss", "llvm")
    told = capfd.readouterr().err
    assert "step is compiled but for nonzero: the shape of the result of nonzero depends" in told


def test_a_dump_has_the_steps_and_their_lines(tmp_path):
    with settings.dump(str(tmp_path)):
        results("masked_loss", "llvm")
    (text,) = [path.read_text() for path in tmp_path.glob("*/static-0.txt")]
    assert "host $" in text and "nonzero" in text and "tests/trace/hosted.py" in text


def test_a_profile_shows_them():
    programs = [PROGRAMS[name]() for name in ("masked_loss", "strings_beside")]
    before = list(kernel_profile.CALLED)
    with settings.profile(True), settings.executor("llvm"):
        for step, arguments, _ in programs:
            tf.function(step)(*[tf.constant(x) for x in arguments])
        kernel_profile.CALLED[:] = kernel_profile.CALLED[len(before) :]
        text = kernel_profile.report()
    kernel_profile.CALLED[:] = before
    assert "host: nonzero, gather, reduce_mean" in text and "hosted.py" in text
    assert text.count("host: ") == 2


def in_order(steps):
    def step(x):

        def say(word, *values):
            def heard(*arrays):
                steps.append((word, *map(np.size, arrays)))
                return np.int32(0)

            return tf.numpy_function(heard, values, tf.int32)

        say("first")
        kept = tf.boolean_mask(x, x > 0)
        say("kept", kept)
        total = tf.reduce_sum(tf.tanh(x @ x))
        for i in tf.range(2):
            say("trip", i)
        say("total", total)
        tf.cond(tf.size(kept) > 1, lambda: say("more than one"), lambda: say("one"))
        say("last")
        return total

    return step


def test_what_acts_on_the_world_keeps_its_order():
    heard = {}
    for executor in ("interpret", "llvm"):
        steps = heard[executor] = []
        with settings.executor(executor):
            function = tf.function(in_order(steps))
            for _ in range(2):
                function(tf.constant(numbers(4, 4)))
    assert heard["llvm"] == heard["interpret"] and len(heard["llvm"]) == 14


def raised(step, *arguments):
    """The error that a function raises, by executor."""
    found = []
    for executor in ("interpret", "llvm"):
        with settings.executor(executor), pytest.raises(tf.errors.OpError) as caught:
            tf.function(step)(*arguments)
        found.append(caught.value)
    return found


def test_errors_are_the_interpreters():
    held = tf.Variable(tf.ones([4, 4]))

    def step(x, i):
        held.assign_add(tf.tanh(x @ x))
        return tf.gather(tf.boolean_mask(x, x > 0), i)

    one, other = raised(step, tf.constant(numbers(4, 4)), tf.constant(100))
    assert type(one) is type(other) and one.message == other.message
    assert "in step" in one.message and "test_hosted.py" in one.message


def test_a_step_that_fails_leaves_variables_as_they_were():
    held, text = tf.Variable(tf.ones([4, 4])), tf.Variable("a")

    @tf.function
    def step(x, i):
        held.assign_add(tf.tanh(x @ x))
        text.assign(tf.strings.join([text, "b"]))
        return tf.gather(tf.boolean_mask(x, x > 0), i)

    with settings.executor("llvm"):
        step(tf.constant(numbers(4, 4)), tf.constant(0))
        before = held.numpy()
        with pytest.raises(tf.errors.InvalidArgumentError):
            step(tf.constant(numbers(4, 4)), tf.constant(100))
    assert np.array_equal(held.numpy(), before) and text.numpy() == b"ab"


def test_what_goes_wrong_before_a_region_is_said_first():
    heard = []

    def step(x, i):
        rows = tf.gather(tf.tanh(x @ x), i)
        kept = tf.boolean_mask(rows, rows > 0)
        tf.numpy_function(lambda y: heard.append(len(y)) or np.int32(0), [kept], tf.int32)
        return tf.gather(kept, tf.size(kept))

    one, other = raised(step, tf.constant(numbers(4, 4)), tf.constant([0, 7]))
    assert one.message == other.message and "indices[1] = 7" in one.message and not heard


def test_what_goes_wrong_in_a_loop_is_what_the_interpreter_says():
    def step(x, i):
        total = tf.constant(0.0)
        for k in tf.range(3):
            rows = tf.gather(tf.tanh(x @ x), i + k)
            total += tf.boolean_mask(rows, rows > 0)[0]
        return total

    one, other = raised(step, tf.constant(numbers(4, 4)), tf.constant(2))
    assert one.message == other.message and "indices[] = 4" in one.message


def test_several_threads_at_once():
    step, _, _ = PROGRAMS["where_and_gather"]()
    function = tf.function(step)
    points = [tf.constant(numbers(5, 4, seed=seed)) for seed in range(6)]
    wrong = []

    def work(point, wanted):
        for _ in range(20):
            for one, other in zip(wanted, function(point)):
                if one.shape != other.shape or not np.allclose(one, other):
                    wrong.append(one)

    with settings.executor("llvm"):  # of the whole process: no thread may end the block alone
        wanted = [[x.numpy() for x in function(point)] for point in points]
        threads = [threading.Thread(target=work, args=pair) for pair in zip(points, wanted)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_a_function_within_its_own_region():
    @tf.function
    def inner(x):
        kept = tf.boolean_mask(x, x > 0)
        (seen,) = tf.numpy_function(again, [kept, x], [tf.float32])
        return tf.reduce_sum(kept) + tf.ensure_shape(seen, []) + tf.reduce_sum(x @ x)

    def again(kept, x):
        return np.float32(0) if x[0, 0] > 0 else inner(tf.constant(-x)).numpy()

    found = []
    for executor in ("interpret", "llvm"):
        with settings.executor(executor):
            found.append(inner(-tf.abs(tf.constant(numbers(4, 4)))).numpy())
    assert np.allclose(*found)


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_kept_after_a_call(fails):
    @tf.function
    def step(x, fails):
        kept = tf.boolean_mask(x, x > -9)
        with tf.control_dependencies([tf.debugging.assert_equal(fails, False)]):
            total = tf.reduce_sum(x @ x)
        return total + tf.reduce_sum(kept), tf.reduce_sum(kept * total)

    def run():
        try:
            step(x, tf.constant(fails))
        except tf.errors.InvalidArgumentError:
            assert fails

    x = tf.constant(numbers(300, 300))
    with settings.executor("llvm"):
        run()
        gc.collect()
        tracemalloc.start()
        run()
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    assert held < 100_000  # what is kept has 360,000 bytes


def test_results_keep_what_they_are_when_the_program_runs_again():
    function = tf.function(lambda x: (tf.reshape(tf.tanh(x @ x), [tf.size(x)]), tf.where(x > 0)))
    with settings.executor("llvm"):
        first = function(tf.constant(numbers(4, 4)))
        before = [x.numpy().copy() for x in first]
        function(tf.constant(numbers(4, 4, seed=1)))
        shape = tf.function(lambda x, n: tf.reshape(tf.tanh(x @ x), [n, -1]))
        one = shape(tf.constant(numbers(4, 4)), tf.constant(2))
        kept = one.numpy().copy()
        shape(tf.constant(numbers(4, 4, seed=1)), tf.constant(2))
    assert all(np.array_equal(x, y) for x, y in zip(first, before))
    assert np.array_equal(one, kept)


def test_in_a_session():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [4, 4])
        words = tf.compat.v1.placeholder(tf.string, [2])
        y = tf.tanh(x @ x)
        fetches = [tf.reduce_mean(tf.boolean_mask(y, y > 0)), tf.strings.lower(words), words]
    feed = {x: numbers(4, 4), words: [b"A", b"b"]}
    found = []
    for executor in ("interpret", "llvm"):
        with settings.executor(executor), tf.compat.v1.Session(graph=graph) as session:
            found.append(session.run(fetches, feed))
    assert np.allclose(found[0][0], found[1][0])
    assert list(found[1][1]) == [b"a", b"b"] and list(found[1][2]) == [b"A", b"b"]


def test_a_function_with_regions_goes_at_once():
    held = tf.Variable(numbers(4, 4))

    def make():
        @tf.function
        def step(x):
            kept = tf.boolean_mask(tf.tanh(x @ held), x > 0)
            return tf.reduce_sum(kept), kept

        return step

    gc.collect()
    gc.disable()
    try:
        with settings.executor("llvm"):
            function = make()
            function(tf.constant(numbers(4, 4)))
        gone = weakref.ref(function.get_concrete_function(tf.constant(numbers(4, 4))))
        del function
        assert gone() is None
    finally:
        gc.enable()


def test_a_region_is_not_taken_for_the_one_operation_in_it():
    """A lone reshape, hosted since it cannot succeed, was taken for a view of its first operand."""
    v1 = tf.compat.v1
    for executor in ("interpret", "llvm"):
        with settings.executor(executor), tf.Graph().as_default():
            weights = v1.placeholder(tf.float32, [None])
            sums = tf.math.bincount([1], weights=weights)
            with v1.Session() as session:
                with pytest.raises(tf.errors.InvalidArgumentError, match="weights and arr"):
                    session.run(sums, {weights: [1.0, 2.0]})
                assert session.run(sums, {weights: [3.0]}).tolist() == [0.0, 3.0]


def test_texts_in_the_body_of_a_loop_that_is_run_apart():
    """Its body is a program of its own, which has constants aside, and nothing else."""

    def run(n):
        text = tf.constant("short")
        for i in tf.range(n):
            if i == 3:
                text = tf.constant("long")
        return tf.cond(n > 0, lambda: text, lambda: tf.constant("none"))

    for executor in ("interpret", "llvm"):
        with settings.executor(executor):
            traced = tf.function(run)
            found = [traced(tf.constant(n)).numpy() for n in (0, 2, 4)]
        assert found == [b"none", b"short", b"long"]
