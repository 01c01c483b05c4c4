"""Convolutions by matrix registers of all kinds of windows, by NumPy and as machine code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import talweg as tf
from talweg.core.errors import InvalidArgumentError
from talweg.core.primitive import Primitive, later
from talweg.execute.llvm.runtime.executable import Executable
from talweg.execute.loop_interpreter import interpreter
from talweg.lower.build import build
from talweg.lower.convolution import (
    convolution,
    matrix_tiles,
    matrix_tiles_selection,
    padding,
)
from talweg.lower.convolution.geometry import divisors, geometry_of
from talweg.lower.convolution.matrix_tiles_selection import row_block
from talweg.lower.fusion import views
from talweg.lower.ir.loops import Call
from talweg.lower.ir.printer import parse, to_text
from talweg.lower.ir.verifier import check
from talweg.lower.ir.visitors import all_statements
from talweg.passes.optimize.pipeline import optimize
from tests.lower.declared import avals_of, static_of
from tests.lower.windows import pairs

assert tf.nn.conv2d  # loads the declarations
ULP = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck)}
NAMES = ("convolution", "convolution_input_gradient", "convolution_filter_gradient")
SMALL = {
    (matrix_tiles, "GROUP_BYTES"): (1 << 12, 1 << 20),
    (matrix_tiles, "GATHERED_BYTES"): (1 << 12, 1 << 19),
    (matrix_tiles_selection, "TURNED_BYTES"): (1 << 13, 1 << 15, 1 << 20),
    (padding, "SCRATCH"): (1 << 10, 96 << 10),
}


class Case:
    """One of the three operations on 16-bit arrays, whose sums are float32."""

    def __init__(self, prim: Primitive, arrays: list, params: dict, dtype: str = "bfloat16"):
        self.prim, self.params, self.ulp = prim, params, ULP[dtype]
        numpy_dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16
        self.arrays = [array.astype(numpy_dtype) for array in arrays]

    def lowered(self, threads: int = 1):
        static = static_of(self.prim, self.arrays, self.params)
        optimize(static)
        made = build(static, self.prim.name, threads, 32, True)
        check(made.program)
        return made

    def by_registers(self) -> bool:
        """Whether matrix registers multiply."""
        kernels = [block for block in self.lowered().program.blocks if hasattr(block, "body")]
        return any(type(one) is Call for each in kernels for one in all_statements(each.body))

    def buffers(self) -> set[str]:
        """The names of what is stored, without numbers."""
        return {buffer.name.rstrip("0123456789") for buffer in self.lowered().program.buffers}

    def check(self, threads: int, by_numpy: bool) -> None:
        with np.errstate(all="ignore"):
            wide = [array.astype(np.float64) for array in self.arrays]
            wanted = self.prim.numpy(*wide, **self.params)
            squares = [np.where(np.isfinite(x), x * x, 0) for x in wide]
            scale = np.sqrt(self.prim.numpy(*squares, **self.params))
        if not self.by_registers():
            return  # vectors leave rows of padding out, where infinity would meet zeros
        lowered = self.lowered(threads)
        made = Executable(lowered.program, lowered.inputs, [], lowered.outputs, threads)
        found = [made(self.arrays, [])[0]]
        if by_numpy:
            again = parse(to_text(lowered.program))
            assert to_text(again) == to_text(lowered.program)
            given_ = {x.name: array for x, array in zip(lowered.inputs, self.arrays)}
            with np.errstate(all="ignore"):
                found.append(interpreter.run(again, given_)[lowered.outputs[0].name])
        for one in found:
            one = one.reshape(wanted.shape).astype(np.float64)
            finite = np.isfinite(wanted)
            np.testing.assert_array_equal(one[~finite], wanted[~finite])
            error = np.abs(one[finite] - wanted[finite])
            assert (error <= self.ulp * np.abs(wanted[finite]) + 1e-5 * scale[finite]).all()


@st.composite
def cases(draw, channels: tuple, sizes: int = 8) -> Case:
    rank = draw(st.sampled_from([1, 2, 2, 2, 2, 3]))
    most = sizes if rank < 3 else 4
    each = [
        st.integers(1, 4),
        st.sampled_from([1, 1, 1, 2, 3]),
        st.sampled_from([1, 1, 1, 2, 3]),
        st.integers(1, most),
    ]
    taps, strides, steps, sides = [tuple([draw(one) for _ in range(rank)]) for one in each]
    if rank < 3 and draw(st.booleans()):
        sides = (*sides[:-1], draw(st.integers(10, 40)))
    depth, width = draw(st.sampled_from(channels)), draw(st.sampled_from(channels))
    drawn = draw(st.sampled_from(["SAME", "VALID", None]))
    around = drawn or tuple([draw(pairs(2)) for _ in range(rank)])
    batch = draw(st.sampled_from([1, 2, 3, 4, 6]))
    groups = draw(st.sampled_from([1, 1, 1, 2, 3]))
    params = {"strides": strides, "padding": around, "dilation": steps, "groups": groups}
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    x = rng.normal(size=(batch, *sides, groups * depth))
    w = rng.normal(size=(*taps, depth, groups * width))
    try:
        dims = later("convolution").infer(*avals_of([x, w]), **params).dims
    except InvalidArgumentError:
        dims = (0,)
    if 0 in dims:
        params |= {"padding": "SAME"}
        dims = later("convolution").infer(*avals_of([x, w]), **params).dims
    g = rng.normal(size=dims)
    for array in (x, g):
        if draw(st.booleans()):
            places = [tuple([rng.integers(size) for size in array.shape]) for _ in range(2)]
            for place in places:
                array[place] = rng.choice([np.inf, -np.inf, np.nan])
    name, dtype = draw(st.sampled_from(NAMES)), draw(st.sampled_from(tuple(ULP)))
    if name == "convolution":
        return Case(later(name), [x, w], params, dtype)
    if name == "convolution_input_gradient":
        return Case(later(name), [g, w], {**params, "sizes": sides}, dtype)
    return Case(later(name), [x, g], {**params, "kernel": taps}, dtype)


@contextmanager
def limited(numbers: tuple) -> Iterator[None]:
    """Put limits on sizes, so that small images go the ways of large ones."""

    def fits(windows, times):
        return row_block(windows, times) is not None

    with pytest.MonkeyPatch.context() as patch:
        for (module, name), number in zip(SMALL, numbers):
            patch.setattr(module, name, number)
        patch.setattr(views, "beats_vectors", lambda windows, times: True)
        patch.setattr(views, "gradient_beats_vectors", fits)
        yield


LIMITS = st.tuples(*map(st.sampled_from, SMALL.values()))


@settings(max_examples=150, **QUIET)
@given(cases((3, 8, 16, 20, 32, 40, 64, 70)), st.sampled_from([1, 2, 5]), LIMITS)
def test_machine_code_gives_what_numpy_gives(case, threads, numbers):
    with limited(numbers):
        case.check(threads, by_numpy=False)


@settings(max_examples=60, **QUIET)
@given(cases((8, 17, 32, 48), 4), st.sampled_from([1, 3]), LIMITS)
def test_the_loop_program_is_right_and_can_be_read_back(case, threads, numbers):
    with limited(numbers):
        case.check(threads, by_numpy=True)


def like(
    name: str,
    x: tuple,
    w: tuple,
    stride: int = 1,
    dilation: int = 1,
    around: str = "SAME",
    dtype: str = "bfloat16",
    groups: int = 1,
) -> Case:
    """A case of random numbers."""
    rng, sides = np.random.default_rng(0), len(x) - 2
    params = {"strides": (stride,) * sides, "dilation": (dilation,) * sides, "padding": around}
    params["groups"] = groups
    arrays = [rng.normal(size=dims) for dims in (x, w)]
    g = rng.normal(size=later("convolution").infer(*avals_of(arrays), **params).dims)
    if name == NAMES[1]:
        return Case(later(name), [g, arrays[1]], {**params, "sizes": x[1:-1]}, dtype)
    if name == NAMES[2]:
        return Case(later(name), [arrays[0], g], {**params, "kernel": w[:-2]}, dtype)
    return Case(later(name), arrays, params, dtype)


LAYERS = [
    ((2, 12, 14, 64), (3, 3, 64, 48), 1, 1, "SAME"),
    ((2, 12, 33, 40), (3, 2, 40, 33), 1, 2, "SAME"),
    ((2, 9, 20, 32), (3, 3, 32, 40), 1, 2, "SAME"),
    ((4, 11, 40, 32), (3, 3, 32, 64), 2, 1, "VALID"),
    ((3, 50, 96), (5, 96, 64), 1, 1, "SAME"),
    ((2, 10, 11, 96), (3, 3, 32, 120), 1, 1, "SAME"),
    ((2, 9, 8, 128), (3, 2, 64, 48), 2, 1, "SAME"),
]


@pytest.mark.parametrize("dtype", ULP)
@pytest.mark.parametrize("x, w, stride, dilation, around", LAYERS)
def test_filter_gradients_of_blocks_of_all_kinds(
    monkeypatch, x, w, stride, dilation, around, dtype
):
    """Parts of the rows, several images, some of the channels; one after the other and together."""
    case = like(NAMES[2], x, w, stride, dilation, around, dtype, x[-1] // w[-2])
    monkeypatch.setattr(views, "gradient_beats_vectors", lambda windows, times: True)
    equations = static_of(case.prim, case.arrays, case.params).equations
    (own,) = [each for each in equations if each.prim is case.prim]
    windows = geometry_of(own).forward()
    outs, depth = windows.lines[0].outs, windows.depth
    channels = {depth, 32} if depth % 32 == 0 else {depth}
    for images in {1, x[0]}:
        for rows in {divisors(outs)[-2:][0], outs}:
            for some in channels:
                block = matrix_tiles_selection.RowBlock(images, rows, some)
                for way in ("turns_rows", "row_block"):
                    monkeypatch.setattr(convolution, way, lambda *given, block=block: block)
                for threads in (1, 3):
                    case.check(threads, by_numpy=False)
                assert "gathered" in case.buffers() or not block.gathers(windows)


@pytest.mark.parametrize("dtype", ULP)
@pytest.mark.parametrize("name", NAMES)
def test_windows_of_layers_are_not_gathered(name, dtype):
    """Nothing as large as the windows is stored: their elements are read where they are."""
    case = like(name, (2, 28, 28, 64), (5, 5, 64, 64), dtype=dtype)
    assert case.by_registers()
    rows = name == NAMES[2] and dtype == "float16"  # which lie together to be turned
    assert rows or "gathered" not in case.buffers()


def test_few_channels_are_gathered():
    """A tap of them would leave most of a register empty."""
    assert "gathered" in like(NAMES[0], (2, 28, 28, 3), (3, 3, 3, 64)).buffers()


def test_filters_of_input_gradients_are_turned_as_they_are_packed():
    """They were turned number by number, which took longer than the products of small images."""
    assert "filters" not in like(NAMES[1], (1, 6, 6, 64), (3, 3, 64, 64)).buffers()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", [np.inf, np.nan])
@pytest.mark.parametrize("dtype", ULP)
def test_numbers_that_are_not_finite_stay_in_their_windows(name, number, dtype):
    """Also where results between the rows are computed, and left out."""
    for place in ((0, 0, 0, 0), (0, 5, 8, 31), (1, 8, 0, 5), (1, 3, 4, 7)):
        case = like(name, (2, 9, 9, 32), (5, 5, 32, 32), dtype=dtype)
        case.arrays[0][place] = number
        case.check(2, by_numpy=False)


@pytest.mark.parametrize("name", NAMES[:2])
@pytest.mark.parametrize("few", [1, 3])
def test_results_of_few_channels_that_are_long_sums(name, few):
    """As the last layer of a generator, or an input gradient for an image."""
    filters = (5, 4, 32, few) if name == NAMES[0] else (5, 4, few, 32)
    case = like(name, (2, 12, 13, filters[2]), filters, 2)
    assert case.by_registers()
    case.check(2, by_numpy=False)
    assert not like(name, (2, 12, 13, 1), (5, 4, 1, 1), 2).by_registers()


@pytest.mark.parametrize("dtype", ULP)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("depth, width, groups", [(32, 32, 2), (64, 64, 3)])
def test_groups_of_channels(name, dtype, depth, width, groups):
    """They were left to vectors; those of few channels still are."""
    filters = (5, 5, depth, width * groups)
    case = like(name, (2, 14, 15, depth * groups), filters, dtype=dtype, groups=groups)
    assert case.by_registers()
    case.check(2, by_numpy=False)
    few = like(name, (2, 14, 14, 32), (3, 3, 4, 32), dtype=dtype, groups=8)
    assert not few.by_registers()
