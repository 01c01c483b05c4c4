"""Small functions of TensorFlow's private modules that libraries call."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from talweg.api.array.passing import get_static_value
from talweg.api.debugging.assertions import assert_equal
from talweg.api.export import look_up
from talweg.api.scopes import control_dependencies
from talweg.core.dtypes import float32
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape, as_shape, unknown_shape
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.graph import structure

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


__all__ = ["as_shape", "unknown_shape"]

_numbers = itertools.count(1)


class KerasModeKeys:
    """Names the modes of a model of Keras 2."""

    TRAIN, TEST, PREDICT = "train", "test", "predict"


class NullContextmanager(contextlib.nullcontext):
    """A block with nothing around it, whatever the arguments."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__()


def name_scope(
    name: str | None,
    default_name: str | None = None,
    values: Any = None,
    skip_on_eager: bool = True,
) -> Any:
    """Open a `tf.compat.v1.name_scope`, which TensorFlow's own operations use."""
    return look_up("compat.v1.name_scope")(name, default_name, values)


def with_dependencies(dependencies: Any, output_tensor: Any, name: str | None = None) -> Any:
    """Return a tensor that is there once operations have run."""
    with control_dependencies(dependencies):
        return look_up("identity")(output_tensor, name)


def uid() -> int:
    """Return a number that this process has not had."""
    return next(_numbers)


def name_from_scope_name(name: str) -> str:
    """Return the name of an operation that stands for a scope: without the `/` at its end."""
    return name[:-1] if name.endswith("/") else name


def convert_to_tensor_or_composite(
    value: object, dtype: Any = None, name: str | None = None
) -> Any:
    """Return a tensor of a value; sparse and ragged tensors, and their like, as they are."""
    return (
        value
        if structure.kind_of(value) == structure.COMPOSITE
        else convert_to_tensor(value, dtype)
    )


def constant_value_as_shape(tensor: TensorLike) -> TensorShape:
    """Return the static shape of a tensor of sizes, as far as it is known."""
    return TensorShape(None) if tensor is None else as_shape(get_static_value(tensor, True))


def try_evaluate_constant(tensor: TensorLike) -> Any:
    """Return the value of a tensor that is known before the graph runs; None otherwise."""
    return get_static_value(tensor)


def convert_variables_to_tensors(values: Any) -> Any:
    """Return a nest with the values of its variables in their places."""
    return structure.map_leaves(
        lambda x: convert_to_tensor(x) if hasattr(x, "assign") else x, values
    )


@contextmanager
def cache_variable_reads() -> Iterator[None]:
    """Cache reads of variables in the block: they are cached in any case."""
    yield


def assert_splits_match(nested_splits_lists: Any) -> list:
    """Make assertions that ragged tensors have the same row splits; ValueError for other ranks."""
    first = nested_splits_lists[0]
    if any(len(splits) != len(first) for splits in nested_splits_lists):
        raise value_error("TW208", "Inputs must have identical ragged splits")
    return [
        assert_equal(a, b, message="Inputs must have identical ragged splits")
        for splits in nested_splits_lists[1:]
        for a, b in zip(first, splits)
    ]


def parameterized_truncated_normal(
    shape: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw normal numbers between two bounds, each batch with parameters of its own."""
    first, second = look_up("compat.v1.random.get_seed")(seed)
    return look_up("raw_ops.ParameterizedTruncatedNormal")(
        shape=shape,
        means=convert_to_tensor(means, dtype),
        stdevs=convert_to_tensor(stddevs, dtype),
        minvals=convert_to_tensor(minvals, dtype),
        maxvals=convert_to_tensor(maxvals, dtype),
        seed=first or 0,
        seed2=second or 0,
    )


def add_operators(
    operators: Any, operator_name: str | None = None, addition_tiers: Any = None
) -> list:
    """Add linear operators to a list of one: diagonal if all are, else a matrix."""
    first, *rest = list(operators)
    if not rest:
        return [first]
    true_of_all = {
        name: all([getattr(op, name) for op in (first, *rest)]) or None
        for name in ("is_self_adjoint", "is_positive_definite")
    }
    diagonal = look_up("linalg.LinearOperatorDiag")
    if all([isinstance(op, diagonal) for op in (first, *rest)]):
        return [diagonal(sum([op.diag_part() for op in rest], first.diag_part()), **true_of_all)]
    dense = sum([op.to_dense() for op in rest], first.to_dense())
    return [look_up("linalg.LinearOperatorFullMatrix")(dense, **true_of_all)]


def make_composite_tensor(cls: type, module_name: str = "tf.linalg") -> type:
    """Return a class of linear operators: they consist of their tensors without further ado."""
    return cls


def pfor(
    loop_fn: Any, iters: Any, fallback_to_while_loop: bool = True, parallel_iterations: Any = None
) -> Any:
    """Call a function for 0, 1, ... `iters` - 1, and stack the results, all at once."""
    count = look_up("range")(iters)
    return look_up("vectorized_map")(loop_fn, count, fallback_to_while_loop)


def case_helper(
    cond_fn: Any,
    pred_fn_pairs: Any,
    default: Any,
    exclusive: bool,
    name: str | None,
    allow_python_preds: bool = False,
    **cond_kwargs: object,
) -> Any:
    """Compute `tf.case` whose branches are made by `cond_fn(pred, true_fn, false_fn)`."""
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    function = default if default is not None else pairs.pop()[1]
    for pred, chosen in reversed(pairs):
        function = functools.partial(cond_fn, pred, chosen, function, **cond_kwargs)
    return function()


def _get_graph_from_inputs(op_input_list: Any, graph: Any = None) -> Any:
    """Return the one graph of the inputs, `graph` if given; ValueError if they have others."""
    made = [x for x in op_input_list if isinstance(x, Tensor) and hasattr(x, "graph")]
    wanted = graph
    for x in made:
        if graph is not None and x.graph is not graph:
            raise value_error("TW501", f"{x} is not from the passed-in graph {graph}")
        wanted = wanted or x.graph
        if x.graph is not wanted:
            raise value_error("TW501", f"{x} must be from the same graph as {made[0]}")
    return wanted or look_up("compat.v1.get_default_graph")()


def gen_new_seed(seed: int | None, salt: str) -> int | None:
    """Return a seed made of another and a text; None stays None."""
    if seed is None:
        return None
    return int(hashlib.md5(f"{seed}{salt}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF


__all__ += ["control_dependencies"]
