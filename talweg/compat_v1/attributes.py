"""Operation.get_attr: the attributes of operations under TensorFlow's names.

They are the dtypes of operands and results, and what the parameters of a primitive say.  The field
`tf_attributes` of a declaration names a way to write them, one of the functions of a node below.
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

Way = Callable[[Node, dict], dict]

WAYS: dict[str, tuple[Way, bool]] = {}  # and whether T is the dtype of the first operand


def _way(name: str, *, has_t: bool = True) -> Callable[[Way], Way]:
    """Register a way under the name by which declarations ask for it."""

    def register(way: Way) -> Way:
        WAYS[name] = way, has_t
        return way

    return register


@_way("reduction")
def _write_reduction(node: Node, params: dict) -> dict:
    return {"keep_dims": params["keepdims"], "Tidx": int32}


@_way("windows")
def _write_windows(node: Node, params: dict) -> dict:
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


@_way("pooling")
def _write_pooling(node: Node, params: dict) -> dict:
    return {**_write_windows(node, params), "ksize": [1, *params["window"], 1]}


@_way("cast", has_t=False)
def _write_cast(node: Node, params: dict) -> dict:
    return {"SrcT": node.operands[0].aval.dtype, "DstT": params["dtype"], "Truncate": False}


@_way("placeholder")
def _write_placeholder(node: Node, params: dict) -> dict:
    return {"dtype": node.aval.dtype, "shape": static(node.aval.dims)}


@_way("constant")
def _write_constant(node: Node, params: dict) -> dict:
    return {"dtype": node.aval.dtype, "value": params["value"].array}


@_way("matmul")
def _write_matmul(node: Node, params: dict) -> dict:
    return {"transpose_a": False, "transpose_b": False, "adj_x": False, "adj_y": False}


@_way("read_variable", has_t=False)
@_way("update_variable")
def _write_variable(node: Node, params: dict) -> dict:
    variable = params["variable"]
    return {"dtype": variable.dtype, "shape": variable.shape, "shared_name": variable.name.encode()}


@_way("arg_extreme")
def _write_arg_extreme(node: Node, params: dict) -> dict:
    return {"output_type": params["dtype"], "Tidx": int32}


@_way("scan")
def _write_scan(node: Node, params: dict) -> dict:
    return {"exclusive": params["exclusive"], "reverse": params["reverse"], "Tidx": int32}


@_way("stack")
def _write_stack(node: Node, params: dict) -> dict:
    return {"axis": params["axis"], "N": len(node.operands)}


@_way("concat")
def _write_concat(node: Node, params: dict) -> dict:
    return {"N": len(node.operands), "Tidx": int32}


@_way("unstack")
def _write_unstack(node: Node, params: dict) -> dict:
    return {"axis": params["axis"], "num": len(node.aval)}


@_way("split")
def _write_split(node: Node, params: dict) -> dict:
    return {"num_split": len(node.aval)}


@_way("reshape")
def _write_reshape(node: Node, params: dict) -> dict:
    return {"Tshape": int32}


@_way("transpose")
def _write_transpose(node: Node, params: dict) -> dict:
    return {"Tperm": int32}


@_way("one_hot")
def _write_one_hot(node: Node, params: dict) -> dict:
    return {"axis": params["axis"], "TI": node.operands[0].aval.dtype}


@_way("check_numerics")
def _write_check_numerics(node: Node, params: dict) -> dict:
    return {"message": params["message"].encode()}


@_way("gather", has_t=False)
def _write_gather(node: Node, params: dict) -> dict:
    return {
        "batch_dims": params["batch_dims"],
        "Tparams": node.operands[0].aval.dtype,
        "Tindices": node.operands[1].aval.dtype,
        "Taxis": int32,
    }


@_way("shape_of")
def _write_shape_of(node: Node, params: dict) -> dict:
    return {"out_type": params["dtype"]}


@_way("top_k")
def _write_top_k(node: Node, params: dict) -> dict:
    return {"sorted": True, "index_type": params["dtype"]}


def attributes(node: Node) -> dict:
    """Write the known attributes of a node, by TensorFlow's names."""
    name = node.prim.tf_attributes
    way, has_t = WAYS[name] if name else (None, True)
    found: dict[str, Any] = {}
    if node.operands and has_t:
        found["T"] = node.operands[0].aval.dtype
    if way is not None:
        found.update(way(node, node.params))
    return found


@implement_hook("operation_attribute")
def operation_attribute(node: Node, name: str) -> Any:
    """Return one attribute of a node; ValueError if it has none of that name."""
    found = attributes(node)
    if name not in found:
        raise value_error(
            "TW501",
            f"Operation of type '{type_of(node)}' has no attr named '{name}'.",
            f"one of {', '.join(found)}" if found else "",
        )
    return found[name]
