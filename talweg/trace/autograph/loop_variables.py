"""Loop variables: the values that a traced loop carries from iteration to iteration.

Of each name the loop assigns: tensors and numbers are carried, in nests too; Python objects are
not, and must stay what they are; names without a value before the loop get zeros of what the
first iteration makes of them, which nobody sees: a loop that gives names their first values must
run at least once, which is checked where one of them is used (`must_have_run`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.aval import Aval
from talweg.core.dims import Dim
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import as_shape
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.graph import structure
from talweg.prims import arithmetic
from talweg.trace import control
from talweg.trace.autograph.dataset_loops import call_iteration
from talweg.trace.autograph.first_values import (
    PerhapsForm,
    after_loop,
    name_of_given,
    value_and_given,
)
from talweg.trace.autograph.loop_variable_specs import FixedForm, LeafForm, NestForm
from talweg.trace.autograph.merging import aval_of, zeros_like
from talweg.trace.autograph.values import (
    Undefined,
    can_be_tensor,
    condition_of,
    is_missing,
    mark_undefined,
)
from talweg.trace.bodies import BodyGraph, apply_loop

if TYPE_CHECKING:
    from talweg.core.shapes import TensorShape
    from talweg.graph.symbol import Symbol


class TracedLoop:
    """A loop to be traced: the names it assigns, their accessors, and its options."""

    def __init__(
        self,
        get_state: Callable[..., Any],
        set_state: Callable[..., Any],
        names: tuple[str, ...],
        options: dict,
        take: Callable[[], Any] | None = None,
    ):
        mark_undefined(get_state)
        self.get_state, self.set_state = get_state, set_state
        self.names, self.options = names, options
        self.take = take  # what gives an iteration its element; then the rest of it is a call


class Leaf:
    """One carried tensor: its name, its first value, and its loop invariant."""

    def __init__(self, name: str, first: Tensor, aval: Aval, free: bool = False):
        self.name, self.first, self.aval = name, first, aval
        self.free = free  # its shape may change


class LoopVariables:
    """The variables of one loop."""

    def __init__(self, loop: TracedLoop, body: Callable[..., Any]):
        self.loop = loop
        self.initial = loop.get_state()
        self.leaves: list[Leaf] = []
        self.first_is_different = False
        self._given: dict[str, int] = {}  # name -> which leaf says whether it has a value
        self.forms: list = [
            None if _has_none(value) else self._form(name, value)
            for name, value in zip(loop.names, self.initial)
        ]
        if None in self.forms:
            self._guess(body)
        self._give_shapes(loop.options.get("shape_invariants"))

    # -- before the loop

    def _guess(self, body: Callable[..., Any]) -> None:
        """Infer the forms of undefined names from one trial iteration."""
        graph, states = BodyGraph("first_iteration"), []
        inputs = [graph.add_input(leaf.aval) for leaf in self.leaves]

        take = self.loop.take

        def attempt() -> list:
            values = [
                before if form is None else form.build(inputs)
                for before, form in zip(self.initial, self.forms)
            ]
            self.loop.set_state(tuple(values))
            body(*([] if take is None else [take()]))
            states.append(self.loop.get_state())
            return []

        try:
            graph.run(attempt)
        finally:
            self.loop.set_state(self.initial)
        for number, (name, before, after) in enumerate(
            zip(self.loop.names, self.initial, states[0])
        ):
            if self.forms[number] is None and _has_none(after):
                self.forms[number] = FixedForm(before, free=True)
            elif self.forms[number] is None:
                self.first_is_different |= before is None
                self.forms[number] = self._form(name, after, (before,))

    def _form(self, name: str, value: object, absent: tuple = ()) -> Any:
        """Return the form of a value; `absent`: the undefined marker before the loop, if any."""
        if structure.is_nested(value, composites=True):
            children = structure.children(value)
            return NestForm(value, [self._form(name, child, absent) for child in children])
        if is_missing(value) or not can_be_tensor(value):
            return FixedForm(value, free=bool(absent))
        tensor = convert_to_tensor(value)
        before = None if absent else value_and_given(name, tensor)
        if absent:
            dims = aval_of(tensor).dims
            aval = Aval(None if dims is None else _static(dims), tensor.dtype)
            leaf = Leaf(name, zeros_like(tensor, tensor.dtype), aval, free=True)
        else:
            tensor = tensor if before is None else before[0]
            leaf = Leaf(name, tensor, aval_of(tensor), free=before is not None)
        self.leaves.append(leaf)
        leaf_number = len(self.leaves) - 1
        if before is None and not (absent and isinstance(absent[0], Undefined)):
            return LeafForm(leaf_number)
        return PerhapsForm(name, leaf_number, self._place_of_given(name, before))

    def _place_of_given(self, name: str, before: tuple | None) -> int:
        """Return the leaf that says whether a name is defined."""
        if name not in self._given:
            first = convert_to_tensor(False) if before is None else before[1]
            self.leaves.append(Leaf(name_of_given(name), first, aval_of(first)))
            self._given[name] = len(self.leaves) - 1
        return self._given[name]

    def _give_shapes(self, invariants: Any) -> None:
        """Apply the loop's `shape_invariants`."""
        for value, shape in invariants or ():
            wanted = [as_shape(getattr(s, "shape", s)) for s in _shapes_of(value, shape)]
            for number, known in enumerate(self.initial):
                if known is not value:
                    continue
                own_shape = [leaf for leaf in self.leaves if leaf.name == self.loop.names[number]]
                for leaf, given in zip(own_shape, wanted):
                    if not given.is_compatible_with(leaf.first.shape):
                        raise value_error(
                            "TW204",
                            f"the shape invariant {given} of '{leaf.name}' is not compatible with "
                            f"its shape before the loop, {leaf.first.shape}",
                        )
                    dims = None if given.rank is None else given.as_tuple()
                    leaf.aval, leaf.free = Aval(dims, leaf.aval.dtype), True

    # -- the loop

    def trace(self, test: Callable[[], Any], body: Callable[..., Any]) -> None:
        """Trace test and body; afterwards the names have their values after the loop."""
        ends_when: list = [None]
        finals: list = []

        def condition(tensors: list) -> Any:
            self._set(tensors)
            holds = control.truth(condition_of(test()), "while")
            # the place is known if no unconverted code asked for the value of a tensor before
            here = dispatch.context.base is tensors[0].graph if tensors else False
            ends_when[0] = _find_negated(holds, tensors) if here else None
            return holds

        def step(tensors: list, *element: object) -> list:
            self._set(tensors)
            body(*element)
            values = self.loop.get_state()
            finals[:] = values
            tensors_out: list = [None] * len(self.leaves)
            for name, value, form in zip(self.loop.names, values, self.forms):
                for leaf_at, tensor in zip(form.places, form.flatten(name, value)):
                    tensors_out[leaf_at] = tensor
            return [_check_carried(leaf, x) for leaf, x in zip(self.leaves, tensors_out)]

        take = self.loop.take

        def step_with_element(tensors: list) -> list:
            return call_iteration(step, tensors, take() if take else None)

        try:
            first = [leaf.first for leaf in self.leaves]
            avals = [leaf.aval for leaf in self.leaves]
            iteration = step if take is None else step_with_element
            results: list = apply_loop(condition, iteration, first, avals, self._check)[:-1]
        except BaseException:
            self.loop.set_state(self.initial)
            raise
        if ends_when[0] is not None:
            results[ends_when[0]] = True  # the loop ends only if it is
        self._finish(results, finals)

    def _set(self, tensors: list) -> None:
        self.loop.set_state(tuple([form.build(tensors) for form in self.forms]))

    def _finish(self, results: list, finals: list) -> None:
        """Assign the names their values; lists and dictionaries stay the same objects."""
        values = []
        for number, form in enumerate(self.forms):
            before = self.initial[number]
            if isinstance(before, Undefined):
                form = after_loop(form)
            value = form.build(results)
            if type(before) is list and type(value) is list:
                before[:] = value
                value = before
            elif type(before) is dict and type(value) is dict:
                before.update(value)
                value = before
            elif isinstance(form, FixedForm) and form.free:
                value = finals[number]
            values.append(value)
        self.loop.set_state(tuple(values))

    def _check(self, graph: BodyGraph) -> None:
        """Raise ValueError where an iteration changes a known shape."""
        for leaf, node, result in zip(self.leaves, graph.input_nodes, graph.results):
            if leaf.free or result is None or node.aval.dims is None:
                continue
            before, after = as_shape(_static(node.aval.dims)), result.shape
            if not before.is_compatible_with(after):
                raise value_error(
                    "TW204",
                    f"'{leaf.name}' has shape {before} before the loop, but shape {after} after "
                    "one iteration",
                    "the same shape in every iteration",
                    "tf.autograph.experimental.set_loop_options(shape_invariants="
                    f"[({leaf.name}, tf.TensorShape(...))])",
                )


def _has_none(value: object) -> bool:
    """Return whether a name is undefined, or None."""
    return value is None or is_missing(value)


def _static(dims: tuple) -> tuple:
    return tuple([None if type(size) is Dim else size for size in dims])


def _shapes_of(value: Symbol, shape: TensorShape) -> list:
    """Return one shape for each tensor of a value."""
    count = len(structure.flatten(value, composites=True))
    if count == 1 or hasattr(shape, "rank"):
        return [shape] * count
    return structure.flatten(shape)


def _find_negated(found: Symbol, tensors: list) -> int | None:
    """Return the number of the carried tensor that a test negates."""
    if found.node.prim is not arithmetic.logical_not:
        return None
    operand = found.node.operands[0]
    return next((place for place, x in enumerate(tensors) if x.node is operand), None)


def _check_carried(leaf: Leaf, value: object) -> Tensor:
    """Return a tensor of the carried dtype; TypeError if it has another."""
    dtype, value = leaf.aval.dtype, convert_to_tensor(value)
    if value.dtype is dtype:
        return value
    raise type_error(
        "TW102",
        f"'{leaf.name}' has dtype {dtype.name} before the loop, but dtype {value.dtype.name} "
        "after one iteration",
        "the same dtype in every iteration",
        f"tf.cast(..., tf.{dtype.name})",
    )
