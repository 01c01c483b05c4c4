"""Special functions as loops: right to half a unit in the last place, and SciPy's at the ends."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("name", CASES)
def test_float64_is_left_to_scipy(name):
    x = np.linspace(0.1, 0.9, 100)
    assert not compilation.alone(getattr(special, name), [x], {}, threads=1)


def differ_by_pairs(prim, first, second):
    """`differ_by` of two operands, in all pairs."""
    first, second = (x.reshape(-1) for x in np.meshgrid(first, second))
    code = compilation.alone(prim, [first, second], {}, threads=1)
    *found, holds = code([first, second], [])
    assert holds.all()
    exact = prim.numpy(first.astype(np.float64), second.astype(np.float64))
    with np.errstate(over="ignore"):
        wanted = exact.astype(np.float32)
    same = (found[0] == wanted) | np.isnan(found[0]) & np.isnan(wanted)
    finite = np.isfinite(found[0]) & np.isfinite(wanted)
    assert np.all(same | finite)
    unit = np.spacing(np.maximum(np.abs(wanted[finite]), np.float32(2**-126)))
    return np.max(np.abs(found[0][finite] - exact[finite]) / unit)


def test_units_in_the_last_place_of_zeta():
    x = np.concatenate([spread(1.0001, 300, 200), even(1.1, 9, 50), np.float32([0.5, 1, -3])])
    q = np.concatenate([spread(1e-40, 1e30, 300), even(0.1, 40, 300), np.float32([1, 2, np.inf])])
    assert differ_by_pairs(special.zeta, x, q) < 0.51


def test_units_in_the_last_place_of_polygamma():
    orders = np.float32([0, 1, 2, 3, 4, 7, 8, 20, 33, 0.5, -1, -2.5])
    x = np.concatenate([spread(1e-30, 1e30, 2000), even(0.1, 40, 2000)])
    assert differ_by_pairs(special.polygamma, orders, x) < 0.51


@pytest.mark.parametrize("q", (0.0, -0.5, -2.0, np.nan))
def test_what_zeta_is_not_made_for_goes_to_scipy(q):
    code = compilation.alone(special.zeta, [np.float32([2, 2]), np.float32([1, q])], {}, threads=1)
    assert code.guarded and not code([np.float32([2, 2]), np.float32([1, q])], [])[-1].all()
