"""Random windows, for the tests of convolution and pooling."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from talweg.core.errors import InvalidArgumentError
from talweg.core.primitive import Primitive, later
from talweg.execute.llvm.runtime.executable import Executable
from tests.lower.declared import (
    assert_close,
    avals_of,
    expected,
    hosts,
    lower,
    results,
    static_of,
)

CHANNELS = (1, 2, 3, 4, 5, 8, 9, 12, 16, 17, 24, 33, 40)


def pairs(most: int) -> st.SearchStrategy:
    """Padding of one axis."""
    return st.tuples(st.integers(0, most), st.integers(0, most))


@st.composite
def convolutions(
    draw, names: tuple = ("convolution",), most: int = 9, channels: tuple = CHANNELS
) -> tuple:
    """(primitive, arrays, params) with a result that is not empty."""
    rank = draw(st.sampled_from([1, 2, 2, 2, 3]))
    each = [
        st.integers(1, 4),
        st.integers(1, 3),
        st.sampled_from([1, 1, 2, 3]),
        st.integers(1, most if rank < 3 else 4),
    ]
    taps, strides, steps, sizes = [tuple([draw(one) for _ in range(rank)]) for one in each]
    if most > 8 and draw(st.booleans()):
        sizes = (*sizes[:-1], draw(st.integers(10, 30)))
    groups = draw(st.sampled_from([1, 1, 1, 2, 3]))
    depth, width = draw(st.sampled_from(CHANNELS[:6])), draw(st.sampled_from(channels))
    padding = draw(st.sampled_from(["SAME", "VALID", None]))
    padding = padding or tuple([draw(pairs(2)) for _ in range(rank)])
    batch = draw(st.sampled_from([1, 2, 3, 9]))
    params = {"strides": strides, "padding": padding, "dilation": steps, "groups": groups}
    dtype = draw(st.sampled_from(["float32", "float64"]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    x = rng.normal(size=(batch, *sizes, groups * depth)).astype(dtype)
    w = rng.normal(size=(*taps, depth, width * groups)).astype(dtype)
    try:
        dims = later("convolution").infer(*avals_of([x, w]), **params).dims
    except InvalidArgumentError:
        dims = (0,)
    if 0 in dims:
        params |= {"padding": "SAME"}
        dims = later("convolution").infer(*avals_of([x, w]), **params).dims
    g = rng.normal(size=dims).astype(dtype)
    name = draw(st.sampled_from(names))
    if name == "convolution":
        return later(name), [x, w], params
    if name == "convolution_input_gradient":
        return later(name), [g, w], {**params, "sizes": sizes}
    return later(name), [x, g], {**params, "kernel": taps}


def natively(prim: Primitive, arrays: list, params: dict, threads: int) -> list:
    """What machine code gives."""
    lowered = lower(static_of(prim, arrays, params))
    executable = Executable(lowered.program, lowered.inputs, [], lowered.outputs, threads=threads)
    found = executable([np.ascontiguousarray(array) for array in arrays])
    return [array.reshape(buffer.shape) for array, buffer in zip(found, lowered.outputs)]


def check_case(case: tuple, threads: int | None = None, lowered: bool = True) -> None:
    """Compare with the NumPy kernel: machine code on so many threads, or the slow executor."""
    prim, arrays, params = case
    if threads is None:
        found, made = results(prim, arrays, params)
        assert not lowered or not hosts(made.program)
    else:
        found = natively(prim, arrays, params, threads)
    tolerance = 2e-5 if arrays[0].dtype == np.float32 else 1e-12
    for got, wanted in zip(found, expected(prim, arrays, params), strict=True):
        scale = max(float(np.max(np.abs(wanted), initial=0)), 1.0)
        if wanted.dtype.kind == "f":
            got, wanted = got / wanted.dtype.type(scale), wanted / wanted.dtype.type(scale)
        assert_close(got, wanted, tolerance, (prim.name, [a.shape for a in arrays], params))
