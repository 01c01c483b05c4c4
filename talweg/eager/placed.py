"""Variables made inside of `tf.device`: they know where they lie."""

from __future__ import annotations

from typing import Any

from talweg.core import dispatch
from talweg.core.hooks import hooks
from talweg.eager.tensor import DEVICE, EagerTensor
from talweg.eager.variable import Variable


class PlacedVariable(Variable):
    """A variable made inside of `tf.device`: its reads give tensors on that device."""

    def __init__(self, *args: Any, **kwargs: Any):
        self._place = dispatch.context.device
        super().__init__(*args, **kwargs)

    @property
    def device(self) -> str:
        return DEVICE if self._place is None else self._place

    def value(self) -> Any:
        tensor = super().value()
        if self._place is not None and type(tensor) is EagerTensor:
            tensor._device = self._place
        return tensor

    read_value = value


hooks.placed_variable = PlacedVariable
