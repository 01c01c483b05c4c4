"""Eager operations on large tensors become machine code where that is faster, and only then."""

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.execute import eager_kernels
from talweg.execute.eager_kernels import heavy

LARGE = np.linspace(-3, 3, 1 << 16).astype(np.float32).reshape(256, 256)


@pytest.fixture(autouse=True)
def nothing_seen(monkeypatch):
    """No operation is known; each is worth compiling from its second call on."""
    monkeypatch.setattr(heavy, "spent", {})
    monkeypatch.setattr(heavy, "compiled", {})
    monkeypatch.setattr(eager_kernels, "SECONDS", 0.0)
    with settings.executor("auto"):
        yield


def timed(monkeypatch, seconds):
    monkeypatch.setattr(eager_kernels, "_seconds", lambda made, arrays: seconds)


CALLS = {
    "sigmoid": tf.sigmoid,
    "softmax": tf.nn.softmax,
    "gelu": tf.nn.gelu,
    "product": lambda x: tf.reduce_prod(x, 1),
    "sum of a scan": lambda x: tf.cumsum(x, 1),
    "modulo a number": lambda x: x % 0.3,
    "band": lambda x: tf.linalg.band_part(x, 0, -1),
    "operator with a row": lambda x: x - x[0],
    "histogram": lambda x: tf.histogram_fixed_width(x, [-2.0, 2.0], 50),
    "resized": lambda x: tf.image.resize(x[:, :, None], [300, 200]),
    "turned": lambda x: tf.sigmoid(tf.transpose(x)),
}


@pytest.mark.parametrize("name", CALLS)
def test_machine_code_gives_what_numpy_gives(name, monkeypatch):
    timed(monkeypatch, -1.0)
    x = tf.constant(LARGE)
    first, *later = (CALLS[name](x).numpy() for _ in range(4))
    assert any(heavy.compiled.values()), "nothing was compiled"
    for result in later:
        np.testing.assert_allclose(result, first, rtol=2e-6, atol=1e-6)


IDS = np.random.default_rng(0).integers(0, 40, 1 << 16)
KEPT_BY_VALUE: dict = {
    "region": (lambda ids: 2 * tf.math.bincount(ids + 1), "scatter"),
    "whole": (tf.math.bincount, "scatter"),
}


@pytest.mark.parametrize("name", KEPT_BY_VALUE)
def test_steps_that_are_not_compiled_with_their_program(name, monkeypatch):
    """They ran as NumPy kernels only, so functions were slower than the same calls without one."""
    timed(monkeypatch, -1.0)
    function, memory = KEPT_BY_VALUE[name]
    with settings.executor("llvm"):
        traced = tf.function(lambda ids: function(ids))
        results = [traced(tf.constant(IDS, tf.int32)).numpy() for _ in range(12)]
    assert any(made and key[0].memory == memory for key, made in heavy.compiled.items())
    wanted = function(tf.constant(IDS.tolist(), tf.int32)).numpy()
    for result in results:
        np.testing.assert_array_equal(result, wanted)


def test_steps_with_a_parameter_called_kernel():
    """The gradient of a convolution's filters has one: such steps failed with a TypeError."""
    generator = np.random.default_rng(1)
    x = tf.constant(generator.standard_normal((4, 24, 24, 8)).astype("f4"))
    filters = tf.constant(generator.standard_normal((3, 3, 8, 8)).astype("f4"))

    def gradient(x, mask):
        with tf.GradientTape() as tape:
            tape.watch(filters)
            y = tf.nn.conv2d(tf.boolean_mask(x, mask), filters, 1, "SAME")
            loss = tf.reduce_sum(y * y)
        return tape.gradient(loss, filters)

    mask = tf.constant([True, False, True, True])
    with settings.executor("llvm"):
        result = tf.function(gradient)(x, mask)
    np.testing.assert_allclose(result, gradient(x, mask), rtol=1e-3, atol=1e-2)


def test_its_gradient(monkeypatch):
    timed(monkeypatch, -1.0)
    x = tf.constant(LARGE)

    def gradient():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.nn.softplus(x) * tf.sigmoid(x))
        return tape.gradient(y, x).numpy()

    first, *later = (gradient() for _ in range(4))
    assert any(heavy.compiled.values())
    for result in later:
        np.testing.assert_allclose(result, first, rtol=1e-5, atol=1e-6)


def test_what_is_no_faster_is_not_used(monkeypatch):
    timed(monkeypatch, float("inf"))
    x = tf.constant(LARGE)
    for _ in range(4):
        tf.sigmoid(x)
    assert heavy.compiled
    assert not any(heavy.compiled.values())


def test_a_trial_that_others_made_longer_says_nothing(monkeypatch):
    """Machine code that is faster at its best is used, though most trials were slow."""
    trials = iter([float("inf")] * (eager_kernels.TRIALS - 1) + [-1.0])
    monkeypatch.setattr(eager_kernels, "_seconds", lambda made, arrays: next(trials))
    x = tf.constant(LARGE)
    for _ in range(4):
        tf.sigmoid(x)
    assert any(heavy.compiled.values())


def test_small_tensors_are_left_alone():
    for _ in range(4):
        tf.sigmoid(tf.constant(LARGE[:8]))
    assert not heavy.spent
    assert not heavy.compiled


def test_determinism_does_not_wait_for_time():
    with settings.deterministic(True):
        for _ in range(4):
            tf.sigmoid(tf.constant(LARGE))
        assert not heavy.compiled
        tf.nn.conv2d(tf.ones([2, 6, 6, 3]), tf.ones([3, 3, 3, 2]), 1, "SAME")
        assert any(heavy.compiled.values())


def test_a_function_is_compiled_at_once_where_it_is_deterministic():
    seen = set()
    f = tf.function(lambda x: tf.nn.softmax(tf.nn.gelu(x) * 2.0 + tf.sigmoid(x)))
    with settings.deterministic(True):
        for _ in range(5):
            seen.add(f(tf.constant(LARGE)).numpy().tobytes())
    assert len(seen) == 1


def test_the_public_switch():
    assert not tf.config.experimental.enable_op_determinism()
    assert settings.deterministic.get()
    settings.deterministic.set(False)


ROWS = np.repeat(np.arange(128, dtype=np.int32), 2)


def test_what_holds_for_some_values_only(monkeypatch):
    """Sums of rows with ids: machine code where these are in range, else the kernel's error."""
    timed(monkeypatch, -1.0)
    x = tf.constant(LARGE)
    first, *later = (tf.math.unsorted_segment_sum(x, ROWS, 128).numpy() for _ in range(4))
    assert [made.guarded for made in heavy.compiled.values()] == [True]
    for result in later:
        np.testing.assert_allclose(result, first, rtol=2e-6, atol=1e-6)
    wrong = ROWS.copy()
    wrong[7] = 128
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"segment_ids\[7\] = 128"):
            tf.math.unsorted_segment_sum(x, wrong, 128)
    again = tf.math.unsorted_segment_sum(x, ROWS, 128).numpy()
    np.testing.assert_allclose(again, first, rtol=2e-6, atol=1e-6)


def test_rows_put_into_a_tensor(monkeypatch):
    timed(monkeypatch, -1.0)
    x, places = tf.constant(LARGE), np.arange(256, dtype=np.int32)[::-1, None].copy()
    results = [tf.tensor_scatter_nd_add(x, places, x).numpy() for _ in range(3)]
    assert any(heavy.compiled.values())
    for result in results:
        np.testing.assert_allclose(result, LARGE + LARGE[::-1], rtol=2e-6)


DRAWS = {
    "uniform": lambda: tf.random.stateless_uniform([256, 256], [1, 2]),
    "normal": lambda: tf.random.stateless_normal([256, 256], [1, 2]),
    "truncated": lambda: tf.random.stateless_truncated_normal([256, 256], [1, 2]),
    "integers": lambda: tf.random.stateless_uniform([256, 256], [1, 2], 0, 9, tf.int32),
    "classes": lambda: tf.random.stateless_categorical(LARGE, 3, [1, 2]),
}


@pytest.mark.parametrize("name", DRAWS)
def test_many_random_numbers(name, monkeypatch):
    """They have no large operand: what counts is the shape of the result."""
    timed(monkeypatch, -1.0)
    first, *later = (DRAWS[name]().numpy() for _ in range(4))
    assert any(heavy.compiled.values()), "nothing was compiled"
    for result in later:
        np.testing.assert_allclose(result, first, rtol=2e-6, atol=1e-6)


def test_few_random_numbers_are_left_alone():
    for _ in range(4):
        tf.random.stateless_uniform([50, 50], [1, 2])
    assert not heavy.spent


@pytest.mark.parametrize("dtype, eps", [(tf.bfloat16, 2.0**-8), (tf.float16, 2.0**-11)])
def test_products_of_16_bits(dtype, eps, monkeypatch):
    timed(monkeypatch, -1.0)
    x = tf.cast(LARGE, dtype)
    first, *later = (tf.cast(x @ x, tf.float32).numpy() for _ in range(3))
    assert any(made for key, made in heavy.compiled.items() if key[0].name == "matmul")
    for result in later:
        np.testing.assert_allclose(result, first, rtol=2.0 * eps, atol=1e-3)


def test_what_has_no_compiled_form_stays_with_its_kernel():
    x = tf.constant(LARGE)
    first, *later = (tf.unique(tf.reshape(x, [-1]))[0].numpy() for _ in range(3))
    for result in later:
        np.testing.assert_array_equal(result, first)
    assert not any(made for key, made in heavy.compiled.items() if key[0].name == "unique")


def test_middling_tensors_of_kernels_in_python(monkeypatch):
    """NumPy's own loops are fast at 8192 numbers, formulas of several calls are not."""
    timed(monkeypatch, -1.0)
    x, rows = tf.constant(LARGE[:32]), tf.constant(np.arange(60) % 32)
    kernels = {
        "softplus": tf.nn.softplus,
        "softmax": tf.nn.softmax,
        "reduce_max": lambda x: tf.reduce_max(x, 1),
        "gather_rows": lambda x: tf.gather(x, rows),
    }
    for function in kernels.values():
        first, *later = ((tf.exp(x), function(x))[1].numpy() for _ in range(4))
        for result in later:
            np.testing.assert_allclose(result, first, rtol=2e-6, atol=1e-6)
    assert {key[0].name for key in heavy.compiled} == set(kernels)
