"""Convolutions of the interpreter in machine code: NumPy's numbers, in any shape and order."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from talweg.core import settings
from talweg.execute import eager_kernels
from talweg.execute.llvm.link import jit
from talweg.execute.llvm.runtime import convolutions
from talweg.kernels import convolution as kernels
from talweg.kernels import direct_convolution as direct
from tests.kernels.window_loops import Geometry

PLAIN = ((1, 1), (1, 1))
CASES = {
    "one axis": Geometry(3, (21,), 5, 16, (3,), (1,), ((1, 1),), (1,), 1),
    "two axes": Geometry(9, (8, 16), 16, 16, (3, 3), (1, 1), PLAIN, (1, 1), 1),
    "three axes": Geometry(2, (4, 5, 8), 8, 32, (2, 3, 2), (1, 1, 1), ((0, 1),) * 3, (1,) * 3, 1),
    "no padding": Geometry(2, (9, 18), 16, 48, (3, 2), (1, 1), ((0, 0),) * 2, (1, 1), 1),
    "strides": Geometry(4, (17, 33), 16, 32, (3, 3), (2, 2), ((0, 1), (1, 0)), (1, 1), 1),
    "dilation": Geometry(2, (12, 20), 8, 31, (3, 3), (1, 1), ((2, 2), (3, 3)), (2, 3), 1),
    "odd channels": Geometry(5, (7, 8), 29, 62, (3, 3), (1, 1), PLAIN, (1, 1), 1),
    "strides and few taps": Geometry(3, (12, 24), 16, 16, (2, 2), (2, 2), ((0, 0),) * 2, (1, 1), 1),
    "places without taps": Geometry(
        2, (13, 25), 16, 16, (2, 3), (3, 2), ((0, 0), (1, 1)), (1, 1), 1
    ),
    "strides in one axis": Geometry(
        2, (10, 41), 16, 16, (3, 5), (1, 3), ((1, 1), (2, 2)), (1, 1), 1
    ),
    "one tap, strided": Geometry(3, (9, 32), 16, 16, (1, 1), (1, 2), ((0, 0),) * 2, (1, 1), 1),
}


@pytest.fixture(autouse=True)
def _always_worth_it(monkeypatch):
    monkeypatch.setattr(direct, "WORTH", 0)
    monkeypatch.setattr(direct, "LARGE", 0)
    monkeypatch.setattr(direct, "SHARED", 0)
    monkeypatch.setattr(direct, "EFFICIENT", 0.0)
    with settings.executor("auto"):
        yield


def integers(geometry):
    """Operands whose products and sums are exact."""
    random = np.random.default_rng(0)
    shapes = geometry.input_shape, geometry.filter_shape, geometry.output_shape
    return [random.integers(-8, 8, shape).astype(np.float32) for shape in shapes]


def all_three(geometry, x, w, g):
    """The convolution and its gradients."""
    rest = geometry.convolution
    return (
        kernels.convolution(x, w, *rest),
        kernels.convolution_filter_gradient(x, g, geometry.window, *rest),
        kernels.convolution_input_gradient(g, w, geometry.sizes, *rest),
    )


@pytest.fixture
def done(monkeypatch):
    """What the routines have computed."""
    names = []
    for name in ("convolve", "filter_gradient", "input_gradient"):

        def note(*args, name=name, made=getattr(direct, name)):
            is_done = made(*args)
            names.extend([name] * is_done)
            return is_done

        monkeypatch.setattr(direct, name, note)
    return names


@pytest.mark.parametrize("vector_bytes", sorted(convolutions.TILES))
@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_numpy(name, vector_bytes, monkeypatch, done):
    """float64, which NumPy computes, tells what is exact; all widths of vectors, by LLVM."""
    routines = convolutions.load(vector_bytes)
    monkeypatch.setattr(convolutions, "routines", lambda: routines)
    monkeypatch.setattr(direct, "ROWS_BYTES", 8000)
    operands = integers(CASES[name])
    expected = all_three(CASES[name], *[x.astype(np.float64) for x in operands])
    assert not done
    for got, exact in zip(all_three(CASES[name], *operands), expected):
        np.testing.assert_array_equal(got, exact)
    expected = {"convolve", "filter_gradient"}
    assert set(done) == expected | ({"input_gradient"} if max(CASES[name].strides) > 1 else set())


def test_any_memory_order(done):
    geometry = CASES["two axes"]
    x, w, g = integers(geometry)
    expected = all_three(geometry, x, w, g)
    turned = [np.asfortranarray(each) for each in (x, w, g)]
    for got, exact in zip(all_three(geometry, *turned), expected):
        np.testing.assert_array_equal(got, exact)
    assert done


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_do_not_change_a_bit(threads, done):
    geometry = CASES["two axes"]
    random = np.random.default_rng(1)
    shapes = geometry.input_shape, geometry.filter_shape, geometry.output_shape
    operands = [random.standard_normal(shape, dtype="float32") for shape in shapes]
    with settings.threads(1):
        expected = all_three(geometry, *operands)
    with settings.threads(threads):
        got = all_three(geometry, *operands)
    for one, other in zip(got, expected):
        np.testing.assert_array_equal(one, other)
    assert len(done) >= 4


def test_infinite_numbers_stay_where_they_are(done):
    geometry = CASES["no padding"]
    x, w, _ = integers(geometry)
    x[0, 4, 4, 3], w[..., 5] = np.inf, 1.0
    y = kernels.convolution(x, w, *geometry.convolution)
    exact = kernels.convolution(x.astype(np.float64), w, *geometry.convolution)
    np.testing.assert_array_equal(y, exact)
    assert done


@pytest.mark.parametrize("flag", ["interpret", "deterministic"])
def test_numpy_does_it_where_nothing_is_compiled(flag, done):
    """And where numbers must not depend on what was computed before."""
    chosen = settings.executor("interpret") if flag == "interpret" else settings.deterministic(True)
    with chosen:
        all_three(CASES["two axes"], *integers(CASES["two axes"]))
    assert not done


def test_little_work_is_not_worth_compiling(monkeypatch, done):
    monkeypatch.setattr(direct, "WORTH", 1 << 40)
    all_three(CASES["two axes"], *integers(CASES["two axes"]))
    assert not done


def test_nobody_waits_for_a_compiler_at_work(monkeypatch, done):
    """LLVM compiles a program aside for seconds: NumPy goes on meanwhile."""
    monkeypatch.setattr(convolutions, "_routines", {})
    begun, may_end = threading.Event(), threading.Event()

    def compiling():
        with jit.lock:
            begun.set()
            may_end.wait(60)

    other = threading.Thread(target=compiling)
    other.start()
    try:
        assert begun.wait(60)
        all_three(CASES["two axes"], *integers(CASES["two axes"]))
        assert not done
    finally:
        may_end.set()
        other.join()
    all_three(CASES["two axes"], *integers(CASES["two axes"]))
    assert done


def test_there_may_be_no_llvm(monkeypatch, done):
    monkeypatch.setattr(convolutions, "_routines", {})

    def missing(vector_bytes):
        raise ImportError("no llvmlite")

    monkeypatch.setattr(convolutions, "load", missing)
    for _ in range(2):
        all_three(CASES["two axes"], *integers(CASES["two axes"]))
    assert not done
    assert eager_kernels.convolution_routines() is None


@pytest.mark.parametrize("failing", [0, 4])
def test_an_error_in_a_thread_is_raised(failing):
    def work(first, _end):
        if first == failing:
            raise MemoryError("no room")

    sizes = direct.ConvolutionSizes(8, (9,), (9,), 1, 1, (3,), (1,), ((1, 1),), (1,))
    with settings.threads(2), pytest.raises(MemoryError, match="no room"):
        direct._share(work, sizes)


def test_every_image_is_in_one_share():
    sizes = direct.ConvolutionSizes(29, (9,), (9,), 1, 1, (3,), (1,), ((1, 1),), (1,))
    for threads in (1, 2, 3, 8, 40):
        shares = []
        with settings.threads(threads):
            direct._share(lambda first, end: shares.append((first, end)), sizes)
        shares.sort()
        assert [first for first, _ in shares[1:]] == [end for _, end in shares[:-1]]
        assert (shares[0][0], shares[-1][1]) == (0, 29) and len(shares) <= min(threads, 8)
        assert all(first % sizes.images == 0 for first, _ in shares)
