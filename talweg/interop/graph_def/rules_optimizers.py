"""Rules of optimizers: the new values of a variable and its slots, whole or row by row.

A formula takes the present values, the variable's first, and the operands in the order of the
operation; where a gradient is of some rows (`SparseApply...`), the values are these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.api.export import look_up
from talweg.interop.graph_def.rules_state import change
from talweg.interop.graph_def.values import ResourceEdge, base, rule
from talweg.prims.state import group


def _descent(v: list, rate: Any, g: Any) -> list:
    return [v[0] - rate * g]


def _momentum(v: list, rate: Any, g: Any, momentum: Any, *, use_nesterov: bool) -> list:
    grown = v[1] * momentum + g
    step = g + momentum * grown if use_nesterov else grown
    return [v[0] - rate * step, grown]


def _keras_momentum(v: list, rate: Any, g: Any, momentum: Any, *, use_nesterov: bool) -> list:
    grown = v[1] * momentum - rate * g
    return [v[0] + (momentum * grown - rate * g if use_nesterov else grown), grown]


def _adagrad(v: list, rate: Any, g: Any, *, update_slots: bool) -> list:
    total = v[1] + g * g if update_slots else v[1]
    return [v[0] - rate * g * look_up("math.rsqrt")(total), total]


def _adagrad_2(v: list, rate: Any, epsilon: Any, g: Any, *, update_slots: bool) -> list:
    total = v[1] + g * g if update_slots else v[1]
    return [v[0] - rate * g / (look_up("math.sqrt")(total) + epsilon), total]


def _adadelta(v: list, rate: Any, rho: Any, epsilon: Any, g: Any) -> list:
    root = look_up("math.sqrt")
    mean = rho * v[1] + (1 - rho) * g * g
    step = root(v[2] + epsilon) / root(mean + epsilon) * g
    return [v[0] - rate * step, mean, rho * v[2] + (1 - rho) * step * step]


def _adam(
    v: list,
    power_1: Any,
    power_2: Any,
    rate: Any,
    beta_1: Any,
    beta_2: Any,
    epsilon: Any,
    g: Any,
    *,
    use_nesterov: bool,
) -> list:
    root = look_up("math.sqrt")
    rate = rate * root(1 - power_2) / (1 - power_1)
    first = v[1] + (g - v[1]) * (1 - beta_1)
    second = v[2] + (g * g - v[2]) * (1 - beta_2)
    step = g * (1 - beta_1) + beta_1 * first if use_nesterov else first
    return [v[0] - rate * step / (root(second) + epsilon), first, second]


def _adamax(
    v: list, power_1: Any, rate: Any, beta_1: Any, beta_2: Any, epsilon: Any, g: Any
) -> list:
    first = v[1] + (g - v[1]) * (1 - beta_1)
    top = look_up("math.maximum")(beta_2 * v[2], look_up("math.abs")(g))
    return [v[0] - rate / (1 - power_1) * first / (top + epsilon), first, top]


def _rms(v: list, rate: Any, rho: Any, momentum: Any, epsilon: Any, g: Any) -> list:
    mean = v[1] + (g * g - v[1]) * (1 - rho)
    step = momentum * v[2] + rate * g * look_up("math.rsqrt")(mean + epsilon)
    return [v[0] - step, mean, step]


def _centered_rms(v: list, rate: Any, rho: Any, momentum: Any, epsilon: Any, g: Any) -> list:
    square = v[2] + (g * g - v[2]) * (1 - rho)
    mean = v[1] + (g - v[1]) * (1 - rho)
    width = square - mean * mean + epsilon
    step = momentum * v[3] + rate * g * look_up("math.rsqrt")(width)
    return [v[0] - step, mean, square, step]


def _ftrl(
    v: list,
    g: Any,
    rate: Any,
    l1: Any,
    l2: Any,
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
    v: list, g: Any, rate: Any, l1: Any, l2: Any, shrinkage: Any, power: Any, **more: Any
) -> list:
    return _ftrl(v, g, rate, l1, l2, power, shrinkage=shrinkage, **more)


def _shrunk(x: Any, width: Any) -> Any:
    """`x` moved towards 0 by `width`, not beyond."""
    return look_up("math.sign")(x) * look_up("nn.relu")(look_up("math.abs")(x) - width)


def _proximal_descent(v: list, rate: Any, l1: Any, l2: Any, g: Any) -> list:
    return [_shrunk(v[0] - rate * g, rate * l1) / (1 + l2 * rate)]


def _proximal_adagrad(v: list, rate: Any, l1: Any, l2: Any, g: Any) -> list:
    total = v[1] + g * g
    rate = rate * look_up("math.rsqrt")(total)
    return [_shrunk(v[0] - rate * g, rate * l1) / (1 + l2 * rate), total]


def _dual_averaging(v: list, g: Any, rate: Any, l1: Any, l2: Any, step: Any) -> list:
    step = look_up("cast")(step, v[0].dtype)
    total, square = v[1] + g, v[2] + g * g
    width = l2 * step * rate + look_up("math.sqrt")(square)
    return [-rate * _shrunk(total, l1 * step) / width, total, square]


_UPDATES: dict[str, tuple[int, Callable[..., list]]] = {  # number of variables, formula
    "ApplyGradientDescent": (1, _descent),
    "ApplyMomentum": (2, _momentum),
    "ApplyKerasMomentum": (2, _keras_momentum),
    "ApplyAdagrad": (2, _adagrad),
    "ApplyAdagradV2": (2, _adagrad_2),
    "ApplyAdadelta": (3, _adadelta),
    "ApplyAdam": (3, _adam),
    "ApplyAdaMax": (3, _adamax),
    "ApplyRMSProp": (3, _rms),
    "ApplyCenteredRMSProp": (4, _centered_rms),
    "ApplyFtrl": (3, _ftrl),
    "ApplyFtrlV2": (3, _ftrl_2),
    "ApplyProximalGradientDescent": (1, _proximal_descent),
    "ApplyProximalAdagrad": (2, _proximal_adagrad),
    "ApplyAdagradDA": (3, _dual_averaging),
}
_OF_ROWS = (  # those whose gradient may be of some rows
    "ApplyMomentum",
    "ApplyKerasMomentum",
    "ApplyAdagrad",
    "ApplyAdagradV2",
    "ApplyAdadelta",
    "ApplyRMSProp",
    "ApplyCenteredRMSProp",
    "ApplyFtrl",
    "ApplyFtrlV2",
    "ApplyProximalGradientDescent",
    "ApplyProximalAdagrad",
    "ApplyAdagradDA",
)
_OPTIONS = ("use_nesterov", "update_slots", "multiply_linear_by_lr")


@rule(*[f"{prefix}{name}" for name in _UPDATES for prefix in ("Resource", "")])
def optimized(builder: Any, item: Any, inputs: list) -> Any:
    """A step of an optimizer: the variable and its slots get their new values together."""
    count, formula = _UPDATES[item.op.removeprefix("Resource")]
    values = formula(
        [resource.read() for resource in inputs[:count]], *inputs[count:], **_options(item)
    )
    return _together(
        item, inputs, [change(part, "assign", value) for part, value in zip(inputs, values)]
    )


@rule(*[f"{prefix}Sparse{name}" for name in _OF_ROWS for prefix in ("Resource", "")])
def optimized_rows(builder: Any, item: Any, inputs: list) -> Any:
    """A step of an optimizer for the rows that `indices` name, each once."""
    count, formula = _UPDATES[item.op.removeprefix("Resource").replace("Sparse", "")]
    place = [part.name for part in item.operation.inputs].index("indices")
    operands = [x for number, x in enumerate(inputs) if number >= count and number != place]
    indices = inputs[place]
    rows = [look_up("gather")(resource.read(), indices) for resource in inputs[:count]]
    values = formula(rows, *operands, **_options(item))
    updated = [
        change(part, "scatter_update", indices, value) for part, value in zip(inputs, values)
    ]
    return _together(item, inputs, updated)


def _options(item: Any) -> dict:
    return {key: item.attributes[key] for key in _OPTIONS if key in item.attributes}


def _together(item: Any, inputs: list, updated: list) -> Any:
    """What stands for all updates: an operation, or the variable where it is a reference."""
    if item.op.startswith("Resource"):
        return group(*updated).op if not hasattr(base(), "outer") else None
    graph = base()
    with graph.control_dependencies(updated[1:]):
        return [ResourceEdge(inputs[0].handle, True, look_up("identity")(updated[0]))]
