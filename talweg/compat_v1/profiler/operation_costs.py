"""Counts the float operations of an operation of a graph, as TensorFlow's profiler does."""

from __future__ import annotations

import math
from typing import Any

_EACH = {  # float operations for each element of the result
    **dict.fromkeys(
        ("Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "Maximum", "Minimum", "Pow"), 1
    ),
    **dict.fromkeys(("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"), 1),
    **dict.fromkeys(("Neg", "Log", "Reciprocal", "Square", "AssignAdd", "AssignSub", "BiasAdd"), 1),
    **dict.fromkeys(("Rsqrt", "SquaredDifference"), 2),
    "RsqrtGrad": 4,
    "Softmax": 5,
}
_PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
_POOLS = ("MaxPool", "AvgPool")


def float_operations(op: Any) -> int:
    """Count the float operations of one operation; 0 where sizes are unknown, or its type not
    counted.
    """
    if not op.outputs:
        return 0
    result = op.outputs[0].shape
    if not all(each.is_fully_defined() for each in (result, *(x.shape for x in op.inputs))):
        return 0
    shapes: list[list[int]] = [each.shape.as_list() for each in op.inputs]
    count = math.prod(result.as_list())
    sizes = [math.prod(each) for each in shapes]
    kind = op.type
    if kind in _EACH:
        return _EACH[kind] * count
    if kind in _PRODUCTS:
        transposed = any(_flag(op, name) for name in ("transpose_a", "adj_x"))
        return 2 * count * shapes[0][-2 if transposed else -1]
    if kind in ("Conv2D", "Conv3D"):
        return 2 * count * math.prod(shapes[1][:-1])
    if kind == "DepthwiseConv2dNative":
        return 2 * count * math.prod(shapes[1][:2])
    if kind in _POOLS:
        return count * math.prod(op.get_attr("ksize"))
    return _of_gradients(kind, count, sizes, shapes)


def _of_gradients(kind: str, count: int, sizes: list[int], shapes: list) -> int:
    """Count the float operations of gradients and reductions."""
    if kind in ("Sum", "ArgMax", "ArgMin", "BiasAddGrad"):
        return sizes[0] - count
    if kind == "Mean":
        return sizes[0]
    if kind == "L2Loss":
        return 3 * sizes[0] - 1
    if kind == "AddN":
        return (len(sizes) - 1) * count
    if kind == "Conv2DBackpropFilter":  # the result has the shape of the filters
        return 2 * sizes[-1] * count // (shapes[-1][-1] or 1)
    if kind == "Conv2DBackpropInput":
        filters = next(each for each in shapes if len(each) == 4)
        return 2 * sizes[-1] * math.prod(filters[:-1])
    if kind == "MaxPoolScatter":  # one addition for each maximum
        return sizes[0]
    return 0


def _flag(op: Any, name: str) -> bool:
    return name in op.node_def.attr and op.node_def.attr[name].b
