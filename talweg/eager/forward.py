"""ForwardAccumulator: tangents carried along with the computation (forward mode)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.errors import value_error
from talweg.core.tracebacks import boundary
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.tape import UnconnectedGradients
from talweg.graph import structure
from talweg.prims.arithmetic import zeros_of
from talweg.prims.checking import require_same_shape
from talweg.transform.rules import jvp_of

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive


class ForwardAccumulator(dispatch.Recorder):
    """Computes Jacobian-vector products while the function runs (`tf.autodiff.ForwardAccumulator`).

    `primals` is a tensor, a variable or a nest of these, `tangents` the directions, of the same
    structure, shapes and dtypes.  Nests with tapes and other accumulators, for any order.

    >>> import talweg as tf
    >>> x = tf.constant(3.0)
    >>> with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
    ...     y = x * x
    >>> accumulator.jvp(y)
    <tf.Tensor: shape=(), dtype=float32, numpy=6.0>
    """

    rank = 1  # after all tapes

    @boundary
    def __init__(self, primals: object, tangents: object):
        self._tangents: dict[int, Any] = {}
        self._variables: dict[int, Any] = {}
        self._kept: list = []
        self._recording = False
        flat, directions = structure.flatten(primals), structure.flatten(tangents)
        if len(flat) != len(directions) or structure.is_nested(primals) != structure.is_nested(
            tangents
        ):
            raise value_error("TW208", "primals and tangents have different structures")
        if len({id(primal) for primal in flat}) < len(flat):
            raise value_error(
                "TW207", "A tensor is a primal twice.", "each primal once, its tangents summed"
            )
        for primal, tangent in zip(flat, directions):
            self._watch(primal, tangent)

    def _watch(self, primal: Any, tangent: Any) -> None:
        is_variable = hasattr(primal, "handle_read")
        if not is_variable and not isinstance(primal, Tensor):
            raise value_error("TW303", f"primal {primal!r} is neither a tensor nor a variable")
        if not primal.dtype.is_differentiable:
            raise value_error(
                "TW102", f"the primal has dtype {primal.dtype.name}", "a floating or complex dtype"
            )
        tangent = convert_to_tensor(tangent, dtype=primal.dtype)
        if not tangent.shape.is_compatible_with(primal.shape):
            raise value_error(
                "TW204",
                f"Trying to watch a primal of shape {primal.shape} with a tangent of shape "
                f"{tangent.shape}",
                "equal shapes",
            )
        if not (tangent.shape.is_fully_defined() and primal.shape.is_fully_defined()):
            like = primal.value() if is_variable else primal
            tangent = require_same_shape(tangent, like, "ForwardAccumulator: a tangent")
        self._kept.append(primal)
        store = self._variables if is_variable else self._tangents
        before = store.get(id(primal))
        store[id(primal)] = tangent if before is None else before + tangent

    def __enter__(self) -> ForwardAccumulator:
        if self._recording:
            raise value_error("TW302", "Accumulator is already recording.")
        self._recording = True
        dispatch.push(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._recording = False
        dispatch.remove(self)

    def record(self, prim: Primitive, operands: tuple, results: object, params: dict) -> None:
        """Push tangents through one application (called by `dispatch`)."""
        store = self._tangents
        tangents = [store.get(id(operand)) for operand in operands]
        if not any(t is not None for t in tangents):
            return
        context = dispatch.context
        recorders, outer = context.recorders, context.deriving
        context.deriving = prim, operands, results, params, None
        try:
            with dispatch.only(recorders[: recorders.index(self)]):
                pushed = jvp_of(prim)(tangents, results, operands, params)
        finally:
            context.deriving = outer
        if pushed is None:
            return
        pairs = zip(results, pushed) if type(results) is tuple else [(results, pushed)]
        for result, tangent in pairs:
            if tangent is not None:
                store[id(result)] = tangent
                self._kept.append(result)

    def note_read(self, variable: object, tensor: object) -> None:
        """Note that a variable was read as `tensor` (called by variables)."""
        tangent = self._variables.get(id(variable))
        if tangent is not None:
            self._tangents[id(tensor)] = tangent
            self._kept.append(tensor)

    @boundary
    def jvp(
        self, primals: object, unconnected_gradients: object = UnconnectedGradients.NONE
    ) -> Any:
        """Return the tangents of `primals` (a nest); None or zeros where there is none."""
        mode = UnconnectedGradients.of(unconnected_gradients)

        def tangent(value: object) -> Any:
            if hasattr(value, "handle_read"):
                own_tangent = self._variables.get(id(value))
                value = value.handle_read()
            else:
                own_tangent = self._tangents.get(id(value))
            if own_tangent is None and mode is UnconnectedGradients.ZERO:
                return zeros_of(value)
            if own_tangent is None and mode is UnconnectedGradients.ERROR:
                raise value_error(
                    "TW301", "There is no tangent: the value does not depend on a primal"
                )
            return own_tangent

        return structure.map_leaves(tangent, primals)
