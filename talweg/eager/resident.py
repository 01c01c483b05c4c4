"""Tensors of which a device has the elements, until somebody looks at them.

Such a tensor is an `EagerTensor` with `_resident`, an array of a device, and no `_array`: that is
fetched when it is first asked for.  The methods that do so are given to the class with the first
tensor of a device, since a class with `__getattr__` is slower in all it is asked for: who has no
device does not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core.dispatch import context, put_on_device, state
from talweg.core.dtypes import DType, of_numpy
from talweg.core.machine import machine
from talweg.core.transfers import fetch
from talweg.eager.tensor import DEVICE, FIRST_GPU, EagerTensor, wrap
from talweg.execute import choice

_new = object.__new__
_array_of: Callable[[EagerTensor], Any] = EagerTensor.__dict__["_array"].__get__
_resident_of: Callable[[EagerTensor], Any] = EagerTensor.__dict__["_resident"].__get__


def resident(array: np.ndarray) -> EagerTensor:
    """Return an EagerTensor of which a device has the elements;
    of NumPy's array, one around that.
    """
    if isinstance(array, (np.ndarray, np.generic)):
        return wrap(array)
    if not hasattr(EagerTensor, "__getattr__"):
        _let_devices_keep()
    tensor = _new(EagerTensor)
    tensor._resident = array
    return tensor


def nearest(tensor: EagerTensor) -> Any:
    """Return the device's array of a tensor, or, if there is none, NumPy's."""
    try:
        return _resident_of(tensor)
    except AttributeError:
        return tensor._array


def put_near(tensor: EagerTensor) -> Any:
    """Return the device's array of a tensor that will be used there again; copied once."""
    array = nearest(tensor)
    if not isinstance(array, (np.ndarray, np.generic)) or array.dtype.kind == "O":
        return array
    tensor._resident = array = choice.put(array)
    return array


def named(tensors: list) -> list:
    """Return results, which say that they lie where `tf.device` says, if that is only a name."""
    if state.busy and context.device is not None and choice.target() is None:
        put_on_device(tuple(tensors))
    return tensors


def is_spread(array: Any) -> bool:
    """Return whether an array lies on several devices."""
    found = getattr(array, "sharding", None)
    return found is not None and found.num_devices > 1


def of_its_own(tensor: EagerTensor) -> EagerTensor:
    """Return another tensor with the same elements, where they are."""
    try:
        return resident(_resident_of(tensor))
    except AttributeError:
        return wrap(tensor._array)


def _fetch_attribute(self: EagerTensor, name: str) -> Any:
    """Return the elements; of other attributes an AttributeError."""
    if name == "_array":
        found = fetch(_resident_of(self))
        self._array = found = found if found.ndim else found[()]
        if state.observer is not None:
            state.observer.fetched(found)
        return found
    if name[:2] == "__":  # NumPy asks for many
        raise AttributeError(name)
    return object.__getattribute__(self, name)  # which says what is not there


def _aval(self: EagerTensor) -> Any:
    """Return the abstract value, which tells shape and dtype without a fetch."""
    try:
        return _array_of(self)
    except AttributeError:
        return _resident_of(self)


def _dims(self: EagerTensor) -> tuple:
    return _aval(self).shape


def _ndim(self: EagerTensor) -> int:
    return _aval(self).ndim


def _dtype(self: EagerTensor) -> DType:
    return of_numpy(_aval(self).dtype)


def _device(self: EagerTensor) -> str:
    """Return the device of the value:
    the first GPU, if there is one and it has not been fetched.
    """
    try:
        return self._device
    except AttributeError:
        pass
    try:
        array = _resident_of(self)
    except AttributeError:
        return DEVICE
    if choice.placing.used and not is_spread(array):
        return DEVICE.replace("CPU:0", choice.name_of_device(array))
    return FIRST_GPU if machine.visible_gpus and not is_spread(array) else DEVICE


def _nbytes(self: EagerTensor) -> int:
    """Return bytes the elements take."""
    return _aval(self).nbytes


def _let_devices_keep() -> None:
    """Let eager tensors be without an array."""
    for name, read in (("dims", _dims), ("ndim", _ndim), ("dtype", _dtype), ("nbytes", _nbytes)):
        setattr(EagerTensor, name, property(read))
    EagerTensor.device = EagerTensor.backing_device = property(_device)  # type: ignore
    EagerTensor.__getattr__ = _fetch_attribute  # type: ignore[method-assign]
