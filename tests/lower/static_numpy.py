"""Static programs without loops and branches, run by the NumPy kernels."""

from __future__ import annotations

import numpy as np


def evaluated(static, inputs, before=()):
    """The results, the new values of the variables, and whether all guards hold."""
    values = dict(zip(static.inputs, inputs))
    values.update(zip([value for _, value, _ in static.states], before))

    def array_of(value):
        if value.content is not None:
            return np.broadcast_to(value.content, value.dims)
        return values[value]

    for equation in static.equations:
        operands = [array_of(x) for x in equation.inputs]
        with np.errstate(all="ignore"):
            found = equation.prim.numpy(*operands, **equation.params)
        found = found if equation.prim.multiple else (found,)
        values.update(zip(equation.outputs, map(np.asarray, found)))
    results = [array_of(value) for value in static.outputs]
    states = [array_of(after) for _, _, after in static.states]
    return results, states, all([np.all(array_of(guard)) for guard in static.guards])
