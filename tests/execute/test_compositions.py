"""Public functions of many operations on large tensors run as one program where that is faster."""

import numpy as np
import pytest

import talweg as tf
import talweg.prims  # noqa: F401 -- which find primitives by their names
from talweg.core import settings
from talweg.core.primitive import REGISTRY
from talweg.execute import compositions

IMAGES = np.random.default_rng(0).uniform(size=(2, 64, 64, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def nothing_seen(monkeypatch):
    """No composition is known; each is traced after its first call, and called so every other."""
    monkeypatch.setattr(compositions, "_known", {})
    monkeypatch.setattr(compositions, "SECONDS", 0.0)
    with settings.executor("auto"):
        yield


CALLS = {
    "hue": lambda x: tf.image.adjust_hue(x, 0.1),
    "saturation": lambda x: tf.image.adjust_saturation(x, 1.5),
    "contrast": lambda x: tf.image.adjust_contrast(x, contrast_factor=1.5),
    "hsv": lambda x: tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(x)),
    "standardization": tf.image.per_image_standardization,
    "variation": tf.image.total_variation,
    "similarity": lambda x: tf.image.ssim(x, x * 0.9, 1.0),
    "resized": lambda x: tf.image.resize(x, [40, 50], antialias=True),
    "crops": lambda x: tf.image.crop_and_resize(
        x, [[0.1, 0.1, 0.8, 0.9], [0.5, -0.2, 0.1, 1.3]], [1, 0], [30, 20]
    ),
    "clipped": lambda x: tf.clip_by_value(x, 0.2, 0.7),
    "normalized": lambda x: tf.math.l2_normalize(x, -1),
    "norm": lambda x: tf.norm(x, axis=[1, 2]),
    "count": lambda x: tf.math.count_nonzero(x > 0.5, axis=1),
    "swish": lambda x: tf.nn.silu(x, 2.0),
    "response": lambda x: tf.nn.lrn(x, 2, beta=0.75),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_trace_gives_what_the_operations_give(name):
    x = tf.constant(IMAGES)
    first, *later = (CALLS[name](x).numpy() for _ in range(9))
    assert all(known.trace is not None for known in compositions._known.values())
    assert compositions._known
    for result in later:
        np.testing.assert_allclose(result, first, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["hue", "saturation", "hsv", "crops"])
def test_small_images_where_the_calls_themselves_take_long(name):
    x = tf.constant(IMAGES[:, :8, :8])
    first, *later = (CALLS[name](x).numpy() for _ in range(9))
    assert compositions._known
    assert all(known.trace is not None for known in compositions._known.values())
    for result in later:
        np.testing.assert_allclose(result, first, rtol=1e-5, atol=1e-5)


def test_a_sparse_product():
    x = np.where(IMAGES[0, :, :, 0] > 0.8, IMAGES[0, :, :, 0], 0)
    a, b = tf.sparse.from_dense(x), tf.constant(IMAGES[1].reshape(64, -1))
    for _ in range(6):
        result = tf.sparse.sparse_dense_matmul(a, b).numpy()
        np.testing.assert_allclose(result, x @ IMAGES[1].reshape(64, -1), rtol=1e-5, atol=1e-5)
    (known,) = compositions._known.values()
    assert known.trace is not None


def test_other_arguments_are_part_of_a_trace():
    x = tf.constant(IMAGES - 0.5)
    for low in (0.0, -0.0, 0, -0.25, tf.constant(0.1), tf.constant(-0.1)):
        for _ in range(3):
            result = tf.clip_by_value(x, low, 0.25).numpy()
        np.testing.assert_array_equal(result, np.clip(IMAGES - 0.5, np.float32(low), 0.25))


def test_what_was_slower_is_given_up(monkeypatch):
    monkeypatch.setattr(compositions, "FASTER", 0.0)
    monkeypatch.setattr(compositions, "TRIALS", 6)
    x = tf.constant(IMAGES)
    for _ in range(16):
        tf.image.adjust_contrast(x, 1.5)
    (known,) = compositions._known.values()
    assert known.trace_is_wanted is False and known.trace is None


def test_a_trace_is_compiled_before_it_is_given_up(monkeypatch):
    """However short its interpreted calls are, as on middling tensors."""
    monkeypatch.setattr(compositions, "SECONDS", 1e-9)
    monkeypatch.setattr(compositions, "FASTER", 0.0)
    monkeypatch.setattr(compositions.KernelTimes, "add", lambda self, seconds: _count(self))
    x = tf.constant(IMAGES[:1, :40, :40])
    tf.image.adjust_contrast(x, 1.5)
    (known,) = compositions._known.values()
    monkeypatch.setattr(compositions, "SECONDS", 1e9)  # no call takes that
    trace, calls = known.trace, 0
    while known.trace_is_wanted is None:
        tf.image.adjust_contrast(x, 1.5)
        calls += 1
    (concrete,) = trace._list_all_concrete_functions()
    assert calls == compositions.LAST_TRIAL
    assert concrete._program.tier.versions or concrete._program.tier.refused
    assert known.trace is None


def _count(times):
    """Stand for a call that takes a second."""
    times.total += 1
    times.least = 1.0


def test_what_fails_in_a_trace_is_left_to_the_function(monkeypatch):
    x = tf.constant(IMAGES)
    first = tf.nn.silu(x, 2.0).numpy()
    (known,) = compositions._known.values()
    monkeypatch.setattr(known, "trace", lambda *tensors: 1 / 0)
    for _ in range(3):
        np.testing.assert_array_equal(tf.nn.silu(x, 2.0).numpy(), first)
    assert known.trace_is_wanted is False


def test_errors_are_those_of_the_function():
    x = tf.constant(IMAGES)
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError, match="adjust_hue"):
            tf.image.adjust_hue(x[..., :2], 0.1)


def _gradients(x, a, **options):
    with tf.GradientTape(**options) as tape:
        tape.watch([x, a])
        y = tf.nn.leaky_relu(tf.nn.gelu(x) / a, 0.3) + tf.sigmoid(x) * tf.math.rsqrt(a)
    return [g.numpy() for g in tape.gradient(y, [x, a])]


def test_rules_of_elementwise_primitives():
    """Of both operands of a quotient, one of which is broadcast."""
    x, a = tf.constant(IMAGES - 0.5), tf.constant([0.5, 1.0, 2.0])
    first, *later = (_gradients(x, a) for _ in range(9))
    names = {key[0].__name__ for key, known in compositions._known.items() if known.trace}
    assert {"gelu_gradient", "sigmoid_gradient", "leaky_relu_gradient"} <= names
    for result in later:
        for mine, other in zip(result, first):
            np.testing.assert_allclose(mine, other, rtol=2e-5, atol=1e-5)


RULES = {
    "softmax": tf.nn.softmax,
    "log_softmax": tf.nn.log_softmax,
    "logsumexp": lambda x: tf.reduce_logsumexp(x, 1),
    "reduce_prod": lambda x: tf.reduce_prod(x, [1, 3]),
    "reduce_max": lambda x: tf.reduce_max(x, -1),
    "cumprod": lambda x: tf.math.cumprod(x, 1, reverse=True),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_of_reductions_and_scans(name):
    """The first calls run one operation after the other, later ones the trace of the rule."""
    x = tf.constant(np.where(IMAGES[:, :9, :9] > 0.99, 0, IMAGES[:, :9, :9] + 0.5).repeat(10, 1))

    def gradient():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = RULES[name](x)
        return tape.gradient(y, x).numpy()

    first, *later = (gradient() for _ in range(9))
    (known,) = [known for key, known in compositions._known.items()]
    assert known.trace is not None
    for result in later:
        np.testing.assert_allclose(result, first, rtol=2e-5, atol=1e-5)


def test_rules_that_another_tape_sees_are_not_traced():
    x = tf.constant(IMAGES)
    for _ in range(3):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.sigmoid(x))
            slope = tape.gradient(y, x)
        second = outer.gradient(slope, x)
    s = 1 / (1 + np.exp(-IMAGES))
    np.testing.assert_allclose(second, s * (1 - s) * (1 - 2 * s), atol=1e-6)


def test_names_of_rules_of_one_step():
    assert all(REGISTRY[name].elementwise for name in compositions.ONE_STEP)
    assert not any(REGISTRY[name].elementwise for name in compositions.SEVERAL_STEPS)


def test_tapes_and_small_or_deterministic_calls_are_left_alone():
    x = tf.constant(IMAGES)
    for _ in range(3):
        tf.nn.silu(x[:1, :4], 2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.silu(x, 2.0)
        with settings.deterministic(True):
            assert tape.gradient(y, x) is not None
            tf.nn.silu(x, 2.0)
    assert not compositions._known


def test_a_trace_keeps_no_tensor():
    import gc
    import weakref

    x = tf.constant(IMAGES)
    for _ in range(5):
        tf.nn.silu(x, 2.0)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None
