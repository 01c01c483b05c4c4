"""The recorded cases, of variables of unknown shape whose values change after the trace.

A function is traced while each variable has a value of other sizes (or of another rank); then the
variables get the case's values, and the trace must give what TensorFlow gave eagerly.  So nothing
may take a size of a variable for constant that its shape leaves open.  One case in four is tried,
all with `TALWEG_ALL_CASES_IN_GRAPHS=1`.
"""

import os
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graph import fed, rules  # noqa: E402
from graph.test_recorded_in_graphs import recorded_values  # noqa: E402
from recorded import case_files, description, helpers  # noqa: E402

import talweg as tf  # noqa: E402
from talweg.core import settings  # noqa: E402
from talweg.eager.convert import convert_to_tensor  # noqa: E402
from talweg.eager.tensor import EagerTensor  # noqa: E402
from talweg.graph import structure  # noqa: E402
from talweg.graph.symbol import Symbol  # noqa: E402

STEP = 1 if os.environ.get("TALWEG_ALL_CASES_IN_GRAPHS") else 4
# Not about values of variables; and an array that takes the dtype of the tensor beside it.
OWN = ("np.array([[2.0]])", "Variable", "Session", "bool(", " if ", " is ")


class Holder(fed.Feeder):
    """Puts arrays into variables of unknown sizes, or of unknown rank."""

    def __init__(self, mode):
        super().__init__(SimpleNamespace(whole=(), constant=convert_to_tensor), mode)

    def given(self, array):
        """A variable of other sizes for the array."""
        if array.dtype.kind not in "fcb":
            return self.graph.constant(array)
        unranked = self.mode == fed.RANK
        other = np.zeros([2] * (array.ndim + 1) if unranked else [n + 1 for n in array.shape])
        shape = tf.TensorShape(None) if unranked else [None] * array.ndim
        with tf.init_scope():
            variable = tf.Variable(other.astype(array.dtype), shape=shape, trainable=False)
        self.feeds.append((variable, array))
        return variable

    def arguments(self, function, values):
        """The arguments of a call; lists beside a tensor or variable stay."""
        if any(isinstance(value, (Symbol, tf.Variable)) for value in values):
            return [self.argument(value, False) for value in values]
        return super().arguments(function, values)

    def source(self, value):
        """What to differentiate by: a tensor of the trace that no other one equals."""
        tensor = tf.convert_to_tensor(value)
        return tensor if type(tensor) is Symbol else tf.identity(tensor)

    def result(self, value):
        """A result of a call; constants become variables."""
        if type(value) is Symbol and value.node.prim.name == "constant":
            return self.given(np.asarray(value.node.params["value"].array))
        if type(value) is EagerTensor:
            return self.given(value.numpy())
        return value


def run_case(case, mode):
    """The outcome of a case: a description as in `recorded/description.py`."""
    holder, made = Holder(mode), []
    before, last = case.code()

    def body():
        with fed.catching(holder):
            names = {**helpers.namespace(tf), **fed._derivatives(holder)}
            exec(before, names)
            value = eval(last, names)
            leaves = structure.flatten(value, composites=True)
            own = {id(variable) for variable, _ in holder.feeds}
            leaves = [tf.convert_to_tensor(x) if id(x) in own else x for x in leaves]
            made[:] = value, leaves
            return [tf.convert_to_tensor(x) for x in leaves if fed.is_symbolic(x)]

    try:
        function = tf.function(body, autograph=False).get_concrete_function()
        for variable, array in holder.feeds:
            variable.assign(array)
        numbers = iter([x.numpy() for x in function()])
        gives = description.describe(fed._with_numbers(*made, numbers), tf)
    except Exception as error:  # every exception is an answer
        gives = {
            "raises": description._public_class(error, tf),
            "message": description._first_lines(error),
            "classes": [kind.__name__ for kind in type(error).__mro__[:-2]],
        }
    return fed.Outcome(gives, holder)


@pytest.mark.parametrize("mode", [fed.FLOATS, fed.RANK])
@pytest.mark.parametrize("area", [area for area in case_files.areas() if area not in rules.AREAS])
def test_cases_of_variables(area, mode):
    """The area's cases give what was recorded."""
    wrong = []
    for case in case_files.read_cases(area)[::STEP]:
        if rules.reason_to_skip(case, mode) or any(word in case.text for word in OWN):
            continue
        with settings.executor("interpret"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = run_case(case, mode)
        if rules.asked_python(outcome) or (mode == fed.RANK and rules.unranked(outcome)):
            continue
        found = [
            rules.difference(outcome, description.decode(wanted), case.flags)
            for wanted in recorded_values(case.area)[case.text]
        ]
        if None not in found:
            wrong.append(f"{case.label}\n{case.text}\n{found[-1]}")
    if wrong:
        pytest.fail("\n\n".join(wrong), pytrace=False)
