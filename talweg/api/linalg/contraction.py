"""Sums of products over labelled axes, as a program of primitives.

`program_of` takes the labels of the operands' axes and those of the result; `einsum` and
`tensordot` are texts for it.  The program (diagonals, sums, products of two operands at a time, as
elementwise or matrix products) depends on labels and sizes only and is kept for the next call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dims import Dim, broadcast, differ, is_symbolic, same, same_dims
from talweg.prims.arithmetic import mul
from talweg.prims.contract import matmul
from talweg.prims.layout import reshape, transpose
from talweg.prims.linalg.diagonal import matrix_diag_part
from talweg.prims.reduce import reduce_sum

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive


Labels = tuple  # of hashable labels, one for each axis
MOST_PROGRAMS = 1024  # how many programs a caller keeps by its own, quicker key
MOST_LABELS = 52  # what numpy.einsum_path can tell apart
USUAL_SIZE = 64  # taken for a size that is not known, when the order of products is chosen


class Term:
    """An operand or intermediate result: its place in the list of values, labels and sizes."""

    __slots__ = ("dims", "labels", "place")

    def __init__(self, place: int, labels: Labels, dims: tuple):
        self.place, self.labels, self.dims = place, labels, dims


class ContractionProgram:
    """Primitives with the places of their operands in a growing list of values."""

    def __init__(self, count: int):
        self.steps: list[tuple[Callable[..., Any], tuple, dict]] = []
        self.count = count

    def emit(
        self, prim: Primitive, *terms: Term, labels: Labels, dims: tuple, **params: object
    ) -> Term:
        """Append an application; the term it makes."""
        self.steps.append((prim, tuple(term.place for term in terms), params))
        self.count += 1
        return Term(self.count - 1, labels, dims)

    def run(self, values: list) -> Any:
        """Return the last value, given the operands."""
        values = list(values)
        for prim, places, params in self.steps:
            values.append(prim(*[values[place] for place in places], **params))
        return values[-1]

    def reshape_term(self, term: Term, labels: Labels, dims: tuple) -> Term:
        """Reshape `term`."""
        if same_dims(dims, term.dims):
            return Term(term.place, labels, dims)
        return self.emit(reshape, term, labels=labels, dims=dims, shape=dims)

    def transpose_term(self, term: Term, labels: Labels) -> Term:
        """Transpose `term` to the order of `labels`."""
        if labels == term.labels:
            return term
        perm = tuple(term.labels.index(label) for label in labels)
        dims = tuple(term.dims[axis] for axis in perm)
        return self.emit(transpose, term, labels=labels, dims=dims, perm=perm)

    def without_repeats(self, term: Term) -> Term:
        """Take the diagonals of axes that share a label."""
        while len(set(term.labels)) < len(term.labels):
            labels = term.labels
            twice = next(label for label in labels if labels.count(label) > 1)
            first = labels.index(twice)
            second = labels.index(twice, first + 1)
            rest = [axis for axis in range(len(labels)) if axis not in (first, second)]
            perm = (*rest, first, second)
            if perm != tuple(range(len(labels))):
                dims = tuple(term.dims[axis] for axis in perm)
                order = tuple(labels[axis] for axis in perm)
                term = self.emit(transpose, term, labels=order, dims=dims, perm=perm)
            term = self.emit(
                matrix_diag_part,
                term,
                labels=term.labels[:-1],
                dims=term.dims[:-1],
                low=0,
                high=0,
                align="RIGHT_LEFT",
            )
        return term

    def sum_term(self, term: Term, needed: set) -> Term:
        """Return sums over axes whose labels nobody needs any more."""
        axes = tuple(i for i, label in enumerate(term.labels) if label not in needed)
        if not axes:
            return term
        left = [i for i in range(len(term.labels)) if i not in axes]
        return self.emit(
            reduce_sum,
            term,
            labels=tuple(term.labels[i] for i in left),
            dims=tuple(term.dims[i] for i in left),
            axes=axes,
            keepdims=False,
        )

    def product(self, a: Term, b: Term, needed: set, wanted: Labels) -> Term:
        """Multiply two terms and sum over unneeded labels; near the order `wanted`."""
        common = [label for label in a.labels if label in b.labels]
        kept = [label for label in common if label in needed]
        gone = [label for label in common if label not in needed]
        free_a = [label for label in a.labels if label not in b.labels]
        free_b = [label for label in b.labels if label not in a.labels]
        if not gone:
            return self._elementwise(a, b, free_a, free_b)
        if kept and not free_a and not free_b:
            return self.sum_term(self._elementwise(a, b, free_a, free_b), needed)
        if wanted == (*kept, *free_b, *free_a):
            a, b, free_a, free_b = b, a, free_b, free_a
        kept, gone = _cheapest(a, b, kept, gone, free_a, free_b)
        left = self._matrix(a, kept, free_a, gone, rows=True)
        right = self._matrix(b, kept, free_b, gone, rows=False)
        sizes = dict(zip(a.labels, a.dims))
        for label, size in zip(b.labels, b.dims):
            sizes[label] = broadcast(sizes.get(label, 1), size)
        labels = (*kept, *free_a, *free_b)
        dims = (*[sizes[label] for label in kept], left.dims[-2], right.dims[-1])
        result = self.emit(matmul, left, right, labels=labels, dims=dims)
        return self.reshape_term(result, labels, tuple(sizes[label] for label in labels))

    def _elementwise(self, a: Term, b: Term, free_a: list, free_b: list) -> Term:
        order = tuple(label for label in a.labels if label in b.labels)
        b = self.transpose_term(b, (*order, *free_b))
        dims_b = tuple(
            1 if label in free_a else b.dims[b.labels.index(label)] for label in a.labels
        )
        tail = b.dims[len(order) :]
        labels = (*a.labels, *free_b)
        left = self.reshape_term(a, labels, (*a.dims, *(1,) * len(tail)))
        right = self.reshape_term(b, labels, (*dims_b, *tail))
        dims = tuple(map(broadcast, a.dims, dims_b))
        return self.emit(mul, left, right, labels=labels, dims=(*dims, *tail))

    def _matrix(self, term: Term, kept: list, free: list, gone: list, rows: bool) -> Term:
        """Reshape `term` to matrices [*kept, free, gone] (`rows`) or [*kept, gone, free]."""
        first, last = (free, gone) if rows else (gone, free)
        turned = term.labels == (*kept, *last, *first) and term.labels != (*kept, *first, *last)
        if turned:
            first, last = last, first
        term = self.transpose_term(term, (*kept, *first, *last))
        count = len(kept)
        sizes = dict(zip(term.labels, term.dims))
        groups = tuple(math.prod(sizes[label] for label in group) for group in (first, last))
        term = self.reshape_term(term, ("matrix",) * (count + 2), (*term.dims[:count], *groups))
        if not turned:
            return term
        dims = (*term.dims[:count], *groups[::-1])
        perm = (*range(count), count + 1, count)
        return self.emit(transpose, term, labels=term.labels, dims=dims, perm=perm)


def _cheapest(a: Term, b: Term, kept: list, gone: list, free_a: list, free_b: list) -> tuple:
    """Return the order of batch and summed labels for which fewest operands must be rearranged."""

    def cost(orders: tuple) -> int:
        batch, inner = orders
        as_a = {(*batch, *free_a, *inner), (*batch, *inner, *free_a)}
        as_b = {(*batch, *free_b, *inner), (*batch, *inner, *free_b)}
        return (a.labels not in as_a) + (b.labels not in as_b)

    def in_order_of(term: Term, labels: list) -> list:
        return sorted(labels, key=term.labels.index)

    choices = [(in_order_of(p, kept), in_order_of(q, gone)) for p in (a, b) for q in (a, b)]
    return min(choices, key=cost)


def path_of(terms: list[Term], output: Labels, optimize: bool | str) -> list[tuple]:
    """Find the contraction path: at each step the places of two operands in a growing list."""
    numbers: dict = {}
    for term in terms:
        for label in term.labels:
            numbers.setdefault(label, len(numbers))
    if optimize is False or len(numbers) > MOST_LABELS or _has_zero(terms):
        return [(0, 1)] + [(0, len(terms) - 2 - i) for i in range(len(terms) - 2)]
    operands: list = []
    for term in terms:
        dims = tuple(USUAL_SIZE if type(n) is Dim else n for n in term.dims)
        operands += [np.broadcast_to(np.float32(0), dims), [numbers[l] for l in term.labels]]
    kind = optimize if optimize in ("greedy", "optimal") else "greedy"
    path, _ = np.einsum_path(*operands, [numbers[label] for label in output], optimize=kind)
    return _pairs(path[1:])


def _has_zero(terms: list[Term]) -> bool:
    return any(same(size, 0) for term in terms for size in term.dims)


def _pairs(path: list) -> list[tuple]:
    """Return a path whose steps take two operands at most; a product stands last (place -1)."""
    steps = []
    for step in path:
        *others, last = sorted(step)
        steps.append((others.pop(), last) if others else (last,))
        steps += [(place, -1) for place in reversed(others)]
    return steps


def program_of(
    inputs: tuple, dims: tuple, output: Labels, optimize: bool | str
) -> ContractionProgram:
    """Return the program that sums the product of operands over all labels that are not in
    `output`.

    Labels that are ints broadcast: their sizes may be 1 in one operand and more in another.
    """
    if any(map(is_symbolic, dims)):
        return _program(inputs, dims, output, optimize)
    return _kept_program(inputs, dims, output, optimize)


def _program(
    inputs: tuple, dims: tuple, output: Labels, optimize: bool | str
) -> ContractionProgram:
    program = ContractionProgram(len(inputs))
    terms = [Term(i, labels, size) for i, (labels, size) in enumerate(zip(inputs, dims))]
    terms = [program.without_repeats(_squeeze(program, term, dims, inputs)) for term in terms]
    terms = [program.sum_term(t, _labels_needed(terms, i, output)) for i, t in enumerate(terms)]
    path = path_of(terms, output, optimize) if len(terms) > 2 else [(0, 1)] * (len(terms) - 1)
    for step in path:
        chosen = [terms[term_number] for term_number in step]
        terms = [term for term in terms if all(term is not c for c in chosen)]
        needed = {label for term in terms for label in term.labels} | set(output)
        wanted = output if not terms else ()
        if len(chosen) == 1:
            terms.append(chosen[0])
        else:
            left, right = chosen
            terms.append(program.product(left, right, needed, wanted))
    program.transpose_term(terms[0], output)
    return program


_kept_program = lru_cache(maxsize=512)(_program)


def _labels_needed(terms: list[Term], place: int, output: Labels) -> set:
    others = {label for i, term in enumerate(terms) if i != place for label in term.labels}
    return others | set(output)


def _squeeze(program: ContractionProgram, term: Term, dims: tuple, inputs: tuple) -> Term:
    """Squeeze broadcast axes (labels that are ints) of size 1 where another is larger."""
    sizes: dict = {}
    for labels, size in zip(inputs, dims):
        for label, n in zip(labels, size):
            if isinstance(label, int) and differ(n, 1):
                sizes[label] = n
    keep = [
        i
        for i, (label, n) in enumerate(zip(term.labels, term.dims))
        if not (isinstance(label, int) and same(n, 1) and label in sizes)
    ]
    labels = tuple(term.labels[i] for i in keep)
    return program.reshape_term(term, labels, tuple(term.dims[i] for i in keep))
