"""`strategy.run` of a traced function on devices: traced once, run by each device for its replica.

That is done where XLA runs programs and there is a device for each replica.  What one trace cannot
stand for (parts of different sizes, variables made in the first call, steps in Python) is left to
the replicas that run in turn (`replica_threads.py`).
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from talweg.core import dispatch, locking, settings
from talweg.core.aval import Aval
from talweg.core.lazy import LazyModule
from talweg.core.spec import TensorSpec
from talweg.eager.replicated import part_of, regroup
from talweg.eager.structured import STATE
from talweg.eager.tensor import EagerTensor, wrap
from talweg.execute import executor
from talweg.graph import structure
from talweg.graph.function_graph import FunctionGraph
from talweg.graph.handle import Handle
from talweg.graph.symbol import Symbol
from talweg.passes.functionalize import program_of
from talweg.passes.specialize.program import SpecializationError
from talweg.prims.host import act, host_call
from talweg.strategies.crossing import loose
from talweg.strategies.rows import LOCK, rows_of
from talweg.strategies.traced_replica import NotTracedOnceError, TracedContext
from talweg.strategies.variables import DistributedVariable, ReplicaPart
from talweg.trace.autograph.convert import adopt_function
from talweg.trace.function import Function
from talweg.trace.host_calls import Outside
from talweg.trace.signature import Taken

if TYPE_CHECKING:
    from talweg.execute.xla import engine, replicated
else:
    engine = LazyModule("talweg.execute.xla.engine")
    replicated = LazyModule("talweg.execute.xla.replicated")

VERSIONS = 16  # kinds of arguments for which a function's programs are kept


class ReplicaState:
    """The state of a program that is compiled for the first replica's values."""

    def get(self, handle: Any, default: Any = None) -> Any:
        """Return the array of a variable's first part, or the stream of an operation."""
        return STATE.get(handle, default)

    __getitem__ = get
    reserve, settle = STATE.reserve, STATE.settle


def mesh_for(strategy: Any) -> Any:
    """Return the devices of a strategy;
    None where XLA does not run programs, or has not as many.
    """
    if executor.chosen.value != "xla" or dispatch.state.observer is not None:
        return None
    extended = strategy.extended
    if extended.mesh is None:
        names = [device.rpartition("device:")[2].split(":") for device in extended.worker_devices]
        devices = []
        if extended.cluster is not None:
            devices = [device for own in extended.everywhere for device in own]
        for kind, number in names if extended.cluster is None else ():
            there = engine.devices(kind)
            if int(number) >= len(there):
                return None
            devices.append(there[int(number)])
        extended.mesh = engine.ReplicaMesh(devices)
        if extended.cluster is not None:
            extended.mesh.watch = extended.cluster.watch
    return extended.mesh


class Prepared(NamedTuple):
    """A call that is ready to run: its trace, the program for it, and what that takes."""

    concrete: Any
    version: Any
    columns: list  # of each tensor, those of the replicas
    apart: list[bool]  # whether these differ
    outside: list


class ReplicatedFunction:
    """A traced function as one trace for all replicas of a strategy."""

    def __init__(self, strategy: Any, function: Function):
        self.strategy, self.count = strategy, strategy.replicas_here
        self._same: Any = weakref.WeakKeyDictionary()  # graph -> which results all have alike
        self._programs: dict[tuple, Any] = {}
        python_function, self.name = function.python_function, function.name
        strategy.extended.numbers  # noqa: B018 -- made before anything is traced

        def of_replica(*args: Any, **kwargs: Any) -> Any:
            context = TracedContext(strategy)
            with context.traced():
                result = adopt_function(python_function)(*args, **kwargs)
            graph = dispatch.context.base
            leaves = structure.flatten(result, composites=True)
            alike = [not isinstance(x, Symbol) or id(x) in context.given for x in leaves]
            self._same[graph] = [a for a, x in zip(alike, leaves) if x is not None]
            return result

        self._function = Function(of_replica, **{**function._options(), "input_signature": None})
        self._function._replicas = None

    def trace(self, args: tuple, kwargs: dict) -> Any:
        """Return the trace for arguments of the first replica, and these taken apart."""
        found, taken = self._function._find(args, kwargs)
        if taken.variables:
            raise NotTracedOnceError("variables are among its arguments")
        for handle in found.writes:
            owner = handle.owner()
            container = owner._distributed_container() if type(owner) is ReplicaPart else None
            mine = getattr(container, "distribute_strategy", None) is self.strategy
            if not mine:
                raise NotTracedOnceError(f"it writes {handle.name}, which is not the strategy's")
        return found, taken

    def alike(self, concrete: Any) -> list[bool]:
        """Return which results of a trace all replicas have alike."""
        return self._same[concrete.graph]

    def prepare(
        self, args: tuple, kwargs: dict, mesh: Any, concrete: Any = None, known: Any = None
    ) -> Prepared:
        """Choose the program for some arguments; NotTracedOnceError where the trace does not serve.

        concrete: the trace, if it was made already; known: values of the tensors of the graph
        around it that it uses, by id.
        """
        given = [part_of(index, (tuple(args), dict(kwargs))) for index in range(self.count)]
        if concrete is None:
            concrete, taken = self.trace(*given[0])
        else:
            own, named = given[0]
            taken = Taken([*self._function._bind(own, named)])
        tensors = [taken.tensors]
        for own, named in given[1:]:
            other = Taken([*self._function._bind(own, named)])
            if other.key != taken.key:
                raise NotTracedOnceError("replicas have arguments of different sizes")
            tensors.append(other.tensors)
        columns = [list(column) for column in zip(*tensors)]
        outside = with_known(concrete, known).captures_now()
        if not all([type(x) is EagerTensor for column in [*columns, outside] for x in column]):
            raise NotTracedOnceError("arguments are no tensors with values")
        apart = [mesh.elsewhere or any([x is not column[0] for x in column]) for column in columns]
        shapes = tuple([(x[0].dims, x[0].dtype) for x in columns])
        key = (id(concrete), shapes, tuple(apart))
        version = self._programs.get(key)
        if version is None:
            first = [x[0]._array for x in columns]
            program = program_of(concrete.body)
            version = self._compile(program, first, outside, apart, mesh, concrete)
            if len(self._programs) >= VERSIONS:
                self._programs.clear()
            self._programs[key] = version
        return Prepared(concrete, version, columns, apart, outside)

    def run(self, prepared: Prepared, mesh: Any) -> Any:
        """Run the replicas and return their results; NotTracedOnceError where that fails."""
        concrete = prepared.concrete
        outputs = self._run(prepared, mesh)
        if len(concrete.body.outputs) != len(outputs):
            raise AssertionError("results are missing")
        alike = self.alike(concrete)
        rows = [[wrap(x[()]) for x in mesh.parts(array)] for array in outputs]
        for same, parts in zip(alike, rows):
            if same:
                parts[1:] = parts[:1] * (self.count - 1)
        results = [concrete._pack(list(own)) for own in zip(*rows)]
        if not rows:
            results = [concrete._pack([]) for _ in range(self.count)]
        return regroup(results)

    def _run(self, prepared: Prepared, mesh: Any) -> list:
        """Return the outputs, each an array with a row for every replica."""
        concrete, version, columns, apart, outside = prepared
        inputs = [
            mesh.put([x._array for x in column]) if own else column[0]._array
            for column, own in zip(columns, apart)
        ]
        with locking.holding(*self._owners(version.written)), LOCK:
            states = [self._state(handle, mesh) for handle in version.variables]
            for number in version.kept[len(columns) :]:
                value, now = (
                    concrete._outside[number - len(columns)],
                    outside[number - len(columns)],
                )
                if type(value) is Handle:
                    inputs.append(self._state(value, mesh))
                else:
                    own = mesh.elsewhere
                    inputs.append(mesh.put([now._array] * self.count) if own else now._array)
            done, outputs, after = version.run(inputs, states, ReplicaState())
            for handle, array in zip(version.written, after):
                rows_of(handle.owner()._distributed_container(), mesh).array = array
        if not done:
            raise NotTracedOnceError("it failed")
        return outputs

    def _compile(
        self, program: Any, first: list, outside: list, apart: list, mesh: Any, concrete: Any
    ) -> Any:
        """Return the program, compiled for these arguments."""
        arguments = [*first, *[x._array for x in outside]]
        apart_too = [mesh.elsewhere or type(value) is Handle for value in concrete._outside]
        own = [*apart, *apart_too]
        try:
            return replicated.ReplicatedProgram(program, arguments, ReplicaState(), mesh, own)
        except (SpecializationError, replicated.NotReplicatedError) as error:
            raise NotTracedOnceError(str(error)) from None

    def _owners(self, handles: list) -> list:
        """Return the parts of variables, which are held while a program changes them."""
        return [
            part for handle in handles for part in handle.owner()._distributed_container().values
        ]

    def _state(self, handle: Any, mesh: Any) -> Any:
        """Return the values that replicas have of a variable: one for each."""
        variable = handle.owner()
        container = variable._distributed_container() if type(variable) is ReplicaPart else None
        if isinstance(container, DistributedVariable):
            return rows_of(container, mesh).take()
        return mesh.put([variable.present()._array] * self.count)


class ReplicaRun:
    """A run of all replicas as a step of a graph, which calls Python: `host_call`'s function."""

    tf_type = "StatefulPartitionedCall"
    may_wait = True

    def __init__(self, extended: Any, function: Function, concrete: Any, given: tuple):
        self._extended, self._function, self._concrete = extended, function, concrete
        # arguments, what the graph knows of their tensors, and what is used of the graph
        self._template, self._specs, self._outer = given
        self._graph, self._turned = dispatch.context.base, None
        count = len(extended.worker_devices)
        self.avals = tuple([loose(node.aval) for node in concrete.body.outputs]) * count

    def __call__(self, *arrays: Any) -> Any:
        with Outside():
            tensors = [wrap(np.asarray(array)[()]) for array in arrays]
            count = len(self._specs)
            known = dict(zip(map(id, self._outer), tensors[count:]))
            tensors = tensors[:count]
            args, kwargs = fill_nest(self._template, iter(tensors))
            outputs = run(self._extended, self._function, args, kwargs, self._concrete, known)
            if outputs is NotImplemented:
                outputs = self._in_turn(tensors, known)
        count = len(self._extended.worker_devices)
        results = []
        for number in range(count):
            own = structure.flatten(part_of(number, outputs), composites=True)
            results += [x._array for x in own if x is not None]
        return tuple(results) if self.avals else None

    def _in_turn(self, tensors: list, known: dict) -> Any:
        """Run the replicas in turn: traced for sizes that the graph around knows."""
        with self._extended.container_strategy.scope():
            if self._turned is None:
                args, kwargs = fill_nest(self._template, iter(self._specs))
                together = self._extended.trace_together(self._function)
                with self._graph.as_default():  # whose tensors it may use
                    self._turned = together._find(args, kwargs)[0]
            return with_known(self._turned, known).call_flat(tensors)


def with_known(concrete: Any, known: dict | None) -> Any:
    """Return a trace in which values from the graph around it, by id, are known."""
    if not known:
        return concrete
    found = copy(concrete)
    found._outside = [known.get(id(value), value) for value in concrete._outside]
    return found


PLACE = object()  # of a tensor, in a nest of arguments


def take_apart(value: Any, tensors: list) -> Any:
    """Return a nest with places where there are tensors, which are put into a list."""
    if isinstance(value, (Symbol, EagerTensor)):
        tensors.append(value)
        return PLACE
    if structure.is_nested(value, composites=True):
        parts = [take_apart(child, tensors) for child in structure.children(value)]
        return structure.rebuild(value, parts)
    return value


def fill_nest(value: Any, tensors: Iterator[Any]) -> Any:
    """Return such a nest with tensors in their places."""
    if value is PLACE:
        return next(tensors)
    if structure.is_nested(value, composites=True):
        parts = [fill_nest(child, tensors) for child in structure.children(value)]
        return structure.rebuild(value, parts)
    return value


def read_now(handle: Any) -> Symbol:
    """Return a variable's value when the graph has come here,
    which runs in Python may have changed.
    """

    class Reading:
        tf_type, may_wait = "ReadVariableOp", True
        avals = (Aval(handle.shape.as_tuple(), handle.dtype),)

        def __call__(self) -> tuple:
            return (handle.variable.handle_read()._array,)

    return host_call(call=Reading())[0]


def in_graph(extended: Any, replicas: ReplicatedFunction, function: Any, given: tuple) -> Any:
    """Return a run of all replicas as a step of the graph under construction."""
    graph: Any = dispatch.context.base
    tensors: list = []
    template = take_apart(given, tensors)
    if any([isinstance(x, Symbol) and x.dtype.name in ("variant", "resource") for x in tensors]):
        raise NotTracedOnceError("arguments are no arrays")
    specs = [TensorSpec(x.shape, x.dtype) for x in tensors]
    args, kwargs = part_of(0, fill_nest(template, iter(specs)))
    concrete, _ = replicas.trace(args, kwargs)
    outer = [value for value in concrete._outside if isinstance(value, Symbol)]
    if any([value.node.table is not graph.table for value in outer]):
        raise NotTracedOnceError("it uses tensors of a function further out")
    handles = [value for value in concrete._outside if type(value) is Handle]
    if any([handle in graph.writes for handle in (*handles, *concrete.writes)]):
        raise NotTracedOnceError("the function around it changes what it uses")
    for handle in concrete.writes:
        for part in handle.owner()._distributed_container().values:
            graph.elsewhere[part.handle] = read_now
    own, count = concrete.body.outputs, replicas.count
    run = ReplicaRun(extended, function, concrete, (template, specs, outer))
    if not own:
        act(*tensors, *outer, call=run)
        return regroup([concrete._pack([]) for _ in range(count)])
    flat_results = list(host_call(*tensors, *outer, call=run))
    rows = [flat_results[number * len(own) : (number + 1) * len(own)] for number in range(count)]
    for position, same in enumerate(replicas.alike(concrete)):
        for row in rows[1:] if same else ():
            row[position] = rows[0][position]
    kept = {id(x) for x, same in zip(rows[0], replicas.alike(concrete)) if same}
    return regroup([concrete._pack(row) for row in rows], given=kept)


def run(
    extended: Any,
    function: Any,
    args: tuple,
    kwargs: dict,
    concrete: Any = None,
    known: dict | None = None,
) -> Any:
    """Run a function in each replica, on devices; NotImplemented where it cannot run there."""
    mesh = mesh_for(extended.container_strategy)
    base = dispatch.context.base
    if mesh is None or (base is not None and not isinstance(base, FunctionGraph)):
        return NotImplemented
    functions = extended.on_devices
    if type(function) is not Function:
        if base is None:
            return NotImplemented
        function = Function(function)
    replicas = functions.get(function)
    if replicas is None:
        replicas = functions[function] = ReplicatedFunction(extended.container_strategy, function)
    try:
        if base is not None:
            return in_graph(extended, replicas, function, (tuple(args), dict(kwargs)))
        with extended.container_strategy.scope():
            return _run_together(replicas, mesh, (args, kwargs, mesh, concrete, known), extended)
    except NotTracedOnceError as error:
        if settings.debug.get() >= 1:
            name = function.name
            logging.getLogger("talweg").warning("%s runs in turn: %s", name, error)
        return NotImplemented


def _run_together(replicas: ReplicatedFunction, mesh: Any, arguments: tuple, extended: Any) -> Any:
    """Run a program in all replicas, where all workers are ready for the same one."""
    cluster, refused, prepared = extended.cluster, None, None
    try:
        prepared = replicas.prepare(*arguments)
    except NotTracedOnceError as error:
        if cluster is None:
            raise
        refused = error
    if cluster is not None:
        own = "in turn" if prepared is None else prepared.version.executable.digest
        if not cluster.meet_to_run(replicas.name, own) and refused is None:
            refused = NotTracedOnceError("other workers have batches of other sizes")
    if refused is not None or prepared is None:
        raise refused or AssertionError
    return replicas.run(prepared, mesh)
