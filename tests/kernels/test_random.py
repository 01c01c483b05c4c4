"""Random numbers are TensorFlow's, and what cannot be recorded has the right distribution."""

from __future__ import annotations

import importlib.util
import json
import zlib
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from talweg.kernels.random import (
    gamma_derivative,
    normal,
    permutation,
    philox,
    rejection,
    threefry,
    truncated_normal,
    uniform,
)

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("random_cases", HERE / "random_cases.py")
random_cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(random_cases)
CASES = random_cases.cases()
RECORDED = json.loads((HERE / "random_reference.json").read_text())
LIBRARY = {"float64": 1e-14}  # NumPy's float64 functions may differ by a unit in the last place
THREEFRY = {"float64": 1e-11, "float32": 2e-6, "float16": 2e-3, "bfloat16": 0.0}


def numpy_dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def _full(value, shape, dtype):
    return np.full(shape, value).astype(dtype)


def _bounded(stream, size, dtype, mean, deviation, low, high):
    numbers = (dtype.type(number) for number in (mean, deviation, low, high))
    return truncated_normal.draw_bounded_normal(
        stream, [truncated_normal.standardize(*numbers)], size, dtype
    )[:, 0]


def _index(seed, parameters):
    key = np.array([permutation.PADDING, *(word & 0xFFFFFFFF for word in seed)], np.uint32)
    index, largest = np.array(parameters["index"]), np.array(parameters["largest"])
    return permutation.index_shuffle(index, key, largest).astype(np.int64)


def call(operation, seed, shape, dtype, parameters):
    """What the kernels give for a case."""
    kind = numpy_dtype(dtype)
    if operation.startswith("threefry"):
        function = getattr(threefry, operation.removeprefix("threefry_"))
        return function(threefry.stream_of_seed(*seed), tuple(shape), kind)
    stream, size = philox.scramble(*seed), shape[0]
    if operation in ("normal", "truncated_normal"):
        return getattr(normal, operation)(stream, size, kind)
    if operation in ("uniform", "full_int"):
        return getattr(uniform, operation)(stream, size, kind)
    if operation == "uniform_int":
        return uniform.uniform_int(stream, size, parameters["low"], parameters["high"], kind)
    if operation == "gamma":
        alpha = _full(parameters["alpha"], shape, kind).astype(np.float64)
        found = rejection.gamma(stream, alpha)
        found = found.astype(np.float32).astype(kind) if kind.itemsize == 2 else found.astype(kind)
        return np.maximum(found, np.finfo(kind).tiny)
    if operation == "poisson":
        return rejection.poisson(stream, _full(parameters["rate"], shape, kind)).astype(kind)
    if operation == "binomial":
        count, chance = (_full(parameters[name], shape, kind) for name in ("count", "chance"))
        return rejection.binomial(stream, count, chance)
    if operation == "bounded_normal":
        return _bounded(stream, size, kind, **parameters)
    if operation == "categorical":
        return uniform.categorical(stream, np.array(parameters["logits"], np.float32), size, kind)
    if operation == "shuffle":
        return permutation.permutation(stream, size)
    return _index(seed, parameters)


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda n: f"{n}-{CASES[n][0]}")
def test_recorded(number):
    case, recorded = CASES[number], RECORDED[number]
    with np.errstate(all="ignore"):
        got = call(*case)
    assert got.dtype.name == recorded["dtype"]
    values = got.reshape(-1)[: random_cases.KEPT]
    values = values if got.dtype.kind in "iu" else values.astype(np.float64)
    if case[0].startswith("threefry") and got.dtype.kind != "i":
        tolerance = THREEFRY.get(case[3], 0.0)
        np.testing.assert_allclose(values, recorded["values"], rtol=tolerance, atol=tolerance)
        return
    np.testing.assert_allclose(values, recorded["values"], rtol=LIBRARY.get(case[3], 0.0), atol=0)
    library = case[3] == "float64" and case[0] != "uniform"
    if "checksum" in recorded and not library:
        assert zlib.crc32(np.ascontiguousarray(got).tobytes()) == recorded["checksum"]


@pytest.mark.parametrize(
    "row",
    json.loads((HERE / "random_gamma_derivative.json").read_text()),
    ids=lambda row: str(row["alpha"]),
)
def test_gamma_derivative(row):
    sample = np.array(row["sample"])
    got = gamma_derivative.gamma_derivative(np.full(sample.shape, row["alpha"]), sample)
    np.testing.assert_allclose(got, row["derivative"], rtol=2e-10)


def test_philox_of_the_paper():
    """Known answers of Random123: counter and key of zeros, of ones, of the digits of pi."""
    for counter, key, words in (
        (0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((1 << 128) - 1, (1 << 64) - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            0x0370734413198A2E85A308D3243F6A88,
            0x299F31D0A4093822,
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ):
        stream = philox.Stream(key, counter)
        expected = [int(word, 16) for word in words.split()]
        assert philox.blocks(stream, 0, 1).tolist() == [expected]
        assert philox.blocks(stream, 0, 5)[0].tolist() == expected


def test_threefry_of_the_paper():
    for counter, key, words in (
        (0, 0, "6b200159 99ba4efe"),
        ((1 << 64) - 1, (1 << 64) - 1, "1cb996fc bb002be7"),
        (0x85A308D3243F6A88, 0x0370734413198A2E, "c4923a9c 483df7a0"),
    ):
        got = threefry.threefry(philox.Stream(key, counter), 1)
        assert got.tolist() == [[int(word, 16) for word in words.split()]]


def test_a_carry_crosses_all_words_of_the_counter():
    for counter in (2**32 - 2, 2**64 - 3, 2**96 - 1, 2**128 - 2):
        stream = philox.Stream(12345, counter)
        whole = philox.blocks(stream, 0, 6)
        parts = [philox.blocks(stream, n, 1)[0] for n in range(6)]
        assert np.array_equal(whole, parts)


def test_any_part_of_a_sequence():
    stream = philox.scramble(3, 4)
    whole = normal.normal(stream, 100_000, np.dtype(np.float32))
    part = normal.normal(stream.skip(20_000), 5, np.dtype(np.float32))
    assert np.array_equal(part, whole[80_000:80_005])
    assert np.array_equal(normal.normal(stream, 7, np.dtype(np.float32)), whole[:7])


def test_exchange_is_fisher_and_yates():
    rng = np.random.default_rng(0)
    for size in [*range(1, 40), 500]:
        partner = np.arange(size) + rng.integers(0, 2**31, size) % np.arange(size, 0, -1)
        order = list(range(size))
        for place, other in enumerate(partner):
            order[place], order[other] = order[other], order[place]
        assert permutation._exchange(partner).tolist() == order


def test_index_shuffle_is_a_permutation():
    key = np.array([1, 2, 3], np.uint32)
    for largest in (0, 1, 2, 255, 256, 1000, 65536):
        index = np.arange(largest + 1, dtype=np.uint64)
        found = permutation.index_shuffle(index, key, np.uint64(largest))
        assert np.array_equal(np.sort(found), index)


def test_log_float32_is_within_a_unit():
    x = np.concatenate([np.geomspace(1e-30, 1e30, 20001), np.linspace(0.5, 2, 20001)])
    x = x.astype(np.float32)
    exact = np.log(x.astype(np.float64))
    error = np.abs(normal.log_float32(x) - exact) / np.spacing(np.abs(exact).astype("f4"))
    assert error[exact != 0].max() < 0.9


def test_sin_cos_float32_are_within_a_unit():
    x = np.linspace(0, 2 * np.pi, 40001).astype(np.float32)
    for got, exact in zip(normal.sin_cos_float32(x), (np.sin, np.cos)):
        wanted = exact(x.astype(np.float64))
        error = np.abs(got - wanted) / np.spacing(np.abs(wanted).astype("f4"))
        assert error.max() < 0.6


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 40])
def test_categorical_ways_of_searching_agree(rows, monkeypatch):
    logits = np.random.default_rng(1).normal(size=(rows, 6))
    stream = philox.scramble(8, 9)
    one = uniform.categorical(stream, logits, 50, np.dtype(np.int32))
    monkeypatch.setattr(uniform, "_SEARCHED_BY_ROW", 0)
    assert np.array_equal(one, uniform.categorical(stream, logits, 50, np.dtype(np.int32)))


def _moments(sample):
    return sample.mean(), sample.var()


@pytest.mark.parametrize("alpha", [0.4, 1.0, 6.0])
def test_gamma_moments(alpha):
    mean, variance = _moments(rejection.gamma(philox.scramble(5, 6), np.full(40_000, alpha)))
    assert abs(mean - alpha) < 0.05 * max(alpha, 1) and abs(variance - alpha) < 0.1 * max(alpha, 1)


@pytest.mark.parametrize("rate", [0.5, 9.0, 50.0])
def test_poisson_moments(rate):
    mean, variance = _moments(rejection.poisson(philox.scramble(5, 6), np.full(40_000, rate)))
    assert abs(mean / rate - 1) < 0.03 and abs(variance / rate - 1) < 0.05


def test_numbers_that_are_none():
    nan, stream = np.full(3, np.nan), philox.scramble(1, 1)
    with np.errstate(all="ignore"):
        assert np.isnan(rejection.gamma(stream, nan)).all()
        assert np.isnan(rejection.gamma(stream, -np.ones(3))).all()
        assert np.isnan(rejection.poisson(stream, nan)).all()
        assert np.isnan(rejection.binomial(stream, nan, nan)).all()


@pytest.mark.parametrize("shape", [(7, 3, 5), (50, 9, 1), (40, 30, 200), (300, 2, 97)])
@pytest.mark.parametrize("counted", [0, 1 << 40])
def test_entries_that_are_not_above(shape, counted, monkeypatch):
    """Whether they are counted or found by bisection, where sums are equal, too."""
    monkeypatch.setattr(uniform, "_COUNTED", counted)
    random, (rows, size, classes) = np.random.default_rng(0), shape
    sums = np.cumsum(random.integers(0, 2, (rows, classes)).astype(float), 1)
    sought = random.uniform(size=(rows, size)) * sums[:, -1:]
    sought[:, 0] = np.floor(sought[:, 0])
    found = uniform._search_rows(sums, sought, classes)
    for row, values, number in zip(sums, sought, found):
        np.testing.assert_array_equal(number, row.searchsorted(values, side="right"))


@pytest.mark.parametrize("size", (2, 3, 97, 1000))
def test_few_and_many_elements_are_exchanged_alike(size, monkeypatch):
    partner = np.arange(size)
    partner[:-1] += np.random.default_rng(size).integers(0, np.arange(size, 1, -1))
    monkeypatch.setattr(permutation, "FEW", 0)
    many = permutation._exchange(partner)
    monkeypatch.setattr(permutation, "FEW", size)
    few = permutation._exchange(partner)
    assert few.dtype == many.dtype
    np.testing.assert_array_equal(few, many)


@pytest.mark.parametrize("rows, size", ((9, 5), (40, 400)))  # which are counted, and bisected
def test_categories_are_found_where_sums_exceed_what_is_sought(rows, size):
    random = np.random.default_rng(0)
    sums = np.cumsum(random.integers(0, 2, (rows, 30)).astype(float), axis=1)  # with equal ones
    sought = random.integers(0, 20, (rows, size)).astype(float)
    found = uniform._search_rows(sums, sought, 30)
    wanted = [row.searchsorted(values, side="right") for row, values in zip(sums, sought)]
    np.testing.assert_array_equal(found, wanted)
