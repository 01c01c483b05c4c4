"""NumPy's products have one thread beside compiled operations, and as many as before afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from talweg.core import load, settings
from talweg.kernels import numpy_blas, products


class Matrix(np.ndarray):
    """Notes how many threads BLAS has while it is multiplied; one that is marked cannot be."""

    seen: list = []
    broken = False

    def dot(self, other):
        self.seen.append(threads())
        if self.broken:
            raise ArithmeticError("broken")
        return np.asarray(self).dot(np.asarray(other))


def threads():
    return numpy_blas.thread_functions()[1]()


class Others:
    """A load: so many threads of others on two cores."""

    def __init__(self, count):
        self.count = count

    def share(self, wanted):
        return load.share(wanted, 2, self.count)


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    """NumPy's BLAS has two; where there is none of its own (NumPy of a system), one is played."""
    functions = numpy_blas.thread_functions()
    if functions is None:
        number = [1]
        functions = (lambda count: number.__setitem__(0, count)), (lambda: number[0])
        monkeypatch.setattr(numpy_blas, "thread_functions", lambda: functions)
    before = functions[1]()
    functions[0](2)
    monkeypatch.setattr(numpy_blas.neighbours, "busy", True)
    monkeypatch.setattr(numpy_blas, "load", Others(0))
    monkeypatch.setattr(Matrix, "seen", [])
    yield
    functions[0](before)


@pytest.mark.parametrize("size, count", [(4, 2), (64, 1), (512, 2)])
def test_threads_of_a_product(size, count):
    x = np.ones((size, size), np.float32).view(Matrix)
    assert (products.matrix_product(x, x) == size).all()
    assert (products.plain_product(x, x) == size).all()
    assert Matrix.seen == [count, count] and threads() == 2


def test_after_an_error():
    x = np.ones((64, 64), np.float32).view(Matrix)
    x.broken = True
    with pytest.raises(ArithmeticError):
        products.plain_product(x, x)
    assert Matrix.seen == [1] and threads() == 2


def test_alone_it_has_all(monkeypatch):
    monkeypatch.setattr(numpy_blas.neighbours, "busy", False)
    x = np.ones((64, 64), np.float32).view(Matrix)
    products.plain_product(x, x)
    assert Matrix.seen == [2]


@pytest.mark.parametrize("asked, others, count", [(0, 0, 2), (0, 2, 1), (2, 2, 2), (1, 0, 1)])
def test_its_share_of_the_cores(monkeypatch, asked, others, count):
    """Where others have the cores, one thread; as many as were asked for, where somebody asked."""
    monkeypatch.setattr(numpy_blas.neighbours, "busy", False)
    monkeypatch.setattr(numpy_blas, "load", Others(others))
    x = np.ones((64, 64), np.float32).view(Matrix)
    with settings.threads(asked):
        products.plain_product(x, x)
        seen = []
        numpy_blas.limit_threads(1 << 20, lambda: seen.append(threads()))
        numpy_blas.limit_threads(1 << 10, lambda: seen.append(threads()))  # too small to ask
    assert Matrix.seen == [count] and seen == [count, 2] and threads() == 2


def test_one_changes_at_a_time(monkeypatch):
    """A product within another one leaves the number of threads to that one."""
    monkeypatch.setattr(numpy_blas, "load", Others(2))
    assert numpy_blas.limit_threads(1 << 20, numpy_blas.limit_threads, 1 << 20, threads) == 1
    assert threads() == 2
