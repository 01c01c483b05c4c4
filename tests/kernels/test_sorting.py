"""Orders by packed integers are those of NumPy's stable sort, for all dtypes and awkward values."""

import numpy as np
import pytest

from talweg.kernels import sorting
from talweg.kernels.native import groups as native_groups


@pytest.fixture(params=("NumPy", "counted"))
def way(request, monkeypatch):
    """Small ranges of integers by NumPy, or counted by machine code."""
    monkeypatch.setattr(native_groups, "MANY", 1 << 60 if request.param == "NumPy" else 0)
    monkeypatch.setattr(native_groups, "SOME", 1)
    monkeypatch.setattr(native_groups, "_seen", {"count": 0})


pytestmark = pytest.mark.usefixtures("way")
DTYPES = ("f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
SHAPES = ((0,), (1,), (64,), (65,), (3, 200), (2, 2, 129), (4, 0), (1000,))


def arrays(dtype, shape):
    """Normal numbers of three sizes, with ties; NaN, zeros of both signs and infinities; limits."""
    random = np.random.default_rng(0)
    for scale in (3, 1e3, 1e30):
        x = random.normal(size=shape) * scale
        if dtype[0] in "iu":
            limits = np.iinfo(dtype)
            x = np.clip(x, limits.min // 2, limits.max // 2).astype(dtype)
            if scale > 1e3:
                x = random.choice(np.array([limits.min, limits.max, 0, 1], dtype), shape)
            yield x
            continue
        with np.errstate(over="ignore"):
            x = x.astype(dtype)
        if x.size > 10:
            odd = (np.nan, -0.0, 0.0, np.inf, -np.inf, -np.nan)
            for start, value in enumerate(odd):
                x.reshape(-1)[start::11] = value
        yield x


def stable(x, descending):
    if not descending:
        return np.argsort(x, -1, kind="stable")
    return x.shape[-1] - 1 - np.argsort(x[..., ::-1], -1, kind="stable")[..., ::-1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_orders(dtype, shape):
    for x in arrays(dtype, shape):
        for descending in (False, True):
            wanted = stable(x, descending)
            np.testing.assert_array_equal(sorting.stable_order(x, descending), wanted)
            for count in {0, min(3, shape[-1]), shape[-1]}:
                found = sorting.first_places(x, count, descending)
                np.testing.assert_array_equal(found, wanted[..., :count])


@pytest.mark.parametrize("dtype, low", [("i8", 2**62), ("i8", -(2**63)), ("u8", 2**63 + 7)])
@pytest.mark.parametrize("span", (200, 300))
def test_neighbours_that_float64_does_not_tell_apart(dtype, low, span):
    x = np.array([low + (7 * i) % span for i in range(1000)], dtype)
    for descending in (False, True):
        np.testing.assert_array_equal(sorting.stable_order(x, descending), stable(x, descending))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", (0, 1, 60, 300))
def test_distinct(dtype, size):
    for x in arrays(dtype, (size,)):
        seen: dict = {}
        groups = [seen.setdefault(key, len(seen)) for key in keys_of(x)]
        first, number, count = sorting.distinct(x)
        np.testing.assert_array_equal(number, np.array(groups, np.int64))
        np.testing.assert_array_equal(first, [groups.index(g) for g in range(len(seen))])
        np.testing.assert_array_equal(count, np.bincount(groups, minlength=len(seen))[: len(seen)])


def keys_of(x):
    """Each element as a key of a dictionary: NaN differs from NaN, -0 is 0."""
    return [("nan", place) if value != value else value for place, value in enumerate(x.tolist())]


@pytest.mark.parametrize("dtype", ("i1", "u2", "i4", "u4", "i8", "u8"))
def test_machine_code_counts_integers(dtype, monkeypatch):
    """At the limits of each dtype, and that it is the machine code that answers."""
    monkeypatch.setattr(native_groups, "MANY", 0)
    info = np.iinfo(dtype)
    span = np.arange(100) * 37 % 50
    for start in (info.min, info.max - 49, 0 if info.min else 7):
        x = np.array([start + int(k) for k in span], dtype)
        low, high = int(x.min()), int(x.max())
        for descending in (False, True):
            order = native_groups.stable_order(x, low, high, descending)
            np.testing.assert_array_equal(order, stable(x, descending))
        first, group, sizes = native_groups.number_groups(x, low, high)
        _, wanted = np.unique(x, return_index=True)
        np.testing.assert_array_equal(first, np.sort(wanted))
        np.testing.assert_array_equal(x[first][group], x)
        np.testing.assert_array_equal(sizes, np.bincount(group))


def test_the_loops_are_also_python(monkeypatch):
    """The text that is translated, run as it is, on memory that is a dictionary."""
    memory = {}
    for name in ("load32", "load64"):
        monkeypatch.setattr(native_groups, name, lambda at: memory.get(at, 0))
    for name in ("store32", "store64"):
        monkeypatch.setattr(native_groups, name, memory.__setitem__)
    monkeypatch.setattr(native_groups, "element", native_groups.element32)
    x, table, firsts, groups, sizes, order = (10**6 * k for k in range(1, 7))
    memory.update({x + 4 * i: number & 0xFFFFFFFF for i, number in enumerate([3, -1, 3, 7, -1])})
    assert native_groups.talweg_number_groups(x, 5, 1, table, firsts, groups, sizes) == 3
    assert [memory[groups + 8 * i] for i in range(5)] == [0, 1, 0, 2, 1]
    assert [memory[firsts + 8 * i] for i in range(3)] == [0, 1, 3]
    assert [memory[sizes + 8 * i] for i in range(3)] == [2, 2, 1]
    assert native_groups.talweg_order(x, 5, 7, -1, 9 * 10**6, 9, order) == 5
    assert [memory[order + 8 * i] for i in range(5)] == [3, 0, 2, 1, 4]


def test_few_integers_are_left_to_numpy(monkeypatch):
    monkeypatch.setattr(native_groups, "MANY", 1 << 20)
    assert native_groups.number_groups(np.arange(300), 0, 299) is None
    assert native_groups.stable_order(np.arange(300), 0, 299, False) is None


@pytest.mark.parametrize(
    "shape", ((0, 5), (3, 0), (4, 100), (2, 3, 100), (100,), (1, 1, 100), (5, 1))
)
@pytest.mark.parametrize("descending", (False, True))
def test_first_places_and_what_stands_there(shape, descending):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    for count in {0, 1, 3, 10} & set(range(shape[-1] + 1)):
        for order in "CF":
            x = np.array(x, order=order)
            places = sorting.first_places(x, count, descending)
            wanted = sorting.stable_order(x, descending)[..., :count]
            np.testing.assert_array_equal(places, wanted)
            found = sorting.take_in_rows(x, places)
            np.testing.assert_array_equal(found, np.take_along_axis(x, wanted, -1))
