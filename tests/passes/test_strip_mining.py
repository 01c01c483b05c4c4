"""Large arrays between products are computed in strips: the same results, in little memory."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

import talweg as tf
from talweg.core import settings
from talweg.core.dtypes import float32
from talweg.core.primitive import later
from talweg.core.roles import Role
from talweg.lower.build import build
from talweg.passes.optimize import strip_mining
from talweg.passes.optimize.pipeline import optimize
from talweg.passes.optimize.verifier import check
from talweg.passes.specialize.program import StaticProgram, Value

RANDOM = np.random.default_rng(0)
SMALL = {"large": 1, "again": 1, "matrix": 1, "ratio": 0, "block": 200, "fewest": 5}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Small arrays count as large, and nothing comes from the disk, where sizes are not known."""
    with settings.cache("off"), settings.check(True):
        for name, value in SMALL.items():
            monkeypatch.setattr(strip_mining.limits, name, value)
        yield


def numbers(*dims, dtype="float64"):
    return RANDOM.standard_normal(dims).astype(dtype)


def run(function, arrays, how="llvm"):
    """The results of a function, flat, and what it becomes if it is compiled."""
    traced = tf.function(function)
    with settings.executor(how):
        results = tf.nest.flatten(traced(*arrays))
        found = [np.asarray(x) for x in results if x is not None]
        loops = ""
        if how == "llvm":
            loops = str(traced.experimental_get_compiler_ir(*arrays)("optimized_hlo"))
    return found, loops


def agree(function, arrays, fires=True, tolerance=1e-9):
    """Check a function on both executors, and whether the compiled one has loops over strips."""
    arrays = [tf.constant(x) for x in arrays]
    found, loops = run(function, arrays)
    wanted, _ = run(function, arrays, "interpret")
    for x, y in zip(found, wanted, strict=True):
        assert x.shape == y.shape and x.dtype == y.dtype
        known = np.abs(y[np.isfinite(y)])
        np.testing.assert_allclose(x, y, tolerance, tolerance * max(1.0, known.max(initial=0.0)))
    assert ("repeat t" in loops) == fires, loops
    return loops


def attention(q, k, v, change=tf.nn.softmax):
    return tf.matmul(change(tf.matmul(q, k, transpose_b=True) * 0.4), v)


def gradients(function, later_use=None):
    """A function's result and its derivatives by all arguments.

    `later_use` makes the cotangent depend on all of the result.
    """

    def derived(*arguments):
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            result = function(*arguments)
            seen = result if later_use is None else later_use(result)
            loss = tf.reduce_sum(seen * tf.sin(seen))
        return result, tape.gradient(loss, arguments)

    return derived


def all_rows(x):
    """A result of which each row depends on all rows, as those of later layers do."""
    return tf.cumsum(x, -2) + tf.reduce_mean(x)


# -- generated programs

CHANGES = {
    "softmax": tf.nn.softmax,
    "sigmoid": tf.sigmoid,
    "relu": tf.nn.relu,
    "squares": lambda x: x * x,
    "scaled": lambda x: 0.5 * x,
    "log_softmax": tf.nn.log_softmax,
    "normalized": lambda x: x / (1.0 + tf.reduce_sum(tf.abs(x), -1, keepdims=True)),
    "centred": lambda x: tf.tanh(x - tf.reduce_mean(x, -1, keepdims=True)),
}
USES = {"forward": None, "gradient": lambda x: x, "all_rows": all_rows}


@st.composite
def cases(draw):
    """(a function, its operands): products with a large array between them, and a mask."""
    batch = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    rows, columns, depth = draw(
        st.tuples(st.integers(2, 23), st.integers(2, 19), st.integers(1, 5))
    )
    change, use = (
        CHANGES[draw(st.sampled_from(sorted(CHANGES)))],
        draw(st.sampled_from(sorted(USES))),
    )
    mask = (*batch, rows, columns)
    dims = tuple([size if draw(st.booleans()) else 1 for size in mask])
    dims = dims[draw(st.integers(0, len(dims) - 1)) :]
    how = draw(st.sampled_from(["none", "added", "chosen", "causal"]))
    turned = draw(st.booleans())

    def function(q, k, v, m):
        if turned:
            scores = tf.linalg.matrix_transpose(tf.matmul(k, q, transpose_b=True))
        else:
            scores = tf.matmul(q, k, transpose_b=True)
        if how == "added":
            scores += m
        elif how == "chosen":
            scores = tf.where(m > 0.0, scores, -1e9)
        elif how == "causal":
            scores = tf.where(tf.range(rows)[:, None] >= tf.range(columns), scores, -3.0)
        return tf.matmul(change(scores * 0.4), v)

    q, k = numbers(*batch, rows, depth), numbers(*batch, columns, depth)
    v = numbers(*batch, columns, draw(st.integers(1, 5)))
    made = function if USES[use] is None else gradients(function, USES[use])
    return made, [q, k, v, numbers(*dims)]


@given(case=cases())
@examples(max_examples=60)
def test_generated_programs(case):
    function, arrays = case
    found, _ = run(function, [tf.constant(x) for x in arrays])
    wanted, _ = run(function, [tf.constant(x) for x in arrays], "interpret")
    for x, y in zip(found, wanted, strict=True):
        assert x.shape == y.shape and x.dtype == y.dtype
        np.testing.assert_allclose(x, y, 1e-8, 1e-8 * max(1.0, np.abs(y).max(initial=0.0)))


@given(case=cases(), data=st.data())
@examples(max_examples=15)
def test_results_do_not_depend_on_blocks(case, data):
    function, arrays = case
    arrays = [tf.constant(x) for x in arrays]
    wanted, _ = run(function, arrays, "interpret")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strip_mining.limits, "fewest", data.draw(st.integers(1, 30)))
        found, _ = run(function, arrays)
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, 1e-8, 1e-8 * max(1.0, np.abs(y).max(initial=0.0)))


# -- what is rewritten


@pytest.mark.parametrize("dims", [(2, 3, 22, 4), (3, 22, 4), (22, 4), (1, 1, 22, 4), (2, 1, 5, 3)])
@pytest.mark.parametrize("use", USES)
def test_attention(dims, use):
    function = attention if use == "forward" else gradients(attention, USES[use])
    *batch, _, depth = dims
    agree(function, [numbers(*dims), numbers(*batch, 18, depth), numbers(*batch, 18, depth)])


def test_sums_of_products_are_written_where_they_are_added():
    loops = agree(gradients(attention), [numbers(2, 20, 4), numbers(2, 18, 4), numbers(2, 18, 4)])
    inner = loops[loops.index("repeat t_1") :]
    assert len(re.findall(r"(\w+\[[^]]*\]) = add\(\1", inner)) == 2 and "# add" not in inner


@pytest.mark.parametrize("depth", [1, 4, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_long_products(monkeypatch, dtype, depth):
    """A product is added up in several parts, or by a library, before it is added to a sum."""
    monkeypatch.setattr(strip_mining.limits, "fewest", 1200)
    arrays = [numbers(2, n, depth, dtype=dtype) for n in (2400, 24, 24)]
    loops = agree(gradients(attention), arrays, tolerance=1e-4 if dtype == "float32" else 1e-9)
    assert "repeat t_1 in 2" in loops


def test_loops_over_heads_and_rows():
    loops = agree(attention, [numbers(2, 3, 22, 4), numbers(2, 3, 18, 4), numbers(2, 3, 18, 4)])
    assert "repeat t in 6" in loops and "repeat t_1 in 5" in loops  # of 4 rows; 2 are left
    assert loops.count("repeat t in 6") == 2


def test_derivatives_are_right():
    q, k, v = arrays = [numbers(2, n, 3) for n in (13, 11, 11)]

    def loss(*arguments):
        return tf.reduce_sum(all_rows(attention(*arguments)) ** 2)

    def derived(*arguments):
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            value = loss(*arguments)
        return tape.gradient(value, arguments)

    found, loops = run(derived, [tf.constant(x) for x in arrays])
    assert loops.count("repeat t ") == 4  # forward and reverse, each with a rest
    for number, gradient in enumerate(found):
        step = numbers(*gradient.shape)
        ends = []
        for sign in (1, -1):
            moved = list(arrays)
            moved[number] = arrays[number] + sign * 1e-6 * step
            ends.append(run(loss, [tf.constant(x) for x in moved])[0][0])
        numeric = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose((gradient * step).sum(), numeric, 1e-5)


def test_rows_that_are_masked_are_nan_as_before():
    q, k, v = numbers(2, 9, 3), numbers(2, 7, 3), numbers(2, 7, 3)
    mask = np.where(RANDOM.random((2, 9, 7)) < 0.5, -np.inf, 0.0)
    mask[0, 3], mask[1, 0] = -np.inf, -np.inf
    v[1, 2, 0], q[1, 4, 1] = np.inf, np.nan

    def function(q, k, v):
        return attention(q, k, v, lambda x: tf.nn.softmax(x + mask))

    loops = agree(function, [q, k, v])
    assert "repeat t in 2" in loops
    agree(gradients(function, all_rows), [q, k, v])


def test_one_key_and_value_for_all_heads():
    arrays = [numbers(2, 3, 12, 4), numbers(2, 1, 9, 4), numbers(2, 1, 9, 5)]
    agree(gradients(attention, all_rows), arrays)


def test_an_array_with_itself():
    agree(gradients(lambda x: attention(x, x, x), all_rows), [numbers(2, 12, 4)])


def layers(q, k, v):
    for _ in range(3):
        q = q + 0.1 * all_rows(attention(q, k, v))
    return q


def after_a_loop(q, k, v):
    result = attention(q, k, v)
    for _ in tf.range(3):
        result = tf.tanh(result) + attention(result, k, v)
    return attention(result, k, v)


def along_a_direction(q, k, v):
    with tf.autodiff.ForwardAccumulator(q, tf.ones_like(q)) as accumulator:
        result = attention(q, k, v)
    return result, accumulator.jvp(result)


@pytest.mark.parametrize(
    "function",
    [
        layers,
        gradients(layers),
        gradients(lambda *x: tf.add_n(gradients(attention, all_rows)(*x)[1]), all_rows),
        after_a_loop,
        gradients(after_a_loop),
        along_a_direction,
        lambda *x: tf.vectorized_map(lambda own: attention(*own), x),
    ],
    ids=["layers", "trained", "second", "loop", "loop trained", "direction", "mapped"],
)
def test_other_programs(function):
    agree(function, [numbers(2, 12, 4) for _ in range(3)], tolerance=1e-7)


def test_scores_that_go_on_in_the_next_layer():
    def function(q, k, v):
        scores = tf.matmul(q, k, transpose_b=True)
        first = all_rows(tf.matmul(tf.nn.softmax(scores), v))
        more = scores + tf.matmul(first, k, transpose_b=True)
        return tf.matmul(tf.nn.softmax(more), v)

    arrays = [numbers(2, 12, 4), numbers(2, 12, 4), numbers(2, 12, 4)]
    agree(function, arrays)
    agree(gradients(function, all_rows), arrays, tolerance=1e-7)


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("columns", [8, 9])
def test_random_numbers_are_the_same(kind, columns):
    """Also where a block of rows does not begin with a block of the stream."""

    def function(q, k, v, seed):
        drawn = tf.random.stateless_uniform([2, 3, 13, columns], seed, dtype=tf.as_dtype(kind))
        drop = tf.cast(drawn, tf.float32) < 0.3

        def change(scores):
            return tf.where(drop, 0.0, tf.nn.softmax(scores) / 0.7)

        return attention(q, k, v, change)

    arrays = [numbers(2, 3, n, 4, dtype="float32") for n in (13, columns, columns)]
    arrays.append(np.array([3, 4]))
    agree(function, arrays, tolerance=1e-5)
    agree(gradients(function, all_rows), arrays, tolerance=1e-4)


def test_dropout_of_a_layer():
    def function(q, k, v):
        tf.random.set_seed(3)
        return attention(q, k, v, lambda x: tf.nn.dropout(tf.nn.softmax(x), 0.25, seed=5))

    arrays = [tf.constant(numbers(2, n, 4, dtype="float32")) for n in (12, 8, 8)]
    tf.random.set_seed(7)
    found, loops = run(gradients(function, all_rows), arrays)
    tf.random.set_seed(7)
    wanted, _ = run(gradients(function, all_rows), arrays, "interpret")
    assert "repeat t" in loops
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, 1e-4, 1e-4)


def test_programs_with_variables_and_other_results():
    weight = tf.Variable(numbers(4, 4))

    def step(x, k, v):
        with tf.GradientTape() as tape:
            result = attention(x @ weight, k, v)
            loss = tf.reduce_sum(all_rows(result) ** 2)
        gradient = tape.gradient(loss, weight)
        weight.assign_sub(1e-3 * gradient)
        return loss, tf.reduce_max(result), tf.reduce_sum(x, 1)

    start, arrays = weight.numpy(), [tf.constant(numbers(2, 12, 4)) for _ in range(3)]
    found, loops = run(step, arrays)
    after = weight.numpy()
    weight.assign(start)
    wanted, _ = run(step, arrays, "interpret")
    assert "repeat t" in loops
    for x, y in zip([*found, after], [*wanted, weight.numpy()], strict=True):
        np.testing.assert_allclose(x, y, 1e-9, 1e-9)


# -- what is left as it is


@pytest.mark.parametrize(
    "function",
    [
        lambda q, k, v: (s := tf.nn.softmax(tf.matmul(q, k, transpose_b=True)), tf.matmul(s, v)),
        lambda q, k, v: tf.matmul(tf.cumsum(tf.matmul(q, k, transpose_b=True), -1), v),
        lambda q, k, v: tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True), 0), v),
        lambda q, k, v: tf.reduce_max(tf.matmul(q, k, transpose_b=True), -1),
        lambda q, k, v: tf.matmul(tf.sort(tf.matmul(q, k, transpose_b=True)), v),
        lambda q, k, v: tf.matmul(
            (s := tf.matmul(q, k, transpose_b=True)) + tf.linalg.matrix_transpose(s), v
        ),
    ],
    ids=["returned", "running sum", "over the batch", "one product", "sorted", "both ways"],
)
def test_what_is_needed_whole_stays(function):
    arrays = [tf.constant(numbers(3, 12, 4)) for _ in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strip_mining.limits, "large", 1 << 60)
        _, wanted = run(function, arrays)
    found = agree(function, arrays, fires=False)
    assert found == wanted


def test_sizes_that_do_not_pay(monkeypatch):
    arrays = [numbers(2, 12, 4) for _ in range(3)]
    agree(attention, arrays)
    monkeypatch.setattr(strip_mining.limits, "again", 1 << 20)
    agree(attention, arrays)
    agree(gradients(attention), arrays)  # one loop for both: nothing is computed again
    agree(gradients(attention, all_rows), arrays, fires=False)
    for name in ("large", "matrix", "ratio"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(strip_mining.limits, name, 1 << 20)
            agree(attention, arrays, fires=False)


# -- memory


def training(length):
    """The static program of softmax(q kᵀ) v, and of derivatives with all rows in between."""
    t = StaticProgram()

    def apply(name, *inputs, **params):
        return t.apply(later(name), inputs, params)

    def turned(x):
        return apply("transpose", x, perm=(0, 2, 1))

    q, k, v = t.inputs = [Value((4, length, 16), float32) for _ in range(3)]
    scores = apply("matmul", q, turned(k))
    top = apply("reduce_max", scores, axes=(2,), keepdims=True)
    high = apply("exp", apply("sub", scores, top))
    chances = apply("div", high, apply("reduce_sum", high, axes=(2,), keepdims=True))
    result = apply("matmul", chances, v)
    g = apply("cumsum", result, axis=1, exclusive=False, reverse=False)
    sent = apply("matmul", g, turned(v))
    means = apply("reduce_sum", apply("mul", sent, chances), axes=(2,), keepdims=True)
    back = apply("mul", chances, apply("sub", sent, means))
    t.outputs = [apply("matmul", back, k), apply("matmul", turned(q), back)]
    t.outputs.append(apply("matmul", turned(chances), g))
    return t


def bytes_of(length):
    """The bytes of all arrays of the program that are neither operands nor results."""
    static = training(length)
    optimize(static)
    check(static)
    program = build(static).program
    kinds = ("input", "output", "constant")
    return sum(math.prod(b.shape) * b.dtype.size for b in program.buffers if b.kind not in kinds)


def test_memory_grows_with_the_length_alone(monkeypatch):
    monkeypatch.undo()
    sizes = [bytes_of(length) for length in (2048, 4096, 8192)]
    assert sizes[2] < 2.5 * sizes[1] < 6.25 * sizes[0]
    assert sizes[2] < 4 * 8192 * 8192 * 4 // 20  # of one array of scores
    monkeypatch.setattr(strip_mining.limits, "large", 1 << 60)
    assert bytes_of(4096) > 4 * 4096 * 4096 * 4


def test_stages_are_loops():
    static = training(40)
    optimize(static)
    loops = [e for e in static.equations if e.prim.role is Role.LOOP]
    assert len(loops) == 2
    assert all(value.size < 4 * 40 * 40 for e in static.equations for value in e.outputs)
