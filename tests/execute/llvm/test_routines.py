"""Products by BLAS: every transposition, step and size, against NumPy."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest

from talweg.core.dtypes import float32, float64
from talweg.core.errors import InternalError
from talweg.execute.llvm.runtime import routines
from talweg.execute.llvm.runtime.executable import Executable
from talweg.lower.ir.index import Axis, Index
from talweg.lower.ir.loops import Call, For, Host, Kernel, LoopProgram, Pointer, const

DTYPES = {"float32": (float32, ctypes.c_float), "float64": (float64, ctypes.c_double)}


def gemm(dtype: str):
    """The routine as a Python function of arrays with rows of any length."""
    kind, number = DTYPES[dtype]
    target = LoopProgram("z").buffer("z", kind, (1,))
    call = Call("gemm", [], [], [target])
    (address,) = routines.addresses([routines.symbol(call)]).values()
    place, size = [ctypes.c_void_p, ctypes.c_int64], ctypes.c_int64
    kinds = [*[size] * 5, number, *place, *place, number, *place]
    native = ctypes.CFUNCTYPE(None, *kinds)(address)

    def product(tx, ty, m, n, k, alpha, x, y, beta, z):
        steps = [max(array.strides[0] // array.itemsize, 0) for array in (x, y, z)]
        data = [array.ctypes.data for array in (x, y, z)]
        native(
            tx, ty, m, n, k, alpha, data[0], steps[0], data[1], steps[1], beta, data[2], steps[2]
        )

    return product


def matrix(rng, dtype, rows, columns, gap=3):
    """Random numbers whose rows are further apart than they are long."""
    return rng.standard_normal((rows, columns + gap)).astype(dtype)[:, :columns]


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_transpositions_and_sizes(dtype):
    rng = np.random.default_rng(1)
    product = gemm(dtype)
    sizes = itertools.product((1, 2, 5, 17), (1, 3, 16), (1, 2, 19))
    for (m, n, k), tx, ty, (alpha, beta) in itertools.product(
        sizes, (0, 1), (0, 1), ((1.0, 0.0), (-0.5, 2.0))
    ):
        x = matrix(rng, dtype, *((k, m) if tx else (m, k)))
        y = matrix(rng, dtype, *((n, k) if ty else (k, n)))
        z = matrix(rng, dtype, m, n)
        around = z.base.copy()
        wanted = alpha * ((x.T if tx else x) @ (y.T if ty else y)) + beta * z
        product(tx, ty, m, n, k, alpha, x, y, beta, z)
        np.testing.assert_allclose(z, wanted, 2e-4, 2e-4, err_msg=f"{m} {n} {k} {tx} {ty}")
        np.testing.assert_array_equal(z.base[:, n:], around[:, n:])


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_was_in_z_is_nothing_where_beta_is_0(dtype):
    product = gemm(dtype)
    for m, n, k in ((4, 5, 3), (1, 5, 3), (4, 1, 3), (1, 1, 1), (4, 5, 0), (1, 5, 0), (4, 1, 0)):
        x, y = np.ones((m, k), dtype), np.ones((k, n), dtype)
        z = np.full((m, n), np.nan, dtype)
        product(0, 0, m, n, k, 1.0, x, y, 0.0, z)
        np.testing.assert_array_equal(z, np.full((m, n), k, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_to_add_up(dtype, capfd):
    product = gemm(dtype)
    for m, n in ((3, 4), (1, 4), (3, 1)):
        z = matrix(np.random.default_rng(0), dtype, m, n)
        wanted = 0.5 * z
        for tx, ty in itertools.product((0, 1), (0, 1)):
            before = z.base.copy()
            product(tx, ty, m, n, 0, 1.0, np.ones((1, 1), dtype), np.ones((1, 1), dtype), 0.5, z)
            np.testing.assert_array_equal(z, wanted)
            z.base[...] = before
    z = np.ones((1, 1), dtype)
    product(0, 0, 0, 5, 3, 1.0, np.ones((1, 3), dtype), np.ones((3, 5), dtype), 0.0, z)
    product(0, 0, 5, 0, 3, 1.0, np.ones((5, 3), dtype), np.ones((3, 1), dtype), 0.0, z)
    assert z[0, 0] == 1
    found = capfd.readouterr()
    assert not found.out and not found.err  # BLAS prints what it does not like


@pytest.mark.parametrize("dtype", DTYPES)
def test_nan_is_passed_on(dtype):
    product = gemm(dtype)
    x, y, z = np.ones((3, 2), dtype), np.ones((2, 3), dtype), np.ones((3, 3), dtype)
    x[1, 0] = np.nan
    product(0, 0, 3, 3, 2, 1.0, x, y, 0.0, z)
    assert np.isnan(z[1]).all() and np.isfinite(z[[0, 2]]).all()


def test_an_unknown_routine():
    target = LoopProgram("z").buffer("z", float32, (1,))
    with pytest.raises(InternalError, match="talweg_nothing_float32"):
        routines.addresses([routines.symbol(Call("nothing", [], [], [target]))])


def product_program(m: int, n: int, k: int, parts: int) -> LoopProgram:
    """y = a b, rows shared between `parts` iterations of a parallel loop."""
    program = LoopProgram("product")
    a, b = [program.buffer("x", float32, dims, "input") for dims in ((m, k), (k, n))]
    y = program.buffer("y", float32, (m, n), "output")
    part, rows = Axis("p", parts), m // parts
    arguments = [
        *[Index(0), Index(0), Index(rows), Index(n), Index(k), const(1.0, float32)],
        *[Pointer(a, Index.of(part) * (rows * k)), Index(k), Pointer(b), Index(n)],
        *[const(0.0, float32), Pointer(y, Index.of(part) * (rows * n)), Index(n)],
    ]
    loop = For(part, [Call("gemm", arguments, (a, b), (y,))], "parallel")
    program.blocks = [Kernel("product", [loop])]
    return program


def test_blas_uses_one_thread_while_programs_call_it():
    setter, getter = routines.thread_functions()
    assert setter and getter
    number = ctypes.CFUNCTYPE(ctypes.c_int)(getter)
    ctypes.CFUNCTYPE(None, ctypes.c_int)(setter)(2)
    seen = []
    program = product_program(8, 8, 8, 2)
    b, y = program.buffers[1], program.buffers[2]
    program.blocks.append(Host("look", lambda x: seen.append(number()) or x, (b,), (y,)))
    executable = Executable(program, threads=2)
    x = np.eye(8, dtype=np.float32)
    for _ in range(3):
        executable([x, x])
    assert seen == [1, 1, 1] and number() == 2


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_products_on_several_threads(threads):
    rng = np.random.default_rng(0)
    a, b = [rng.standard_normal(dims).astype(np.float32) for dims in ((96, 70), (70, 50))]
    executable = Executable(product_program(96, 50, 70, 4), threads=threads)
    for _ in range(20):
        (y,) = executable([a, b])
        np.testing.assert_allclose(y, a @ b, 1e-4, 1e-4)
