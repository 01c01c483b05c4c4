"""Steps of optimizers among tf.raw_ops; `table.txt` calls them `optimizers.*`.

Each formula takes the values of a variable and its slots, then the other inputs of the operation
in their order, and gives the new values.  Steps by rows (`SparseApply...`) are the same formulas of
the rows that `indices` names, each of which must be named once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.array.gathering import gather
from talweg.api.export import look_up
from talweg.api.tensors import cast
from talweg.core.dtypes import resource
from talweg.core.value import IndexedSlices
from talweg.eager.graph_variable import take_update
from talweg.raw import operations
from talweg.raw.operands import variable_of

if TYPE_CHECKING:
    from talweg.core.value import Tensor

PREFIXES = ("Resource", "", "ResourceSparse", "Sparse")
OPTIONS = ("use_nesterov", "update_slots", "multiply_linear_by_lr")


def _descent(v: list, rate: Tensor, g: Tensor) -> list:
    return [v[0] - rate * g]


def _momentum(v: list, rate: Tensor, g: Tensor, momentum: Tensor, *, use_nesterov: bool) -> list:
    grown = v[1] * momentum + g
    step = g + momentum * grown if use_nesterov else grown
    return [v[0] - rate * step, grown]


def _keras_momentum(
    v: list, rate: Tensor, g: Tensor, momentum: Tensor, *, use_nesterov: bool
) -> list:
    grown = v[1] * momentum - rate * g
    return [v[0] + (momentum * grown - rate * g if use_nesterov else grown), grown]


def _adagrad(v: list, rate: Tensor, g: Tensor, *, update_slots: bool) -> list:
    total = v[1] + g * g if update_slots else v[1]
    return [v[0] - rate * g * look_up("math.rsqrt")(total), total]


def _adagrad_2(v: list, rate: Tensor, epsilon: Tensor, g: Tensor, *, update_slots: bool) -> list:
    total = v[1] + g * g if update_slots else v[1]
    return [v[0] - rate * g / (look_up("math.sqrt")(total) + epsilon), total]


def _adadelta(v: list, rate: Tensor, rho: Tensor, epsilon: Tensor, g: Tensor) -> list:
    root = look_up("math.sqrt")
    mean = rho * v[1] + (1 - rho) * g * g
    step = root(v[2] + epsilon) / root(mean + epsilon) * g
    return [v[0] - rate * step, mean, rho * v[2] + (1 - rho) * step * step]


def _moments(v: list, beta_1: Tensor, beta_2: Tensor, g: Any) -> tuple:
    """Return the running means of the gradient and of its square (Kingma and Ba 2015)."""
    return v[1] + (g - v[1]) * (1 - beta_1), v[2] + (g * g - v[2]) * (1 - beta_2)


def _adam(
    v: list,
    power_1: Tensor,
    power_2: Tensor,
    rate: Tensor,
    beta_1: Tensor,
    beta_2: Tensor,
    epsilon: Tensor,
    g: Tensor,
    *,
    use_nesterov: bool,
) -> list:
    root = look_up("math.sqrt")
    rate = rate * root(1 - power_2) / (1 - power_1)
    first, second = _moments(v, beta_1, beta_2, g)
    step = g * (1 - beta_1) + beta_1 * first if use_nesterov else first
    return [v[0] - rate * step / (root(second) + epsilon), first, second]


def _adamax(
    v: list,
    power_1: Tensor,
    rate: Tensor,
    beta_1: Tensor,
    beta_2: Tensor,
    epsilon: Tensor,
    g: Tensor,
) -> list:
    first = v[1] + (g - v[1]) * (1 - beta_1)
    top = look_up("math.maximum")(beta_2 * v[2], look_up("math.abs")(g))
    return [v[0] - rate / (1 - power_1) * first / (top + epsilon), first, top]


def _rms(v: list, rate: Tensor, rho: Tensor, momentum: Tensor, epsilon: Tensor, g: Tensor) -> list:
    mean = v[1] + (g * g - v[1]) * (1 - rho)
    step = momentum * v[2] + rate * g * look_up("math.rsqrt")(mean + epsilon)
    return [v[0] - step, mean, step]


def _centered_rms(
    v: list, rate: Tensor, rho: Tensor, momentum: Tensor, epsilon: Tensor, g: Tensor
) -> list:
    square = v[2] + (g * g - v[2]) * (1 - rho)
    mean = v[1] + (g - v[1]) * (1 - rho)
    width = square - mean * mean + epsilon
    step = momentum * v[3] + rate * g * look_up("math.rsqrt")(width)
    return [v[0] - step, mean, square, step]


def _ftrl(
    v: list,
    g: Any,
    rate: Any,
    l1: Tensor,
    l2: Tensor,
    power: Any,
    *,
    shrinkage: Any = None,
    multiply_linear_by_lr: bool,
) -> list:
    power_of, sign = look_up("math.pow"), look_up("math.sign")
    grown = v[1] + g * g
    pull = g if shrinkage is None else g + 2 * shrinkage * v[0]
    scale = rate if multiply_linear_by_lr else 1
    quotient = (power_of(grown, -power) - power_of(v[1], -power)) / rate
    linear = v[2] + scale * pull - scale * quotient * v[0]
    bound = scale * l1
    width = scale * (power_of(grown, -power) / rate + 2 * l2)
    far = look_up("math.abs")(linear) > bound
    value = look_up("where")(far, (sign(linear) * bound - linear) / width, linear * 0)
    return [value, grown, linear]


def _ftrl_2(
    v: list,
    g: Tensor,
    rate: Tensor,
    l1: Tensor,
    l2: Tensor,
    shrinkage: Any,
    power: Any,
    **more: Any,
) -> list:
    return _ftrl(v, g, rate, l1, l2, power, shrinkage=shrinkage, **more)


def _amsgrad(
    v: list,
    power_1: Tensor,
    power_2: Tensor,
    rate: Tensor,
    beta_1: Tensor,
    beta_2: Tensor,
    epsilon: Tensor,
    g: Tensor,
) -> list:
    root = look_up("math.sqrt")
    rate = rate * root(1 - power_2) / (1 - power_1)
    first, second = _moments(v, beta_1, beta_2, g)
    top = look_up("math.maximum")(v[3], second)
    return [v[0] - rate * first / (root(top) + epsilon), first, second, top]


def _signs(v: list, beta: Tensor, g: Any) -> tuple:
    """Return (the mean of gradients, whether it has the sign of this one)."""
    mean = v[1] * beta + g * (1 - beta)
    return mean, look_up("sign")(g) * look_up("sign")(mean)


def _add_sign(v: list, rate: Tensor, alpha: Tensor, decay: Tensor, beta: Tensor, g: Tensor) -> list:
    mean, same = _signs(v, beta, g)
    return [v[0] - rate * (alpha + decay * same) * g, mean]


def _power_sign(
    v: list, rate: Tensor, logbase: Tensor, decay: Tensor, beta: Tensor, g: Tensor
) -> list:
    mean, same = _signs(v, beta, g)
    return [v[0] - rate * look_up("exp")(logbase * decay * same) * g, mean]


def _shrunk(x: Tensor, bound: object) -> Any:
    """Move `x` nearer to 0 by `bound`."""
    return look_up("sign")(x) * look_up("math.maximum")(look_up("abs")(x) - bound, 0)


def _proximal_descent(v: list, rate: Tensor, l1: Tensor, l2: Tensor, g: Tensor) -> list:
    return [_shrunk(v[0] - g * rate, rate * l1) / (1 + l2 * rate)]


def _proximal_adagrad(v: list, rate: Tensor, l1: Tensor, l2: Tensor, g: Tensor) -> list:
    total = v[1] + g * g
    rate = rate * look_up("math.rsqrt")(total)
    return [_shrunk(v[0] - g * rate, rate * l1) / (1 + l2 * rate), total]


def _dual_averaging(
    v: list, g: Tensor, rate: Tensor, l1: Tensor, l2: Tensor, global_step: Any
) -> list:
    total, squares = v[1] + g, v[2] + g * g
    step = cast(global_step, g.dtype)
    width = l2 * rate * step + look_up("math.sqrt")(squares)
    return [-rate * _shrunk(total, l1 * step) / width, total, squares]


FORMULAS: dict[str, tuple[int, Callable[..., list]]] = {  # with the number of variables
    "ApplyGradientDescent": (1, _descent),
    "ApplyMomentum": (2, _momentum),
    "ApplyKerasMomentum": (2, _keras_momentum),
    "ApplyAdagrad": (2, _adagrad),
    "ApplyAdagradV2": (2, _adagrad_2),
    "ApplyAdagradDA": (3, _dual_averaging),
    "ApplyAdadelta": (3, _adadelta),
    "ApplyAdam": (3, _adam),
    "ApplyAdamWithAmsgrad": (4, _amsgrad),
    "ApplyAdaMax": (3, _adamax),
    "ApplyAddSign": (2, _add_sign),
    "ApplyPowerSign": (2, _power_sign),
    "ApplyProximalGradientDescent": (1, _proximal_descent),
    "ApplyProximalAdagrad": (2, _proximal_adagrad),
    "ApplyRMSProp": (3, _rms),
    "ApplyCenteredRMSProp": (4, _centered_rms),
    "ApplyFtrl": (3, _ftrl),
    "ApplyFtrlV2": (3, _ftrl_2),
}


def new_values(op: str, inputs: list, attributes: dict) -> tuple[Any, list]:
    """Compute (the rows that change, None if all do; the new values of the variables or their
    rows).
    """
    count, formula = FORMULAS[op.removeprefix("Resource").removeprefix("Sparse")]
    signature = operations.find(op)
    names = [part.name for part in signature.inputs] if signature is not None else []
    options = {key: attributes[key] for key in OPTIONS if key in attributes}
    values, operands = inputs[:count], inputs[count:]
    if "indices" not in names:
        return None, formula(values, *operands, **options)
    places = operands.pop(names.index("indices") - count)
    return places, formula([gather(value, places) for value in values], *operands, **options)


def step(op: str, **arguments: object) -> Any:
    """Make a step of an optimizer; the variable for those of the first generation, else an
    operation in a graph, and nothing in eager execution.
    """
    signature = operations.find(op)
    parts: list[Any] = list(signature.inputs) if signature is not None else []
    resources = [p for p in parts if p.reference or p.dtype is resource]
    variables = [variable_of(arguments[part.keyword]) for part in resources]
    others = [arguments[part.keyword] for part in parts[len(variables) :]]
    given = [variable.read_value() for variable in variables] + others
    places, values = new_values(op, given, arguments)
    updated: list[Any] = [
        take_update(
            variable.assign(value)
            if places is None
            else variable.scatter_update(IndexedSlices(value, places))
        )
        for variable, value in zip(variables, values)
    ]
    if parts[0].reference:
        return updated[0]
    return look_up("group")(*updated)  # nothing in eager execution
