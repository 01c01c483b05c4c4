"""Primitives of the host when a graph runs: printing, assertions, functions in Python and NumPy.

Each is carried out once every run in which it is needed, in the order in which it was made.  `call`
is a function of arrays; equal calls stay apart, since each has an effect of its own.
"""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, primitive
from talweg.core.dtypes import bool_
from talweg.core.hooks import hooks
from talweg.core.locking import call_python
from talweg.core.primitive import NoGradient
from talweg.core.roles import Role

HOST = "host"


@primitive
class act:
    """Nothing, after call(operands), which acts on the world or raises an error."""

    operands = "*operands"
    role = Role.ACT
    effect = HOST
    no_gradient = NoGradient("an action has no value")
    batch = LOOP
    memory = "host"

    def tf_type(*operands, call):
        return call.tf_type

    def infer(*operands, call):
        return Aval((), bool_)

    def numpy(*operands, call):
        call_python(call, operands)
        return np.True_


@primitive
class host_call:
    """z = call(operands), the results of a function of NumPy arrays."""

    operands = "*operands"
    multiple = True
    effect = HOST
    no_gradient = NoGradient("a NumPy function has no derivative", "tf.py_function")
    batch = LOOP
    memory = "host"

    def tf_type(*operands, call):
        return call.tf_type

    def infer(*operands, call):
        return call.avals

    def numpy(*operands, call):
        return call_python(call, operands)


@primitive
class taped_call:
    """z = call(operands), the results of a function of tensors, and the tape that saw it."""

    operands = "*operands"
    multiple = True
    effect = HOST
    batch = LOOP
    memory = "host"
    tf_type = "EagerPyFunc"

    def infer(*operands, call):
        return call.avals

    def numpy(*operands, call):
        return call_python(call, operands)

    def vjp(g: tuple, z, *operands, call):
        return hooks.taped_call_vjp(g, z, operands, call)

    def jvp(t: tuple, z, *operands, call):
        return hooks.taped_call_jvp(t, z, operands, call)


@primitive
class taped_pull:
    """Cotangents of a function's operands, by the tape that saw its call."""

    operands = "tape *cotangents"
    multiple = True
    effect = HOST
    no_gradient = NoGradient("the tape of a Python function gives first derivatives only")
    batch = LOOP
    memory = "host"
    tf_type = "EagerPyFunc"

    def infer(tape, *cotangents, pull, avals):
        return avals

    def numpy(tape, *cotangents, pull, avals):
        return call_python(pull, (tape, *cotangents))


for _prim in (act, host_call, taped_call, taped_pull):
    _prim.checked = False  # nothing to check, and nothing to remember of calls that are gone
