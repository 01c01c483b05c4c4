"""Operation.get_attr: the attributes of operations under TensorFlow's names.

Dtypes of operands and results, and what the parameters of a primitive say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.api.export import implement_hook
from talweg.core.dtypes import int32
from talweg.core.errors import value_error
from talweg.core.shapes import static
from talweg.graph.names import type_of
from talweg.graph.node import Node
from talweg.prims import arithmetic, indexing, state

Rule = Callable[[Node, dict], dict]


def _reduction(node: Node, params: dict) -> dict:
    return {"keep_dims": params["keepdims"], "Tidx": int32}


def _windows(node: Node, params: dict) -> dict:
    given = {
        "strides": [1, *params["strides"], 1],
        "dilations": [1, *params["dilation"], 1],
        "data_format": {1: b"NWC", 2: b"NHWC", 3: b"NDHWC"}.get(len(params["strides"]), b"NHWC"),
    }
    padding = params["padding"]
    if isinstance(padding, str):
        return {**given, "padding": padding.encode()}
    pairs = [size for pair in ((0, 0), *padding, (0, 0)) for size in pair]
    return {**given, "padding": b"EXPLICIT", "explicit_paddings": pairs}


def _pooling(node: Node, params: dict) -> dict:
    return {**_windows(node, params), "ksize": [1, *params["window"], 1]}


def _cast(node: Node, params: dict) -> dict:
    return {"SrcT": node.operands[0].aval.dtype, "DstT": params["dtype"], "Truncate": False}


def _placeholder(node: Node, params: dict) -> dict:
    return {"dtype": node.aval.dtype, "shape": static(node.aval.dims)}


def _constant(node: Node, params: dict) -> dict:
    return {"dtype": node.aval.dtype, "value": params["value"].array}


def _matmul(node: Node, params: dict) -> dict:
    return {"transpose_a": False, "transpose_b": False, "adj_x": False, "adj_y": False}


def _variable(node: Node, params: dict) -> dict:
    variable = params["variable"]
    return {"dtype": variable.dtype, "shape": variable.shape, "shared_name": variable.name.encode()}


def _extreme(node: Node, params: dict) -> dict:
    return {"output_type": params["dtype"], "Tidx": int32}


def _scan(node: Node, params: dict) -> dict:
    return {"exclusive": params["exclusive"], "reverse": params["reverse"], "Tidx": int32}


def _stack(node: Node, params: dict) -> dict:
    return {"axis": params["axis"], "N": len(node.operands)}


_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        [f"reduce_{kind}" for kind in ("sum", "mean", "prod", "max", "min", "all", "any")],
        _reduction,
    ),
    **dict.fromkeys(("max_pool", "avg_pool", "max_pool_with_argmax"), _pooling),
    "convolution": _windows,
    "cast": _cast,
    "placeholder": _placeholder,
    "placeholder_with_default": _placeholder,
    "constant": _constant,
    "matmul": _matmul,
    "read_variable": _variable,
    "update_variable": _variable,
    "argmax": _extreme,
    "argmin": _extreme,
    "cumsum": _scan,
    "cumprod": _scan,
    "stack": _stack,
    "concat": lambda node, params: {"N": len(node.operands), "Tidx": int32},
    "unstack": lambda node, params: {"axis": params["axis"], "num": len(node.aval)},
    "split": lambda node, params: {"num_split": len(node.aval)},
    "reshape": lambda node, params: {"Tshape": int32},
    "transpose": lambda node, params: {"Tperm": int32},
    "one_hot": lambda node, params: {"axis": params["axis"], "TI": node.operands[0].aval.dtype},
    "check_numerics": lambda node, params: {"message": params["message"].encode()},
    "gather": lambda node, params: {
        "batch_dims": params["batch_dims"],
        "Tparams": node.operands[0].aval.dtype,
        "Tindices": node.operands[1].aval.dtype,
        "Taxis": int32,
    },
    "shape_of": lambda node, params: {"out_type": params["dtype"]},
    "top_k": lambda node, params: {"k": params["k"], "sorted": True},
}


# Operations of which TensorFlow calls the dtype of the first operand otherwise
WITHOUT_T = frozenset((arithmetic.cast, indexing.gather, state.read_variable))


def attributes(node: Node) -> dict:
    """The attributes of a node that are known, by TensorFlow's names."""
    found: dict[str, Any] = {}
    if node.operands and node.prim not in WITHOUT_T:
        found["T"] = node.operands[0].aval.dtype
    rule = _RULES.get(node.prim.name)
    if rule is not None:
        found.update(rule(node, node.params))
    return found


@implement_hook("operation_attribute")
def operation_attribute(node: Node, name: str) -> Any:
    """One attribute of a node; ValueError if it has none of that name."""
    found = attributes(node)
    if name not in found:
        raise value_error(
            "TW501",
            f"Operation of type '{type_of(node)}' has no attr named '{name}'.",
            f"one of {', '.join(found)}" if found else "",
        )
    return found[name]
