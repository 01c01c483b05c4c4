"""Writes primitives of lists, as TensorFlow's TensorLists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.graph.node import Node
from talweg.interop.graph_def.writing import Literal, Writer, WrittenNode, cannot_write
from talweg.interop.graph_def.writing_rules import describe_as

if TYPE_CHECKING:
    from talweg.core.dtypes import DType
    from talweg.interop.graph_def.exporting import Exporter


def _any_shape() -> Literal:
    return Literal(np.int32(-1))


def _shape(writer: Writer, dims: tuple | None) -> Any:
    """Return the shape of an element, -1 where it is not known."""
    if dims is None:
        return _any_shape()
    return Literal(np.array([n if type(n) is int else -1 for n in dims], np.int32))


def empty_list(dtype: DType) -> WrittenNode:
    """Return a list without elements."""
    return WrittenNode("EmptyTensorList", (_any_shape(), _any_shape()), {"element_dtype": dtype})


@describe_as("list_clear")
def write_cleared(writer: Exporter, node: Node, operands: list, params: dict) -> Any:
    """Write a list with zeros in place of an element: an absent one counts as zeros."""
    values, index = operands
    if node.operands[1].aval.dims != ():
        raise cannot_write("a list without several elements")
    given = {"element_dtype": writer.element_dtype(node)}
    present = WrittenNode("TensorListGetItem", (values, index, _any_shape()), given)
    return WrittenNode(
        "TensorListSetItem", (values, index, WrittenNode("ZerosLike", (present,), {})), {}
    )


@describe_as("variant_zero")
def absent(writer: Writer, node: Node, operands: list, params: dict) -> Any:
    """Return no element."""
    return empty_list(writer.element_dtype(node))  # type: ignore[attr-defined]


@describe_as(
    "list_new",
    "list_from",
    "list_set",
    "list_get",
    "list_take",
    "list_stack",
    "list_size",
    "list_stack_like",
    "list_resize",
    "list_scatter",
    "variant_sum",
)
def of_lists(writer: Exporter, node: Node, operands: list, params: dict) -> Any:
    """Write the primitives of lists that TensorList operations have, too."""
    name = node.prim.name
    first = operands[0]
    if name == "list_new":
        return WrittenNode(
            "TensorListReserve",
            (_shape(writer, writer.element_dims(node)), first),
            {"element_dtype": writer.element_dtype(node)},
        )
    if name == "list_from":
        dims = node.operands[0].aval.dims
        shape = _shape(writer, dims[1:] if dims else None)
        return WrittenNode("TensorListFromTensor", (first, shape), {})
    if name == "list_set":
        given = {"resize_if_index_out_of_bounds": not params["limited"]}
        return WrittenNode("TensorListSetItem", tuple(operands), given)
    if name in ("list_get", "list_take"):
        inputs = (first, operands[1], _shape(writer, node.aval.dims))
        return WrittenNode("TensorListGetItem", inputs, {"element_dtype": node.aval.dtype})
    if name in ("list_stack", "list_stack_like"):
        dims = params["dims"] if name == "list_stack" else (node.aval.dims or (None,))[1:]
        inputs = (first, _shape(writer, dims))
        return WrittenNode("TensorListStack", inputs, {"element_dtype": node.aval.dtype})
    if name == "list_size":
        return WrittenNode("TensorListLength", (first,), {})
    if name == "list_resize":
        return WrittenNode("TensorListResize", tuple(operands), {})
    if name == "list_scatter":
        values, indices, x = operands
        return WrittenNode("TensorListScatterIntoExistingList", (values, x, indices), {})
    lengths = tuple([WrittenNode("TensorListLength", (x,), {}) for x in operands])
    most = writer.one(
        WrittenNode("Maximum", lengths, {}), "length"
    )  # TensorFlow adds equal lengths only
    return WrittenNode(
        "AddN", ([WrittenNode("TensorListResize", (x, most), {}) for x in operands],), {}
    )
