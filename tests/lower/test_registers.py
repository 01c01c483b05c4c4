"""Tiles for vectors of 64 bytes give what those of 32 give, on processors of any width."""

import numpy as np
import pytest

from talweg.core.primitive import REGISTRY
from talweg.execute import compilation
from talweg.execute.llvm.link import generate
from talweg.lower.ir import registers

random = np.random.default_rng(0)
PLAIN = {"strides": (1, 1), "padding": "SAME", "dilation": (1, 1), "groups": 1}
PRODUCTS = [(1, 5, 3), (24, 7, 33), (13, 64, 31), (50, 300, 40), (12, 1100, 64), (97, 16, 128)]
# images [n, rows, columns, channels], results
CONVOLUTIONS = [(2, 9, 7, 3, 5), (1, 12, 12, 16, 40), (2, 8, 8, 33, 17), (1, 14, 14, 64, 96)]


@pytest.fixture(params=(32, 64))
def vector_bytes(request, monkeypatch):
    for module in (compilation, generate.jit):
        monkeypatch.setattr(module, "vector_bytes", lambda: request.param)
    return request.param


def close(name, arrays, params):
    """The machine code of one operation does what its NumPy kernel does."""
    prim = REGISTRY[name]
    made = compilation.alone(prim, arrays, params, threads=1)
    assert made, f"{name} is not compiled"
    wanted = prim.numpy(*[x.astype(np.float64) for x in arrays], **params)
    np.testing.assert_allclose(made(arrays, [])[0], wanted, rtol=2e-4, atol=2e-4)


def normal(*shape, dtype=np.float32):
    return random.normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
@pytest.mark.parametrize("m, k, n", PRODUCTS)
def test_products(m, k, n, dtype, vector_bytes):
    close("matmul", [normal(m, k, dtype=dtype), normal(k, n, dtype=dtype)], {})


@pytest.mark.parametrize("batch, rows, columns, depth, results", CONVOLUTIONS)
def test_convolutions_and_their_gradients(batch, rows, columns, depth, results, vector_bytes):
    x, w = normal(batch, rows, columns, depth), normal(3, 3, depth, results)
    g = normal(batch, rows, columns, results)
    close("convolution", [x, w], PLAIN)
    close("convolution_input_gradient", [g, w], {**PLAIN, "sizes": (rows, columns)})
    close("convolution_filter_gradient", [x, g], {**PLAIN, "kernel": (3, 3)})


def test_the_registers_are_those_of_the_block_alone():
    assert registers.registers() is registers.SIXTEEN
    with registers.lowering_for(64):
        assert registers.registers().lanes(4) == 16
        with registers.lowering_for(16):  # tiles are cut
            assert registers.registers() is registers.SIXTEEN
    assert registers.registers() is registers.SIXTEEN
