"""Special functions as loops: right to half a unit in the last place, and SciPy's at the ends."""

import numpy as np
import pytest
from scipy.special import ndtr

import talweg as tf
from talweg.core import settings
from talweg.execute import compilation
from talweg.prims import special
from talweg.prims.bessel import bessel_ie

ENDS = np.array([0, -0.0, 1, -1, 2, -2, -7, 0.5, -0.5, 1e30, -1e30, np.inf, -np.inf, np.nan], "f")


def spread(low, high, count=20000):
    """float32 numbers of all sizes between two."""
    first, last = (np.float32(n).view(np.int32) for n in (low, high))
    return np.linspace(first, last, count).astype(np.int32).view(np.float32)


def even(low, high, count=20000):
    return np.linspace(low, high, count).astype(np.float32)


CASES = {
    "erfinv": [spread(1e-40, 1), -spread(1e-40, 1), 1 - spread(2**-24, 1), even(-1, 1)],
    "ndtri": [spread(1e-44, 1), even(0, 1)],
    "lgamma": [spread(1e-40, 3e38), -spread(1e-40, 200), even(0.9, 2.1), even(-20, 20)],
    "digamma": [spread(1e-37, 3e38), -spread(1e-37, 200), even(1.4, 1.5), even(-20, 20)],
    "trigamma": [spread(1e-37, 3e38), -spread(1e-37, 200), even(-20, 20)],
}


def differ_by(prim, x, **params):
    """The largest error in units of the last place; what is not finite must be SciPy's."""
    code = compilation.alone(prim, [x], params, threads=1)
    assert code, "it is called as a NumPy kernel"
    found, exact = code([x], [])[0], prim.numpy(x.astype(np.float64), **params)
    with np.errstate(over="ignore"):
        wanted = exact.astype(np.float32)
    same = (found == wanted) | np.isnan(found) & np.isnan(wanted)
    finite = np.isfinite(found) & np.isfinite(wanted)
    unit = np.spacing(np.maximum(np.abs(wanted[finite]), np.float32(2**-126)))
    assert np.all(same | finite)
    return np.max(np.abs(found[finite] - exact[finite]) / unit)


@pytest.mark.parametrize("name", CASES)
def test_units_in_the_last_place(name):
    assert differ_by(getattr(special, name), np.concatenate([*CASES[name], ENDS])) < 0.51


@pytest.mark.parametrize("order", (0, 1))
def test_units_in_the_last_place_of_bessel_functions(order):
    x = np.concatenate([even(-20, 20), spread(1e-30, 1e38), -spread(1e-30, 1e38), ENDS])
    assert differ_by(bessel_ie, x, order=order) < 0.51


@pytest.mark.parametrize("name", (*CASES, "zeta", "polygamma"))
def test_float64_is_left_to_scipy(name):
    x = np.linspace(0.1, 0.9, 100)
    operands = [x] if name in CASES else [x, x]
    assert not compilation.alone(getattr(special, name), operands, {}, threads=1)


def differ_by_pairs(prim, first, second):
    """The errors of all pairs in units of the last place; what is not finite must be SciPy's."""
    first, second = (x.reshape(-1) for x in np.meshgrid(np.float32(first), np.float32(second)))
    code = compilation.alone(prim, [first, second], {}, threads=1)
    assert code and not code.guarded
    found = code([first, second], [])[0]
    with np.errstate(all="ignore"):
        exact = prim.numpy(first.astype(np.float64), second.astype(np.float64))
        wanted = exact.astype(np.float32)
    same = (found == wanted) | np.isnan(found) & np.isnan(wanted)
    finite = np.isfinite(found) & np.isfinite(wanted)
    np.testing.assert_array_equal(found[~finite & ~same], wanted[~finite & ~same])
    unit = np.spacing(np.maximum(np.abs(wanted[finite]), np.float32(2**-126)))
    return np.abs(found[finite] - exact[finite]) / unit


EXPONENTS = np.concatenate(
    [spread(1.0001, 300, 200), even(1.1, 9, 50), [0.5, 1, -3, 1e38, np.inf, np.nan]]
)
SECOND = np.concatenate([spread(1e-40, 1e30, 300), even(0.1, 40, 300), [1, 2, np.inf, np.nan]])
BELOW = np.concatenate([-even(0.01, 40, 997), -spread(1e-30, 3000, 500), [0, -0.0, -1, -2]])


def test_units_in_the_last_place_of_zeta():
    assert differ_by_pairs(special.zeta, EXPONENTS, SECOND).max() < 0.52


def test_zeta_of_negative_numbers():
    assert differ_by_pairs(special.zeta, [2, 4, 6, 20, 1000], BELOW).max() < 0.52
    odd = differ_by_pairs(special.zeta, [3, 5, 7, 21, 2.5, 1, 0.5, np.inf, np.nan], BELOW)
    assert np.mean(odd > 0.52) < 1e-3  # beside a zero, where terms cancel


def test_units_in_the_last_place_of_polygamma():
    orders = [0, 1, 2, 3, 4, 7, 8, 20, 33, 0.5, -1, -2.5, 200, 1e20, np.inf, np.nan]
    x = np.concatenate([spread(1e-30, 1e30, 2000), even(0.1, 40, 2000), [np.inf, np.nan]])
    assert differ_by_pairs(special.polygamma, orders, x).max() < 0.52
    below = differ_by_pairs(special.polygamma, orders, BELOW)
    assert np.mean(below > 0.52) < 1e-3


EPSILONS = {"bfloat16": 2**-7, "float16": 2**-10, "float32": 2**-23, "float64": 2**-52}


@pytest.mark.parametrize("dtype", EPSILONS)
def test_gradient_of_gelu_is_right_to_units_of_one(dtype):
    numbers = np.concatenate([even(-12, 12, 2001), ENDS[np.abs(ENDS) < 1e4]])
    x = tf.cast(tf.constant(numbers, "float64"), dtype)

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.gelu(x)
        return tape.gradient(y, x)

    with settings.executor("llvm"):
        found = tf.cast(slope(x), "float64").numpy()
    exact = tf.cast(x, "float64").numpy()
    wanted = ndtr(exact) + exact * np.exp(-(exact**2) / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(found, wanted, 0, 3 * EPSILONS[dtype])
    # the error function of the forward run, and no second one
    assert "erfc(" not in slope.experimental_get_compiler_ir(x)("optimized_hlo")
