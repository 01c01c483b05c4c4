"""Functions of numbers, applied to ragged tensors: to their flat values, after broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.eager import ragged_rows

if TYPE_CHECKING:
    from talweg.core.value import Tensor

UNARY = (
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cast",
    "math.ceil",
    "clip_by_value",
    "math.conj",
    "cos",
    "cosh",
    "math.digamma",
    "exp",
    "math.expm1",
    "floor",
    "math.lgamma",
    "math.log",
    "math.log1p",
    "math.log_sigmoid",
    "logical_not",
    "negative",
    "math.reciprocal",
    "math.rint",
    "round",
    "math.rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "math.is_finite",
    "math.is_inf",
    "math.is_nan",
    "math.erf",
    "math.erfc",
    "math.erfcinv",
    "math.erfinv",
    "math.angle",
    "math.imag",
    "math.real",
    "math.ndtri",
    "math.reciprocal_no_nan",
    "math.bessel_i0",
    "math.bessel_i0e",
    "math.bessel_i1",
    "math.bessel_i1e",
    "math.special.bessel_j0",
    "math.special.bessel_j1",
    "math.special.bessel_k0",
    "math.special.bessel_k0e",
    "math.special.bessel_k1",
    "math.special.bessel_k1e",
    "math.special.bessel_y0",
    "math.special.bessel_y1",
    "math.special.dawsn",
    "math.special.expint",
    "math.special.fresnel_cos",
    "math.special.fresnel_sin",
    "math.special.spence",
    "nn.elu",
    "nn.gelu",
    "nn.relu",
    "nn.relu6",
    "nn.leaky_relu",
    "nn.selu",
    "nn.silu",
    "nn.softplus",
    "nn.softsign",
    "nn.dropout",
    "strings.as_string",
    "bitcast",
    "bitwise.invert",
    "strings.to_number",
    "one_hot",
    "saturate_cast",
    "strings.substr",
)
BINARY = (
    "add",
    "atan2",
    "divide",
    "equal",
    "math.floordiv",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "maximum",
    "minimum",
    "multiply",
    "not_equal",
    "pow",
    "subtract",
    "truediv",
    "math.divide_no_nan",
    "math.floormod",
    "math.squared_difference",
    "math.xdivy",
    "math.xlogy",
    "math.multiply_no_nan",
    "logical_and",
    "logical_or",
    "math.logical_xor",
    "bitwise.bitwise_and",
    "bitwise.bitwise_or",
    "bitwise.bitwise_xor",
)


def of_values(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the flat values of its ragged arguments."""
    return lambda *args, **kwargs: ragged_rows.map_flat(original, *args, **kwargs)


def of_pairs(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of two arguments, one or both of them ragged."""

    def apply(x: Tensor, y: Tensor, *args: object, **kwargs: object) -> Any:
        x, y = ragged_rows.pair_operands(x, y)
        return ragged_rows.map_flat(original, x, y, *args, **kwargs)

    return apply
