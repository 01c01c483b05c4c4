"""Derivatives by differences: the function of a check as a function of real vectors.

`Problem` holds what is checked: a function, the tensors and variables it is differentiated by, and
how to evaluate it at changed values.  Directional derivatives come from central differences with
extrapolation (Ridders 1982; Numerical Recipes, section 5.7), which say how good they are, and from
the complex step (Squire and Trapp 1998), which loses nothing to cancellation, where the function
takes complex numbers and is analytic.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core import dispatch
from talweg.core.dtypes import complex128, float32, float64, of_numpy
from talweg.core.errors import OpError, value_error
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.forward import ForwardAccumulator
from talweg.eager.tape import GradientTape
from talweg.eager.tensor import wrap
from talweg.eager.variable import variable_of
from talweg.graph import structure
from talweg.transform.rules import densify

SHRINK = 1.6  # from one step of the differences to the next
ROWS = 5
SIZES = (1.0, 32.0, 1024.0)
TINY_STEP = 1e-30  # of the complex step


class Problem:
    """A function, the tensors to differentiate by, and their values as real vectors."""

    def __init__(self, f: Callable[..., Any], args: Any, variables: object, wide: bool):
        self.f = f
        args = args if isinstance(args, (list, tuple)) else [args]
        self.args = [_argument(arg) for arg in args]
        given = [] if variables is None else structure.flatten(variables)
        self.variables = [variable_of(v) for v in given]
        self.leaves = [_tensor(leaf) for leaf in structure.flatten(self.args)]
        self.places = [
            i
            for i, leaf in enumerate(self.leaves)
            if isinstance(leaf, Tensor) and leaf.dtype.is_differentiable
        ]
        if not self.places and not self.variables:
            raise value_error(
                "TW303",
                f"check_gradients: there is nothing to differentiate by in args {args!r}",
                "floating-point arguments, or variables=...",
            )
        self.wide = wide and self._widen()
        self.start = [content.astype(content.dtype) for content in self._contents()]
        self.names = [_names(f, self.args)[argument] for argument in self.places]
        self.names += [str(getattr(v, "path", v.name)).split(":")[0] for v in given]

    def _contents(self) -> list:
        inside = [np.asarray(self.leaves[i]._array) for i in self.places]
        return inside + [np.asarray(v.handle_read()._array) for v in self.variables]

    def _widen(self) -> bool:
        """Take the arguments as float64 or complex128, if the function accepts that."""
        before = list(self.leaves)
        for i in self.places:
            dtype = complex128 if before[i].dtype.is_complex else float64
            self.leaves[i] = wrap(np.asarray(before[i]._array).astype(dtype.numpy_dtype))
        try:
            with dispatch.eagerly(), dispatch.only(()):
                self._call(self.leaves)
        except (OpError, TypeError, ValueError):
            self.leaves = before
            return False
        return True

    @property
    def precision(self) -> float:
        """The spacing at 1 of the coarsest dtype that takes part."""
        return max(_spacing(array) for array in self.start)

    def _call(self, leaves: list) -> list:
        """Return the floating results for these leaves."""
        answer = self.f(*structure.pack(self.args, leaves))
        found = [convert_to_tensor(leaf) for leaf in structure.flatten(answer) if leaf is not None]
        return [y for y in found if y.dtype.is_differentiable]

    def at(self, arrays: list) -> list:
        """Return the results, as arrays, at these values of arguments and variables."""
        leaves = list(self.leaves)
        for place, array in zip(self.places, arrays):
            leaves[place] = wrap(array)
        for variable, array in zip(self.variables, arrays[len(self.places) :]):
            variable.assign(wrap(array))
        with dispatch.eagerly(), dispatch.only(()):
            return [np.asarray(y._array) for y in self._call(leaves)]

    def results(self) -> list:
        """Return the results at the point; ValueError if there are no floats among them."""
        found = self.at(self.start)
        if not found:
            raise value_error(
                "TW303",
                "check_gradients: the function gives nothing that has a derivative",
                "tensors of floats or complex numbers",
            )
        return found

    def restore(self) -> None:
        """Give the variables their values back."""
        for variable, array in zip(self.variables, self.start[len(self.places) :]):
            variable.assign(wrap(array))

    def move(self, direction: list, t: float) -> list:
        """Return the values at a distance along a direction."""
        return [
            (x + t * v).astype(x.dtype if not isinstance(t, complex) else complex)
            for x, v in zip(self.start, direction)
        ]

    def along(self, direction: list, weights: list) -> Callable[[float], float]:
        """Return t -> the weighted sum of all results at that distance."""
        return lambda t: total(weights, self.at(self.move(direction, t)))

    def along_all(self, direction: list, several: list) -> Callable[[float], np.ndarray]:
        """Compute the differences as `along`, for several weights at once."""

        def values(t: float) -> np.ndarray:
            results = self.at(self.move(direction, t))
            return np.array([total(weights, results) for weights in several])

        return values

    # -- by the rules

    def _sources(self) -> list:
        return [self.leaves[i] for i in self.places] + self.variables

    def reverse(self, weights: list) -> list:
        """Return the gradients of the weighted sum by all sources; None where there is no path."""
        with dispatch.eagerly(), dispatch.only(()):
            with GradientTape(persistent=True) as tape:
                tape.watch([x for x in self._sources() if isinstance(x, Tensor)])
                tape.watch(self.variables)
                results = self._call(self.leaves)
            seeds = [wrap(w.astype(y.dtype.numpy_dtype)) for w, y in zip(weights, results)]
            found = tape.gradient(results, self._sources(), output_gradients=seeds)
        return [None if g is None else np.asarray(densify(g)._array) for g in found]

    def forward(self, direction: list) -> list:
        """Return the derivatives of all results along a direction; None where there is no path."""
        tangents = [wrap(v.astype(x.dtype)) for v, x in zip(direction, self.start)]
        with dispatch.eagerly(), dispatch.only(()):
            with ForwardAccumulator(self._sources(), tangents) as accumulator:
                results = self._call(self.leaves)
            found = [accumulator.jvp(y) for y in results]
        return [None if t is None else np.asarray(t._array) for t in found]


def _names(f: Callable[..., Any], args: list) -> list[str]:
    """Return a name for each leaf of the arguments: the parameter's, numbered inside nests."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    own = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    found = []
    for place, arg in enumerate(args):
        name = own[place] if place < len(own) else f"args[{place}]"
        count = len(structure.flatten(arg))
        found += [name if count == 1 else f"{name}.{i}" for i in range(count)]
    return found


def _argument(arg: Any) -> Any:
    """Return a list of numbers as a tensor; nests of tensors, and all else, as they are."""
    leaves = structure.flatten(arg)
    numbers = all([isinstance(leaf, (int, float, complex)) for leaf in leaves])
    return convert_to_tensor(arg) if isinstance(arg, (list, tuple)) and leaves and numbers else arg


def _tensor(leaf: object) -> Any:
    """Return a leaf of the arguments as a tensor;
    Python numbers as float32, other things as they are.
    """
    if isinstance(leaf, Tensor):
        return leaf
    if isinstance(leaf, float):
        return convert_to_tensor(leaf, dtype=float32)
    return convert_to_tensor(leaf) if isinstance(leaf, (np.ndarray, np.generic)) else leaf


def _spacing(array: np.ndarray) -> float:
    if of_numpy(array.dtype).name == "bfloat16":
        return 2.0**-7
    return float(np.finfo(array.dtype).eps)


def total(weights: list, results: list) -> float:
    """Return the real part of the sum of results times conjugated weights."""
    return float(sum(np.real(np.vdot(w, y.astype(w.dtype))) for w, y in zip(weights, results)))


def inner(left: list, right: list) -> float:
    """Compute the inner product as `total`, absent parts counting as zero."""
    both = [(a, b) for a, b in zip(left, right) if a is not None and b is not None]
    return total([a for a, _ in both], [b for _, b in both])


def random_like(arrays: list, generator: np.random.Generator) -> list:
    """Return standard normal numbers of the same shapes, complex where these are."""
    found = []
    for array in arrays:
        numbers = generator.standard_normal(array.shape)
        if array.dtype.kind == "c":
            numbers = numbers + 1j * generator.standard_normal(array.shape)
        found.append(np.asarray(numbers))
    return found


def scale_of(arrays: list) -> float:
    """Return a length typical of the numbers in arrays; 1 where all are 0."""
    squares = sum(float(np.sum(np.abs(a.astype(np.complex128)) ** 2)) for a in arrays)
    count = max(1, sum(a.size for a in arrays))
    return float(np.sqrt(squares / count)) or 1.0


def by_differences(g: Callable[[float], float], step: float, precision: float) -> tuple:
    """Return (g'(0), its error) by central differences from steps of several sizes.

    Those that agree best are taken: large steps lose least to rounding, small ones stay clear of
    kinks near by.
    """
    found = [_extrapolate(g, step / factor, precision) for factor in SIZES]
    pairs = [(one, other) for one, other in zip(found, found[1:])]
    one, other = min(pairs, key=lambda pair: max(abs(pair[0][0] - pair[1][0]), pair[0][1]))
    best = min(one, other, key=lambda row: row[1])
    return best[0], max(best[1], abs(one[0] - other[0]))


def _extrapolate(g: Callable[[float], float], step: float, precision: float) -> tuple:
    """Return (g'(0), its error) by central differences, extrapolated to step 0."""
    table: list[list[float]] = []
    best, error = float("nan"), float("inf")
    h, largest = step, 0.0
    for row in range(ROWS):
        above, below = g(h), g(-h)
        largest = max(largest, abs(above), abs(below))
        line = [(above - below) / (2 * h)]
        factor = SHRINK**2
        for column in range(row):
            line.append((line[column] * factor - table[-1][column]) / (factor - 1))
            factor *= SHRINK**2
            gap = max(abs(line[-1] - line[-2]), abs(line[-1] - table[-1][column]))
            if gap <= error:
                best, error = line[-1], gap
        table.append(line)
        h /= SHRINK
    return best, max(error, 0.1 * precision * largest / h)


def roughly(g: Callable[[float], float], step: float) -> float:
    """Return g'(0) from four values."""
    near, far = g(step) - g(-step), g(2 * step) - g(-2 * step)
    return (8 * near - far) / (12 * step)


def by_complex_step(problem: Problem, direction: list, weights: list) -> float | None:
    """Return the derivative along a direction;
    None where the function does not take complex numbers.
    """
    if problem.variables or any(a.dtype.kind == "c" for a in problem.start):
        return None
    moved = [x.astype(np.complex128) + 1j * TINY_STEP * v for x, v in zip(problem.start, direction)]
    try:
        results = problem.at(moved)
    except (OpError, TypeError, ValueError):
        return None
    if not results or any(y.dtype.kind != "c" for y in results):
        return None
    here = problem.at(problem.start)
    if any(a.shape != b.shape or not np.allclose(a.real, b) for a, b in zip(results, here)):
        return None
    return float(sum(np.sum(w * y.imag) for w, y in zip(weights, results)) / TINY_STEP)
