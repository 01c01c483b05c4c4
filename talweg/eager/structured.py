"""Branches, loops, calls and lists run eagerly, as the derivatives of traced functions need them.

Values of dtype variant (histories, lists) travel in a `Variant`, so that an eager tensor can hold
them.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from sys import getrefcount
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch, locking
from talweg.core.dtypes import VARIANT, variant
from talweg.core.roles import Role
from talweg.eager.resident import nearest, resident
from talweg.eager.tensor import EagerTensor
from talweg.eager.uncomputed import UncomputedTensor, results_of
from talweg.execute import choice, executor
from talweg.execute.call import check
from talweg.execute.donation import UNSHARED, is_writable, to_write
from talweg.execute.interpret import MISSING, BodyRunner
from talweg.graph.node import BODY, Node
from talweg.kernels.random import streams as random_streams
from talweg.kernels.variants import History, array_of_variant, unwrap_element
from talweg.passes.functionalize import program_of
from talweg.prims.host import HOST

if TYPE_CHECKING:
    from talweg.core.aval import Aval
    from talweg.core.primitive import Primitive
    from talweg.eager.composite import SparseTensor
    from talweg.execute.interpret import Missing
    from talweg.graph.handle import Handle
    from talweg.graph.subgraph import Body


class Variant:
    """A value that is no array, as the content of an eager tensor."""

    __slots__ = ("value",)
    shape, ndim, size, nbytes, dtype = (), 0, 1, 0, VARIANT

    def __init__(self, value: Any):
        self.value = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return array_of_variant(self.value)

    def __repr__(self) -> str:
        return f"<variant {type(self.value).__name__}>"


def content(tensor: Any) -> Any:
    """Return the form that kernels take: an array, or the value in a `Variant`."""
    if type(tensor) is EagerTensor:
        array = tensor._array
        return array.value if type(array) is Variant else unwrap_element(array)
    return None if type(tensor) is UncomputedTensor else tensor


def near_content(tensor: Any) -> Any:
    """Return the form that programs take: the array that a device has, if it has one."""
    if type(tensor) is not EagerTensor:
        return content(tensor)
    array = nearest(tensor)
    return array.value if type(array) is Variant else unwrap_element(array)


def as_tensor(value: Any) -> EagerTensor:
    """Return a kernel's result as an eager tensor."""
    if isinstance(value, (np.ndarray, np.generic, bytes)):
        return EagerTensor(value)
    return resident(value) if hasattr(value, "devices") else EagerTensor(Variant(value))


class Variables:
    """The values of eager variables, as a program's state; writes happen at once.

    The random streams of operations in functions are state, too: they go on from call to call.
    """

    def __init__(self) -> None:
        self.streams: Any = weakref.WeakKeyDictionary()  # operation -> its stream
        self._reserving = locking.new_lock()

    def get(self, handle: Handle | Node, default: Missing = MISSING) -> Any:
        """Return the array a variable holds, or the stream of an operation."""
        if type(handle) is Node:
            return self.streams.get(handle, default)
        variable = self.owner(handle)
        tensor = variable._tensor
        if tensor is None:
            own = variable._held == get_ident() and locking.runs.inner is None
            tensor = variable._taken if own else variable.present()
        return tensor._array

    __getitem__ = get

    def exclusive(self, handle: Handle, known: int) -> Any:
        """Return a variable's array, to be written in place; a copy if anybody else refers to it.

        `known` references are the caller's.
        """
        variable = self.owner(handle)
        if variable._held != get_ident():  # others may read it meanwhile
            return to_write(variable.present()._array, False)
        tensor = variable._taken
        if tensor is None:
            variable._taken = tensor = variable._tensor
            variable._tensor = None
        array = tensor._array
        alone = getrefcount(tensor) <= UNSHARED and getrefcount(array) <= UNSHARED + known
        if alone and is_writable(array):
            return array
        variable.put_back()
        return to_write(array, False)

    def on_device(self, handles: list) -> list:
        """Return a device's copies of variables' values, or the arrays where it has none."""
        found = []
        for handle in handles:
            variable = self.owner(handle)
            tensor = variable._tensor
            if tensor is None:
                own = variable._held == get_ident()
                tensor = variable._taken if own else variable.present()
            found.append(nearest(tensor))
        return found

    def give_away(self, handles: list) -> list[bool]:
        """Return which variables may be written on the device, where they are.

        Those may whose tensor nobody else refers to; it is taken away from the variable.
        """
        donated, me = [], get_ident()
        for handle in handles:
            variable = self.owner(handle)
            tensor = variable._tensor
            alone = tensor is not None and variable._held == me and getrefcount(tensor) <= UNSHARED
            if alone:
                variable._taken, variable._tensor = tensor, None
            donated.append(alone)
        return donated

    def keep(self, handle: Any, array: np.ndarray) -> None:
        """Restore a variable whose elements a device now has elsewhere."""
        variable = self.owner(handle)
        variable._tensor, variable._taken = resident(array), None

    def replace(self, handles: list, arrays: list) -> None:
        """Let variables have values that a device has."""
        observer = dispatch.state.observer
        for handle, array in zip(handles, arrays):
            variable = self.owner(handle)
            variable._tensor, variable._taken = resident(array), None
            if observer is not None:
                observer.variable_written(variable, False)

    def note_copy(self, handle: Any, array: Any, copied: Any) -> None:
        """Let the copy that a device has of a variable's value be kept beside it."""
        tensor = self.owner(handle)._tensor
        if tensor is not None and nearest(tensor) is array:
            tensor._resident = copied

    def reserve(self, operation: Node, seeds: tuple, blocks: int) -> Any:
        """Return the random stream of an operation, which goes on after so many blocks."""
        with self._reserving:
            stream = self.streams.get(operation)
            if stream is None:
                stream = random_streams.start(seeds)
            self.streams[operation] = stream.skip(blocks)
        return stream

    def settle(self, operation: Node, start: Any, reserved: int, used: int) -> None:
        """Give back blocks that were reserved and not used, if nobody has drawn since then."""
        with self._reserving:
            if self.streams.get(operation) == start.skip(reserved):
                self.streams[operation] = start.skip(used)

    def owners(self, changed: Iterable[Any]) -> list:
        """Return the owners that are held while a program changes these."""
        return [self.owner(handle) for handle in changed]

    def owner(self, handle: Any) -> Any:
        """Return the owner that is held while a variable is changed."""
        found = handle.owner()
        return handle.variable if found is None else found

    def variable(self, handle: Handle) -> Any:
        """Return the variable of a handle."""
        return handle.variable

    def put_back(self, handles: Iterable[Any]) -> None:
        """Let variables have their values again that were taken away and not written."""
        for handle in handles:
            self.owner(handle).put_back()

    def __setitem__(self, handle: Handle, array: np.generic | np.ndarray) -> None:
        if type(handle) is Node:
            self.streams[handle] = array
            return
        if type(array) is np.ndarray:
            if not array.flags.owndata:
                array = np.array(array)
        elif hasattr(array, "devices"):
            self.replace([handle], [array])
            return
        variable = self.owner(handle)
        variable._replace(array)
        variable._taken = None


STATE = Variables()


class Exchanged:
    """The state of a function that is called with other variables than it was traced with."""

    __slots__ = ("_own",)

    def __init__(self, own: dict):
        self._own = own  # handle in the trace -> handle of the variable that stands in its place

    def get(self, handle: Handle, default: Missing = MISSING) -> Any:
        """Return the array a variable holds, or the stream of an operation."""
        return STATE.get(self._own.get(handle, handle), default)

    __getitem__ = get

    def exclusive(self, handle: Handle, known: int) -> Any:
        """Return a variable's array, to be written in place; see `Variables`."""
        return STATE.exclusive(self._own.get(handle, handle), known)

    def on_device(self, handles: list) -> list:
        """Return a device's copies of variables' values; see `Variables`."""
        return STATE.on_device([self._own.get(handle, handle) for handle in handles])

    def give_away(self, handles: list) -> list[bool]:
        """Return which variables may be written where they are; see `Variables`."""
        return STATE.give_away([self._own.get(handle, handle) for handle in handles])

    def keep(self, handle: Any, array: np.ndarray) -> None:
        """Restore a variable's value; see `Variables`."""
        STATE.keep(self._own.get(handle, handle), array)

    def replace(self, handles: list, arrays: list) -> None:
        """Let variables have values that a device has."""
        STATE.replace([self._own.get(handle, handle) for handle in handles], arrays)

    def note_copy(self, handle: Any, array: Any, copied: Any) -> None:
        """Let the copy that a device has of a variable's value be kept beside it."""
        STATE.note_copy(self._own.get(handle, handle), array, copied)

    def reserve(self, operation: Node, seeds: tuple, blocks: int) -> Any:
        """Return the random stream of an operation, which goes on after so many blocks."""
        return STATE.reserve(operation, seeds, blocks)

    def settle(self, operation: Node, start: Any, reserved: int, used: int) -> None:
        """Give back blocks that were reserved and not used, if nobody has drawn since then."""
        STATE.settle(operation, start, reserved, used)

    def owner(self, handle: Any) -> Any:
        """Return the owner that is held while a variable is changed."""
        return STATE.owner(self._own.get(handle, handle))

    def owners(self, changed: Iterable[Any]) -> list:
        """Return the owners that are held while a program changes these."""
        return [self.owner(handle) for handle in changed]

    def put_back(self, handles: Iterable[Any]) -> None:
        """Let variables have their values again that were taken away and not written."""
        STATE.put_back([self._own.get(handle, handle) for handle in handles])

    def __setitem__(self, handle: Handle, array: np.generic | np.ndarray) -> None:
        STATE[self._own.get(handle, handle)] = array

    def variable(self, handle: Handle) -> Any:
        """Return the variable that stands in the place of one."""
        return self._own.get(handle, handle).variable


class EagerRunner(BodyRunner):
    """Runs bodies on the values of eager variables."""

    def __init__(self) -> None:
        self.state: Any = STATE
        context = dispatch.context
        self.remembers = self.everything = bool(context.recorders) or context.keep_inside


def evaluate_structured(prim: Primitive, operands: tuple, params: dict) -> Any:
    """Run a primitive of graphs on eager tensors."""
    if prim.role is Role.INNER_VALUE:
        kept = content(operands[0])
        near = getattr(kept, "near", None)
        if near is not None and params["inner"] in near:
            return as_tensor(near[params["inner"]])
    if prim.role is Role.CALL and choice.is_on_device():
        return _as_results(prim, operands, params, _call_on_device(operands, **params))
    arrays = [content(x) for x in operands]
    if prim.effect == BODY:
        recorders = dispatch.context.recorders
        runner = EagerRunner()
        dispatch.context.recorders = ()
        try:
            with np.errstate(all="ignore"):
                result = prim.numpy(runner, arrays, **params)
        finally:
            dispatch.context.recorders = recorders
    else:
        if prim.effect == HOST:
            check(prim, arrays, params)
        result = prim.numpy(*arrays, **params)
    if not prim.multiple:
        return _as_result(prim, operands, params, result)
    return _as_results(prim, operands, params, result)


def _call_on_device(operands: tuple, body: Body) -> tuple:
    """Run a body on a device: its outputs, and the residuals."""
    runner, context = EagerRunner(), dispatch.context
    inner = runner.inner(body)
    recorders, context.recorders = context.recorders, ()
    try:
        program = program_of(body, inner, runner.everything)
        ran = executor.run_on_device(program, [near_content(x) for x in operands], STATE)
    finally:
        context.recorders = recorders
    values, count = ran if type(ran) is list else ran.arrays, len(body.outputs)
    return (*values[:count], History.on_device(dict(zip(inner, values[count:]))))


def _as_results(prim: Primitive, operands: tuple, params: dict, result: Any) -> tuple:
    if any([part is None for part in result]):
        avals = results_of(prim, operands, params)
        return tuple([_tensor_of(part, aval) for part, aval in zip(result, avals)])
    return tuple([as_tensor(part) for part in result])


def _as_result(prim: Primitive, operands: tuple, params: dict, result: object) -> Any:
    if result is not None:
        return as_tensor(result)
    return _tensor_of(None, results_of(prim, operands, params))


def _tensor_of(value: SparseTensor | None, aval: Aval) -> Any:
    """Return a result as an eager tensor; None is a zero list or history, or was not computed."""
    if value is not None or aval.dtype is variant:
        return as_tensor(value)
    return UncomputedTensor(aval)
