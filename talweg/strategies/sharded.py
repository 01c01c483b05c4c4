"""A variable in parts, as parameter servers keep it: libraries ask whether something is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.core.tracking import Trackable

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike


@export("__internal__.distribute.ShardedVariable")
class ShardedVariable(Trackable):
    """Variables that are the parts of a larger one along its first axis.

    ValueError unless there are some, of one dtype and one shape behind the first axis.

    >>> import talweg as tf
    >>> parts = [tf.Variable([[1.0]]), tf.Variable([[2.0], [3.0]])]
    >>> whole = tf.__internal__.distribute.ShardedVariable(parts)
    >>> whole.shape, tf.convert_to_tensor(whole).numpy().ravel().tolist()
    (TensorShape([3, 1]), [1.0, 2.0, 3.0])
    """

    def __init__(self, variables: Sequence[Any], name: str = "ShardedVariable"):
        self._variables, self._name = list(variables), name
        if len({(v.dtype, tuple(v.shape[1:].as_list())) for v in self._variables}) != 1:
            raise value_error(
                "TW104", f"the parts {self._variables} of {name}", "variables of one dtype and row"
            )

    def __iter__(self) -> Iterator:
        return iter(self._variables)

    @property
    def variables(self) -> list:
        """The parts."""
        return self._variables

    @property
    def name(self) -> str:
        """The name of the whole."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of the parts."""
        return self._variables[0].dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        rows = sum(v.shape[0] for v in self._variables)
        return TensorShape([rows, *self._variables[0].shape[1:].as_list()])

    @property
    def trainable(self) -> bool:
        """Whether the parts are trained."""
        return self._variables[0].trainable

    def assign(self, value: Any, **options: object) -> ShardedVariable:
        """Give the parts the rows of `value`."""
        sizes = [v.shape[0] for v in self._variables]
        for variable, part in zip(self._variables, look_up("split")(value, sizes)):
            variable.assign(part)
        return self

    def __tf_tensor__(self, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
        return look_up("concat")([v.value() for v in self._variables], 0)

    def _trackable_children(self, save_type: str = "checkpoint", **options: object) -> dict:
        return {f"part_{place}": part for place, part in enumerate(self._variables)}
