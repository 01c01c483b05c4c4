"""Repeated calls of a trace on a device, without work for each variable.

The first call of a trace goes the usual way.  If its program is one part for XLA, what it uses of
variables is in a `DeviceGroup` afterwards, and the trace has a `DeviceStep` in place of the method
`call_flat`: it takes the group's arrays, calls the executable, and lets the group have what that
gives.  Whatever is different from the last time goes the usual way again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from weakref import ref

from talweg.core import dispatch
from talweg.core.transfers import is_true, note_sent, transfers
from talweg.eager.device_group import DeviceGroup, group_of
from talweg.eager.resident import put_near, resident
from talweg.eager.structured import STATE
from talweg.eager.tensor import EagerTensor
from talweg.execute import choice, executor
from talweg.execute.drawing import Drawing
from talweg.execute.interpret import onlooker
from talweg.graph.handle import Handle
from talweg.passes.specialize.program import demands
from talweg.trace.options import options

if TYPE_CHECKING:
    from talweg.trace.concrete import ConcreteFunction

Pick = Callable[[tuple], tuple]


def picker(places: list[int], count: int) -> Pick | None:
    """Make a function that selects these positions of a tuple; None for all of them, in order."""
    if places == list(range(count)):
        return None
    if len(places) == 1:
        place = places[0]
        return lambda values: (values[place],)
    return itemgetter(*places) if places else lambda values: ()


class DeviceStep:
    """A trace called for arguments of one kind; called like `ConcreteFunction.call_flat`."""

    def __init__(self, concrete: ConcreteFunction, version: Any, direct: Any):
        self._usually = type(concrete).call_flat.__get__(concrete)
        self._pack, self._single = concrete._pack, concrete._single
        self._variables, self._direct = version.variables, direct
        self._count = len(concrete.specs)
        dtypes = [spec.dtype.numpy_dtype for spec in concrete.specs]
        sizes = [prod(dims) * dtype.itemsize for dims, dtype in zip(version.dims, dtypes)]
        # weak references to NumPy's tensors of the last call
        latest: list[list] = [[_nothing] for _ in sizes]
        self._kinds = list(zip(version.dims, dtypes, sizes, latest))  # sizes in bytes
        self._streams, self._drawn = version.drawing
        self._pick = picker(direct.inputs, self._count + len(self._streams))
        self._find_group()

    def _find_group(self) -> None:
        """Put the variables in one group, and record their positions in it."""
        owners = [STATE.owner(handle) for handle in self._variables]
        group = self._group = group_of(owners)
        number = [owner._group[1] for owner in owners]
        self._members = len(group.arrays)
        self._lock = group.lock
        self._places = [number[place] for place in self._direct.written]
        self._written: Any = picker(self._places, self._members)
        self._whole = self._written is None
        self._read = picker([number[place] for place in self._direct.read], self._members)
        self._reads = bool(self._direct.read)

    def call(self, tensors: list, variables: Any = (), state: Any = None) -> Any:
        """Compute the result, as `ConcreteFunction.call_flat` gives it."""
        if state is None and not variables:
            arrays = self.arrays_of(tensors)
            if arrays is not None:
                return self.call_with(arrays, tensors)
        return self._usually(tensors, variables, state)

    def arrays_of(self, tensors: Sequence[Any]) -> tuple | None:
        """Return the arrays of tensors; None if they are of other kinds than the step's."""
        if len(tensors) != self._count:
            return None
        arrays = []
        for tensor, (dims, dtype, size, latest) in zip(tensors, self._kinds):
            if (
                tensor is not None and latest[0]() is tensor
            ):  # given again: from now on it stays on the device
                arrays.append(put_near(tensor))
                continue
            if type(tensor) is not EagerTensor:
                return None
            try:
                array, is_near = _resident_of(tensor), True
            except AttributeError:
                array, is_near = tensor._array, False
            if array.shape != dims or array.dtype != dtype:
                return None
            if not is_near:
                latest[0] = ref(tensor)
                transfers.to_device += size
            arrays.append(array)
        return tuple(arrays)

    def call_with(self, arrays: tuple, tensors: Sequence[Any]) -> Any:
        """Compute the result for the arrays of tensors."""
        if dispatch.state.busy or demands.finite or onlooker.step_by_step:
            return self._usually(list(tensors))
        if executor.chosen.value != "xla":
            return self._usually(list(tensors))
        with self._lock:
            outputs = self._run(arrays)
        if outputs is None:
            return self._usually(list(tensors))
        if self._single:
            found = _new(EagerTensor)
            (found._resident,) = outputs
            return found
        return self._pack([resident(array) for array in outputs])

    def _run(self, given: tuple) -> Any:
        """Compute the outputs; None, without changes, if the call needs the general path."""
        direct, group = self._direct, self._group
        if group.touched and not group.take_in(direct.put, direct.copy):
            return None
        if choice.placing.used:
            given = direct.bring(given)
            if group.device != direct.whereabouts:
                group.arrays = direct.bring(group.arrays)
                group.device = direct.whereabouts
        held = group.arrays
        if group.replaced or len(held) != self._members:
            return None
        drawing = None
        if self._streams:
            drawing = Drawing(self._streams, self._drawn, STATE)
            states = drawing.begin()
            note_sent(states)
            given += tuple(states)
        if self._pick is not None:
            given = self._pick(given)
        if self._reads:
            given += held if self._read is None else self._read(held)
        gave: list = []
        done = False
        try:  # in one call of C: no signal comes between giving memory away and having the new
            gave.extend(map(direct.call, (held if self._whole else self._written(held),), (given,)))
            full, (ok, outputs, _) = gave[0]
            done = (ok is None or is_true(ok)) and (full is None or not is_true(full))
        finally:
            if gave:
                if self._whole:
                    group.arrays = gave[0][1][2]
                elif self._places:
                    self._keep(group, gave[0][1][2])
            if drawing is not None and not done:
                drawing.undo()
        if not done:
            return None
        if drawing is not None:
            count = len(outputs) - len(self._drawn)
            drawing.end(list(outputs[count:]))
            outputs = outputs[:count]
        return outputs

    def _keep(self, group: DeviceGroup, after: tuple) -> None:
        """Assign variables their new values on the device."""
        new = list(group.arrays)
        for place, array in zip(self._places, after):
            new[place] = array
        group.arrays = tuple(new)


def _nothing() -> Any:
    """Return what a weak reference to nothing returns."""


_new = object.__new__
_resident_of: Callable[[EagerTensor], Any] = EagerTensor.__dict__["_resident"].__get__


def use_steps(concrete: ConcreteFunction, count: int) -> None:
    """Make a trace use a DeviceStep from now on, if the version that ran last allows it.

    count: how many tensors it was called with.
    """
    tier = concrete._program.tier
    version = None if tier is None or tier.xla is None else tier.xla.last
    direct = None if version is None else version.direct_for(count)
    if direct is not None and direct.device is not choice.target(concrete._program):
        direct = None
    if direct is not None and dispatch.context.device is not None:
        direct = None  # the next call may be outside of `tf.device`
    plain = all([type(value) is Handle for value in concrete._outside])
    if direct is not None and plain and not concrete.formals:
        options.change(devices=True)
        concrete.step = DeviceStep(concrete, version, direct)
        concrete.call_flat = concrete.step.call  # type: ignore[method-assign]
