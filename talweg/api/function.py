"""tf.function: traces Python functions to graphs; also inlining, input signatures, init scopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from talweg.api.export import export, implement_hook
from talweg.api.traced_function import TracedFunction
from talweg.core.errors import value_error
from talweg.core.hooks import hooks
from talweg.core.spec import TensorSpec
from talweg.eager import graph_operators, graph_variable
from talweg.eager.structured import content
from talweg.eager.tensor import wrap
from talweg.execute import executor
from talweg.graph import structure
from talweg.graph.handle import Handle
from talweg.graph.symbol import Symbol
from talweg.graph.walk import postorder
from talweg.passes.functionalize import UnfedError, functionalize
from talweg.trace import call_rules, control_rules, opaque_calls
from talweg.trace.autograph import convert
from talweg.trace.concrete import ConcreteFunction
from talweg.trace.function import Function
from talweg.trace.implementations import check_attributes

# Imported for what they register.
IN_FORCE = (call_rules, control_rules, graph_operators, graph_variable, opaque_calls)
for _shown in (Function, ConcreteFunction):
    _shown._repr_html_ = lambda self: hooks.html_view(self)  # type: ignore[attr-defined]
export("types.experimental.ConcreteFunction")(ConcreteFunction)
export("types.experimental.PolymorphicFunction", "types.experimental.GenericFunction")(Function)

P = ParamSpec("P")
R = TypeVar("R")


@overload
def function(
    func: Callable[P, R],
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> TracedFunction[P, R]: ...
@overload
def function(
    func: None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Callable[[Callable[P, R]], TracedFunction[P, R]]: ...
@export("function")
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Trace a Python function into a graph, once for each kind of arguments.

    Tensors (and NumPy arrays) are inputs of the trace; other values are part of what it is traced
    for.  `input_signature`: a list of `tf.TensorSpec`s, for one trace only.  `autograph`: whether
    `if`, `while` and `for` over tensors become graph control flow.  `reduce_retracing`: make
    dimensions unknown at the second shape.  `jit_compile` changes nothing: what is worth it is
    compiled (docs/compiler.md).  `experimental_attributes`: a dictionary; `api_implements` and
    `api_preferred_device` declare implementations; ValueError for a name that TensorFlow does not
    know.  The other `experimental_` arguments are accepted.  Use as a decorator, with or without
    arguments, or call it.

    >>> import talweg as tf
    >>> @tf.function
    ... def distance(x, y):
    ...     return tf.sqrt(tf.reduce_sum((x - y) ** 2))
    >>> distance(tf.constant([0.0, 3.0]), tf.constant([4.0, 0.0]))
    <tf.Tensor: shape=(), dtype=float32, numpy=5.0>
    """

    def decorate(python_function: Callable[..., Any]) -> Function:
        return Function(
            python_function,
            input_signature=input_signature,
            autograph=autograph,
            reduce_retracing=bool(reduce_retracing or experimental_relax_shapes),
            jit_compile=jit_compile if jit_compile is not None else experimental_compile,
            autograph_options=experimental_autograph_options,
            attributes=check_attributes(experimental_attributes),
        )

    return decorate if func is None else decorate(func)


@implement_hook("autograph_converted")
def autograph_converted(
    python_function: Callable[..., Any], features: object = None
) -> Callable[..., Any]:
    """Return a Python function as AutoGraph converts it, with the optional `Feature`s asked for."""
    return convert.convert_function(python_function, convert.prints_values(features))


@implement_hook("autograph_unconverted")
def autograph_unconverted(python_function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a Python function whose own code, and functions it hands over, are not converted."""
    return convert.do_not_convert_function(python_function)


@implement_hook("lift_initial_value")
def lift_initial_value(value: object) -> Any:
    """Return the initial value of a variable made in a trace, as a tensor that has a value."""
    if not any(type(leaf) is Symbol for leaf in structure.flatten(value)):
        return value
    return structure.map_leaves(value_now, value)


def value_now(value: object) -> Any:
    """Compute the value of a tensor of a trace, as it is in the call that is traced.

    ValueError where there is none: a trace that is not made for a call knows only specs.
    """
    if type(value) is not Symbol:
        return value
    graph = value.graph
    known = [(node, outside) for outside, node in getattr(graph, "captured", {}).values()]
    known += zip(getattr(graph, "input_nodes", ()), getattr(graph, "given", None) or ())
    needed: dict = {}
    postorder([value.node], needed)
    known = [(node, x) for node, x in known if node in needed and not isinstance(x, TensorSpec)]
    try:
        program = functionalize((value.node,), tuple([node for node, _ in known]))
    except UnfedError:
        raise value_error(
            "TW401",
            "the initial value of a variable depends on an argument of the function that "
            "makes it, and that is traced without arguments, or on a variable of a loop",
            "a value that is known when the function is traced",
            "make the variable outside of the function, or call the function first",
        ) from None
    arrays = [_array_now(x) for _, x in known]
    return wrap(executor.run(program, arrays, {})[0])


def _array_now(value: object) -> Any:
    if isinstance(value, Handle):
        return value.variable.handle_read()._array
    return content(value_now(value))
