"""tf.train.ExponentialMovingAverage: averages of variables over the steps of training."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.api.export import export, look_up
from talweg.compat_v1.train.optimizer import fill_like, group_updates, together
from talweg.compat_v1.train.slots import beside, name_of, variable_beside
from talweg.core import dispatch
from talweg.core.dtypes import bfloat16, float16, float32, float64
from talweg.core.errors import type_error
from talweg.eager.graph_variable import GraphVariable
from talweg.eager.variable import Variable
from talweg.prims.arithmetic import cast, minimum, pow_

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.value import Tensor

MOVING_AVERAGE_VARIABLES = "moving_average_variables"
FLOATS = frozenset((float16, bfloat16, float32, float64))


@export("train.ExponentialMovingAverage", "compat.v1.train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """Keeps averages: average = decay average + (1 - decay) value.

    decay: close to 1.  num_updates: a counter; decay is at most (1 + n) / (10 + n).  zero_debias:
    averages of tensors, which start at 0, are freed of what that start contributes.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     v = tf.Variable(2.0)
    ...     averages = tf.train.ExponentialMovingAverage(0.5)
    ...     update = averages.apply([v])
    ...     session.run(tf.global_variables_initializer())
    ...     session.run(v.assign(4.0).op)
    ...     session.run(update)
    ...     print(session.run(averages.average(v)))
    3.0
    """

    def __init__(
        self,
        decay: TensorLike,
        num_updates: TensorLike | None = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ):
        self._decay, self._num_updates = decay, num_updates
        self._zero_debias, self._name = zero_debias, name
        self._averages: dict[int, tuple[Any, Any]] = {}  # by id: what is averaged, its average
        self._starts: dict[int, tuple[Any, Any]] = {}  # by id: biased average, number of updates

    @property
    def name(self) -> str:
        """The name that averages are named with."""
        return self._name

    def apply(self, var_list: Iterable | None = None) -> Any:
        """Make an operation that brings the averages of `var_list` up to date, done now in eager
        mode.

        var_list: variables, or tensors of a graph; all trainable variables by default.  TypeError
        for what is no float.
        """
        averaged = look_up("compat.v1.trainable_variables")() if var_list is None else var_list
        averaged = list(averaged)
        for value in averaged:
            if value.dtype not in FLOATS:
                raise type_error(
                    "TW102", f"The variables must be half, float, or double: {value.name}"
                )
        own = [self._average_of(value) for value in averaged]
        decay = self._present_decay()
        updates = [self._update(average, value, decay) for value, average in zip(averaged, own)]
        return group_updates(updates)

    def _present_decay(self) -> Any:
        decay = tensor(self._decay, None if hasattr(self._decay, "dtype") else float32)
        if self._num_updates is None:
            return decay
        count = cast(tensor(self._num_updates), dtype=decay.dtype)
        return minimum(decay, (1 + count) / (10 + count))

    def _average_of(self, value: TensorLike) -> Any:
        """Find or make the variable with the average of a variable or tensor."""
        entry = self._averages.get(id(value))
        if entry is not None:
            return entry[1]
        if isinstance(value, Variable):
            symbolic = isinstance(value, GraphVariable)
            start = value.initialized_value if symbolic else value.value
            average = variable_beside(value, self._name, start)
            if symbolic:
                value.graph.add_to_collection(MOVING_AVERAGE_VARIABLES, value)
        else:
            average = variable_beside(value, self._name, lambda: fill_like(value, 0))
            if self._zero_debias:
                self._start(average)
        self._averages[id(value)] = value, average
        return average

    def _start(self, average: GraphVariable) -> None:
        """Make the variables that free an average of its start."""
        with beside(average):
            biased = variable_beside(average, "biased", lambda: fill_like(average, 0))
            count = variable_beside(
                average, "local_step", lambda: look_up("zeros")([], average.dtype)
            )
        self._starts[id(average)] = biased, count

    def _update(self, average: GraphVariable, value: TensorLike, decay: Tensor) -> Any:
        value = tensor(value)
        rate = 1 - cast(decay, dtype=average.dtype)
        start = self._starts.get(id(average))
        if start is None:
            return average.assign_sub((average.value() - value) * rate)
        biased, count = start
        total = biased.value() - (biased.value() - value) * rate
        number = count.value() + 1
        free = total / (1 - pow_(1 - rate, number))
        return together([biased.assign(total), count.assign(number), average.assign(free)])

    def average(self, var: object) -> Any:
        """Return the variable with the average of `var`; None if it is not averaged."""
        found = self._averages.get(id(var))
        return None if found is None else found[1]

    def average_name(self, var: object) -> str:
        """Return the name of the average of `var`, which need not be there yet."""
        average = self.average(var)
        if average is not None:
            return name_of(average)
        name = f"{name_of(var)}/{self._name}"
        graph = dispatch.context.base
        return name if graph is None else graph.unique_name(name, mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Iterable | None = None) -> dict[str, Any]:
        """Make a `var_list` for `tf.train.Saver` that gives variables the values of their
        averages.

        moving_avg_variables: which; all that are trained or averaged by default.  The other
        variables of the graph come under their own names.
        """
        if moving_avg_variables is None:
            averaged = [
                *look_up("compat.v1.trainable_variables")(),
                *look_up("compat.v1.moving_average_variables")(),
            ]
        else:
            averaged = list(moving_avg_variables)
        averages = {self.average_name(variable): variable for variable in averaged}
        names = {variable.name for variable in averaged}
        for variable in look_up("compat.v1.global_variables")():
            own = name_of(variable)
            if variable.name not in names and own not in averages:
                averages[own] = variable
        return averages
