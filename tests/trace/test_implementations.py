"""Functions of which one runs in place of others on the CPU, as `api_implements` declares."""

import pytest

import talweg as tf
from talweg.core import settings


def pair(cpu=lambda x: x * 10.0, name="scaled"):
    """A function, and its implementation for the CPU, which gives ten times as much."""
    default = tf.function(
        lambda x: x * 1.0, autograph=False, experimental_attributes={"api_implements": name}
    )
    attributes = {"api_implements": name, "api_preferred_device": "CPU"}
    return default, tf.function(cpu, autograph=False, experimental_attributes=attributes)


def added(default, cpu, x, first=False):
    """Call one, and add the other to the graph."""
    if first:
        cpu.get_concrete_function(x).add_to_graph()
    result = default(x)
    if not first:
        cpu.get_concrete_function(x).add_to_graph()
    return result


@pytest.mark.parametrize("executor", ["interpret", "llvm"])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("place", ["function", "branch", "loop"])
def test_the_one_for_the_cpu_runs(place, first, executor):
    default, cpu = pair(name=f"{place} {first} {executor}")

    @tf.function(autograph=False)
    def outer(x):
        if place == "function":
            return added(default, cpu, x, first)
        if place == "branch":
            return tf.cond(tf.reduce_sum(x) > 0, lambda: added(default, cpu, x, first), lambda: x)
        body = lambda i, x: (i + 1, added(default, cpu, x, first))  # noqa: E731
        return tf.while_loop(lambda i, x: i < 2, body, (0, x))[1]

    expected = [100.0, 200.0] if place == "loop" else [10.0, 20.0]
    with settings.executor(executor):
        assert outer(tf.constant([1.0, 2.0])).numpy().tolist() == expected


def test_a_call_of_it_in_the_graph_adds_it():
    default, cpu = pair(name="called")
    outer = tf.function(lambda x: default(x) + 0.0 * cpu(x), autograph=False)
    assert outer(tf.constant(1.0)).numpy() == 10.0


def test_without_a_graph_or_another_name_nothing_is_exchanged():
    default, cpu = pair(name="eager")
    cpu.get_concrete_function(tf.constant(1.0)).add_to_graph()
    assert default(tf.constant(1.0)).numpy() == 1.0
    other, _ = pair(name="other")
    plain = tf.function(lambda x: x * 1.0, autograph=False)
    outer = tf.function(lambda x: (other(x), plain(x), default(x)), autograph=False)
    assert [float(x) for x in outer(tf.constant(1.0))] == [1.0, 1.0, 10.0]


def test_value_and_gradient_come_from_one_function():
    """TensorFlow gives 10 with the gradient 1, or 1 with the gradient 1 under an outer tape."""
    default, cpu = pair(cpu=lambda x: x * x * 10.0, name="gradients")

    @tf.function(autograph=False)
    def outer(x):
        return added(default, cpu, x)

    x = tf.constant(3.0)
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = outer(x)
        slope = tape.gradient(y, x)
    assert [y.numpy(), slope.numpy(), second.gradient(slope, x).numpy()] == [90.0, 60.0, 20.0]


def test_what_a_derivative_was_made_of_stays():
    default, cpu = pair(cpu=lambda x: x * x * 10.0, name="settled")

    @tf.function(autograph=False)
    def outer(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = default(x)
        slope = tape.gradient(y, x)
        cpu.get_concrete_function(x).add_to_graph()
        return y, slope

    assert [float(x) for x in outer(tf.constant(3.0))] == [3.0, 1.0]


def test_another_dtype_or_size_is_no_implementation():
    default, cpu = pair(cpu=lambda x: tf.cast(x, tf.float64), name="dtype")
    outer = tf.function(lambda x: added(default, cpu, x), autograph=False)
    assert outer(tf.constant(2.0)).numpy() == 2.0
    default, cpu = pair(cpu=lambda x: tf.stack([x, x]), name="size")
    outer = tf.function(lambda x: added(default, cpu, x), autograph=False)
    assert outer(tf.constant(2.0)).numpy() == 2.0


def test_samplers_with_seeds():
    """Equal calls with one seed are one call, whatever the name of what they implement."""

    @tf.function(autograph=False)
    def outer(seed):
        draw = lambda seed: tf.random.stateless_uniform([2], seed)  # noqa: E731
        half = lambda seed: tf.random.stateless_uniform([2], seed) * 0.5  # noqa: E731
        functions = [
            tf.function(draw, autograph=False, experimental_attributes={"api_implements": name})
            for name in ("a", "b")
        ]
        attributes = {"api_implements": "b", "api_preferred_device": "CPU"}
        cpu = tf.function(half, autograph=False, experimental_attributes=attributes)
        results = [function(seed) for function in functions]
        cpu.get_concrete_function(seed).add_to_graph()
        return results

    a, b = outer(tf.constant([1, 2]))
    assert (a.numpy() * 0.5 == b.numpy()).all()


def test_unknown_attributes():
    with pytest.raises(ValueError, match="'noinline' is no attribute"):
        tf.function(lambda x: x, experimental_attributes={"noinline": True})
    with pytest.raises(TypeError, match="experimental_attributes is 3"):
        tf.function(lambda x: x, experimental_attributes=3)
