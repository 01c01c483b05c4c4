"""3x3 convolutions with fewer products give what plain ones give, and are where they pay."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.core.primitive import later
from talweg.execute.llvm.runtime.executable import Executable
from talweg.lower.build import build
from talweg.lower.convolution import winograd_selection
from talweg.lower.convolution.geometry import Windows, geometry_of
from talweg.lower.convolution.winograd_selection import choose, choose_filters
from talweg.lower.convolution.winograd_transforms import form_of
from talweg.lower.ir.loops import If, Repeat
from talweg.lower.ir.printer import parse, to_text
from talweg.lower.ir.verifier import check
from tests.lower.declared import expected, results, static_of

NAMES = ("convolution", "convolution_input_gradient", "convolution_filter_gradient")

assert tf.nn.conv2d  # loads the declarations


@pytest.fixture
def always(monkeypatch):
    """Winograd's way wherever it can be gone."""
    monkeypatch.setattr(winograd_selection, "GAIN", 1e9)


def case_of(name: str, batch: int, sizes: tuple, depth: int, width: int, padding="SAME", **more):
    """(primitive, arrays, params) of one of the three."""
    rng = np.random.default_rng(0)
    params = {"strides": (1, 1), "padding": padding, "dilation": (1, 1), "groups": 1, **more}
    x = rng.normal(size=(batch, *sizes, depth)).astype("f")
    w = rng.normal(size=(3, 3, depth // params["groups"], width)).astype("f")
    g = rng.normal(size=later("convolution").numpy(x, w, **params).shape).astype("f")
    arrays, own = {
        "convolution": ([x, w], {}),
        "convolution_input_gradient": ([g, w], {"sizes": sizes}),
        "convolution_filter_gradient": ([x, g], {"kernel": (3, 3)}),
    }[name]
    return later(name), arrays, {**params, **own}


def kernels(blocks: list) -> list[str]:
    """The names of all kernels."""
    found = []
    for block in blocks:
        if type(block) is Repeat:
            found += kernels(block.body)
        elif type(block) is not If:
            found.append(block.name)
    return found


def natively(case: tuple, threads: int) -> np.ndarray:
    """What machine code gives that was made for so many threads."""
    prim, arrays, params = case
    lowered = build(static_of(prim, arrays, params), "program", threads)
    check(lowered.program)
    assert not any("panels" in name for name in kernels(lowered.program.blocks))
    run = Executable(lowered.program, lowered.inputs, [], lowered.outputs, threads=threads)
    (found,) = run(arrays)
    return found.reshape(lowered.outputs[0].shape)


def assert_near(found: np.ndarray, wanted: np.ndarray, tolerance: float = 2e-5) -> None:
    """The same where not finite, and near otherwise, by the size of the largest."""
    known = np.isfinite(wanted)
    np.testing.assert_array_equal(found[~known], wanted[~known])
    scale = np.max(np.abs(wanted[known & (np.abs(wanted) < 1e30)]))
    np.testing.assert_allclose(found, wanted, tolerance, tolerance * scale)


@pytest.mark.parametrize("number", [2, 4])
def test_matrices(number):
    """One axis: Aᵀ [(G w) ∘ (Bᵀ x)] are the three-tap sums, and its transpose by w the gradient."""
    form = form_of(number)
    rng = np.random.default_rng(0)
    x, w, g = rng.normal(size=form.size), rng.normal(size=3), rng.normal(size=number)
    read, taps, made = map(np.array, (form.spread_input, form.spread_filter, form.spread_results))
    sums = [x[k : k + 3] @ w for k in range(number)]
    np.testing.assert_allclose(made.T @ ((taps @ w) * (read @ x)), sums, 1e-12, 1e-12)
    slopes = [x[k : k + number] @ g for k in range(3)]
    np.testing.assert_allclose(taps.T @ ((made @ g) * (read @ x)), slopes, 1e-12, 1e-12)


MEANING = [
    (2, (5, 6), 3, 5, "SAME"),  # tiles that reach over both ends
    (1, (10, 6), 17, 9, "VALID"),  # no copy; panels of more than the results
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", MEANING, ids=str)
@pytest.mark.usefixtures("always")
def test_meaning(name, shape):
    case = case_of(name, *shape)
    (found,), lowered = results(*case)
    assert_near(found, expected(*case)[0])
    text = to_text(lowered.program)
    assert to_text(parse(text)) == text


SHAPES = [
    (1, (14, 14), 32, 64, "SAME"),
    (3, (7, 9), 16, 40, "SAME"),  # a panel of three vectors
    (8, (5, 4), 24, 8, "VALID"),  # one vector
    (2, (13, 11), 5, 3, ((2, 0), (0, 3))),  # padding of its own; less than a vector
    (4, (2, 2), 8, 16, "SAME"),  # less than a tile
    (1, (30, 3), 48, 17, "SAME"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.usefixtures("always")
def test_machine_code(name, shape):
    """And the same bits from one thread and two."""
    case = case_of(name, *shape)
    found = natively(case, 1)
    assert_near(found, expected(*case)[0])
    np.testing.assert_array_equal(found, natively(case, 2))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("always")
def test_in_double_precision(name):
    prim, arrays, params = case_of(name, 2, (9, 10), 12, 20)
    case = (prim, [array.astype("d") for array in arrays], params)
    assert_near(natively(case, 1), expected(*case)[0], 1e-13)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.usefixtures("always")
def test_what_is_not_finite(name, threads):
    """Infinite numbers, NaN and sums that overflow are where they are without Winograd."""
    case = case_of(name, 2, (9, 11), 8, 24)
    for array, value in zip(case[1], (np.inf, -np.inf)):
        if array.shape[0] == 2:  # images, not filters
            array[0, 0, 0, 3], array[1, 5, 5, 1], array[0, 5, 1, 1] = value, np.nan, 3e38
    with np.errstate(all="ignore"):
        wanted = expected(*case)[0]
    assert np.isnan(wanted).any() and np.isinf(wanted).any() and np.isfinite(wanted).any()
    assert_near(natively(case, threads), wanted)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("depth", "bound"), [(64, 1.3e-6), (256, 2.4e-6)])
@pytest.mark.usefixtures("always")
def test_accuracy(name, depth, bound):
    """The error beside the result, both as root mean squares (docs/compiler.md)."""
    prim, arrays, params = case_of(name, 2, (12, 12), depth, 32)
    found = natively((prim, arrays, params), 1)
    wanted = prim.numpy(*[array.astype("d") for array in arrays], **params)
    error = np.sqrt(np.mean((found - wanted) ** 2) / np.mean(wanted**2))
    assert error < bound
    assert np.max(np.abs(found - wanted)) < 12 * bound * np.sqrt(np.mean(wanted**2))


def windows_of(batch: int, size: int, depth: int, width: int, **more) -> Windows:
    arrays = [np.empty((batch, size, size, depth), "f"), np.empty((3, 3, depth, width), "f")]
    params = {"strides": (1, 1), "padding": "SAME", "dilation": (1, 1), "groups": 1, **more}
    static = static_of(later("convolution"), arrays, params)
    return geometry_of(static.equations[0]).forward()


def taken(windows: Windows, threads: int = 1) -> tuple:
    """How many results a tile has, forward and for the filters; 0: plain products."""
    ways = choose(windows, 4, threads), choose_filters(windows, 4)
    return tuple([way.form.results if way else 0 for way in ways])


def test_choice():
    for size, channels in ((56, 64), (28, 128), (14, 256), (7, 512)):
        assert taken(windows_of(8, size, channels, channels)) == (4, 4)
    assert taken(windows_of(8, 6, 64, 64)) == (2, 2)  # tiles of 4 would reach far over
    assert taken(windows_of(1, 7, 512, 512)) == (0, 0)  # the filters are most of the work
    assert taken(windows_of(8, 28, 3, 64))[0] == 0  # the transforms are
    assert taken(windows_of(8, 28, 64, 64, strides=(2, 2))) == (0, 0)
    assert taken(windows_of(8, 28, 64, 64, dilation=(2, 2))) == (0, 0)
    with settings.winograd(False):
        assert taken(windows_of(8, 56, 64, 64)) == (0, 0)


def test_choice_for_threads():
    """Threads have enough blocks, or share one; which way is gone does not depend on them."""
    for batch, size in ((1, 8), (1, 56), (3, 14), (32, 7)):
        windows = windows_of(batch, size, 64, 64)
        assert taken(windows, 1) == taken(windows, 2) == taken(windows, 16)
        for threads in (2, 16):
            blocks = choose(windows, 4, threads)
            assert blocks is not None
            count = batch // blocks.images * (blocks.tile_rows // blocks.rows)
            assert blocks.shared or count >= 2 * threads


def test_a_layer_in_a_loop():
    """Bias and activation are computed with it; its gradients are made in each trip of a loop."""
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(4, 12, 12, 32)).astype("f"))
    first = (rng.normal(size=(3, 3, 32, 32)) / 17).astype("f")

    def learnt():
        filters, bias = tf.Variable(first), tf.Variable(tf.zeros(32))

        @tf.function
        def steps():
            for _ in tf.range(3):
                with tf.GradientTape() as tape:
                    y = tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME") + bias)
                    y = tf.nn.conv2d(y, filters, 1, "VALID")
                    loss = tf.reduce_mean(y * y)
                slopes = tape.gradient(loss, [filters, bias])
                filters.assign_sub(slopes[0])
                bias.assign_sub(slopes[1])
            return loss

        return [steps().numpy(), filters.numpy(), bias.numpy()]

    with settings.executor("interpret"):
        wanted = learnt()
    with settings.executor("llvm"):
        found = learnt()
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, 1e-4, 1e-5 * np.max(np.abs(other)))
