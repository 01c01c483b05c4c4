"""Static programs without loops and branches, run by the NumPy kernels."""

from __future__ import annotations

import numpy as np


def evaluated(straight, inputs, before=()):
    """The results, the new values of the variables, and whether all guards hold."""
    values = dict(zip(straight.inputs, inputs))
    values.update(zip([value for _, value, _ in straight.states], before))

    def array_of(value):
        if value.content is not None:
            return np.broadcast_to(value.content, value.dims)
        return values[value]

    for equation in straight.equations:
        operands = [array_of(x) for x in equation.inputs]
        with np.errstate(all="ignore"):
            found = equation.prim.numpy(*operands, **equation.params)
        found = found if equation.prim.multiple else (found,)
        values.update(zip(equation.outputs, map(np.asarray, found)))
    results = [array_of(value) for value in straight.outputs]
    states = [array_of(after) for _, _, after in straight.states]
    return results, states, all([np.all(array_of(guard)) for guard in straight.guards])
