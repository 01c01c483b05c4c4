"""Variables of several replicas: a part for each, which are written together or read together.

A `MirroredVariable` has the same value everywhere: a write in a replica is combined with those of
the others (`aggregation`), or stays there if it says `NONE`.  A `SyncOnReadVariable` is written by
each replica alone, and combined when code outside of replicas reads it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.core import dispatch, locking
from talweg.core.errors import value_error
from talweg.core.shapes import TensorShape
from talweg.eager.placed import PlacedVariable
from talweg.eager.replica_contexts import contexts
from talweg.eager.replicated import DistributedValues, part_of, place
from talweg.eager.variable import Variable, VariableAggregation, VariableSynchronization
from talweg.strategies.contexts import ReduceOp
from talweg.strategies.crossing import of_first
from talweg.strategies.local_values import first_of
from talweg.strategies.reduction import reduce_leaf, reduce_together
from talweg.trace.host_calls import Outside

if TYPE_CHECKING:
    from talweg.core.annotations import ShapeLike
    from talweg.eager.replicated import PerReplica
    from talweg.strategies.mirrored import MirroredStrategy

CHANGES = (
    "assign",
    "assign_add",
    "assign_sub",
    "scatter_add",
    "scatter_sub",
    "scatter_update",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_div",
    "batch_scatter_update",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_nd_max",
    "scatter_nd_min",
)


class ReplicaPart(PlacedVariable):
    """The part of a variable that one replica sees."""

    container: Any = None  # a weak reference to the variable of all replicas

    def _distributed_container(self) -> Any:
        found = None if self.container is None else self.container()
        return self if found is None else found

    def __deepcopy__(self, memo: dict) -> Variable:
        copy = super().__deepcopy__(memo)
        copy._name = self._name
        return copy


class DistributedVariable(DistributedValues, Variable):
    """A variable with a part for each replica: `values`."""

    written_together = True

    def __init__(self, *args: object, **kwargs: object):
        """Do nothing: `of` made it."""

    @classmethod
    def of(cls, strategy: Any, parts: list, synchronization: Any) -> Any:
        """Return the variable that has these parts."""
        found = object.__new__(cls)
        found.values, found.distribute_strategy = tuple(parts), strategy
        found._synchronization, found._aggregation = synchronization, parts[0]._aggregation
        for part in parts:
            part.container = weakref.ref(found)
        return found

    # -- which part

    @property
    def _primary(self) -> Any:
        return self.values[0]

    @property
    def _devices(self) -> tuple:
        return tuple([part.device for part in self.values])

    def _own(self) -> Any:
        """Return the part that the present code sees:
        the first one where code runs for all replicas.
        """
        return self.values[place.index or 0]

    def _parts(self) -> tuple:
        """Return the parts that code changes which runs once for all replicas."""
        return self.values[:1] if place.traced else self.values

    _tensor = property(lambda self: self._own()._tensor)
    _dtype = property(lambda self: self.values[0]._dtype)  # type: ignore[assignment]
    _shape = property(lambda self: self.values[0]._shape)
    _name = property(lambda self: self.values[0]._name)
    _trainable = property(lambda self: self.values[0]._trainable)
    _constraint = property(lambda self: self.values[0]._constraint)
    number = property(lambda self: self.values[0].number)  # type: ignore[assignment]
    _unique_id = property(lambda self: self.values[0]._unique_id)  # type: ignore[assignment]

    @property
    def handle(self) -> Any:
        return self._own().handle

    # tapes find what was read: the part, not what holds it
    _should_act_as_resource_variable = True

    @property
    def device(self) -> str:
        return self._own().device

    def set_shape(self, shape: ShapeLike) -> None:
        for part in self.values:
            part.set_shape(TensorShape(shape))

    # -- reading and writing

    def value(self) -> Any:
        return self._own().value()

    read_value = value

    def handle_read(self) -> Any:
        return self._own().handle_read()

    def change(self, method: str, value: object, args: tuple, kwargs: dict) -> Any:
        """Write by one of the methods of a part."""
        index = place.index
        if index is None:
            return self._change_all(method, value, args, kwargs)
        if place.updating or not self._meets():
            return getattr(self.values[index], method)(value, *args, **kwargs)
        return self._change_together(method, value, args, kwargs)

    def _meets(self) -> bool:
        """Return whether a write in a replica is combined with those of the others."""
        return False

    def _change_all(self, method: str, value: object, args: tuple, kwargs: dict) -> Any:
        parts = self._parts()
        with locking.holding(*parts):  # threads change the parts in one order
            for index, part in enumerate(parts):
                getattr(part, method)(part_of(index, value), *args, **kwargs)
        return self

    def _change_together(self, method: str, value: object, args: tuple, kwargs: dict) -> Any:
        """Combine the replicas' updates, and write the result everywhere; return it."""

        def merge(strategy: MirroredStrategy, given: PerReplica) -> None:
            cluster = None if place.traced else strategy.extended.cluster
            if self._aggregation == VariableAggregation.ONLY_FIRST_REPLICA:
                found = of_first(cluster, first_of(given))
            else:
                how = ReduceOp.from_variable_aggregation(self._aggregation)
                found = reduce_leaf(how, given, cluster)
            self._change_all(method, found, args, kwargs)

        context = look_up("distribute.get_replica_context")()
        context.merge_call(merge, (value,))
        return self._own().read_value()

    def __getitem__(self, key: int) -> Any:
        found = self._own()[key]
        if place.index is None and hasattr(found, "assign"):

            def assign(value: float, name: str | None = None) -> DistributedVariable:
                for part in self._parts():
                    part[key].assign(value, name)
                return self

            found.assign = assign
        return found

    # -- identity, copies

    def __deepcopy__(self, memo: dict) -> Any:
        parts = [part.__deepcopy__(memo) for part in self.values]
        copy = type(self).of(self.distribute_strategy, parts, self._synchronization)
        memo[id(self)] = copy
        return copy

    def __repr__(self) -> str:
        return self._text(repr)

    __str__ = __repr__


def _change(method: str) -> Callable[..., Any]:
    def change(self: DistributedVariable, value: Any, *args: object, **kwargs: object) -> Any:
        return self.change(method, value, args, kwargs)

    change.__name__ = method
    change.__doc__ = getattr(Variable, method).__doc__
    return change


for _method in CHANGES:
    setattr(DistributedVariable, _method, _change(_method))


class MirroredVariable(DistributedVariable):
    """A variable that is the same in all replicas."""

    def _meets(self) -> bool:
        return self._aggregation != VariableAggregation.NONE


class SyncOnReadVariable(DistributedVariable):
    """A variable that each replica writes alone, combined when it is read outside of replicas."""

    written_together = False

    @property
    def _tensor(self) -> Any:  # type: ignore[override]
        return self._own()._tensor if place.index is not None else self.value()

    def value(self) -> Any:
        if place.index is not None:
            return self._own().value()
        parts = [part.value() for part in self._parts()]
        if self._aggregation == VariableAggregation.ONLY_FIRST_REPLICA:
            return contexts.traced.first(parts[0]) if place.traced else parts[0]
        how = ReduceOp.from_variable_aggregation(self._aggregation)
        if place.traced:
            found = contexts.traced.all_reduce(how, parts[0])
        else:
            cluster = self.distribute_strategy.extended.cluster
            found = reduce_together(how, [parts], cluster)[0]
        return look_up("cast")(found, self._dtype)

    read_value = handle_read = value

    def _change_all(self, method: str, value: object, args: tuple, kwargs: dict) -> Any:
        sums = self._aggregation == VariableAggregation.SUM
        if sums and method != "assign":
            raise value_error(
                "TW401",
                f"SyncOnReadVariable does not support `{method}` in cross-replica context when "
                "aggregation is set to `tf.VariableAggregation.SUM`: nobody knows which replica "
                "it should change",
                "an assign, which shares the value out, or a change inside a replica",
            )
        if sums:
            tensor = look_up("convert_to_tensor")(value, self._dtype)
            count = self.distribute_strategy.num_replicas_in_sync
            value = look_up("cast")(tensor / count, self._dtype)
        return super()._change_all(method, value, args, kwargs)


def make_variable(strategy: Any, args: tuple, kwargs: dict) -> DistributedVariable:
    """Return the variable of a strategy: what `tf.Variable(...)` gives where that is in force."""
    given = dict(zip(_NAMES, args), **kwargs)
    synchronization = given.pop("synchronization", VariableSynchronization.AUTO)
    if synchronization == VariableSynchronization.NONE:
        raise value_error(
            "TW401",
            "`NONE` variable synchronization mode is not supported with tf.distribute strategy. "
            f"Please change the `synchronization` for variable: {given.get('name')}",
            "tf.VariableSynchronization.AUTO, ON_WRITE or ON_READ",
        )
    on_read = synchronization == VariableSynchronization.ON_READ
    if not on_read:
        synchronization = VariableSynchronization.ON_WRITE
    given["synchronization"] = synchronization
    parts: list = []
    for index, device in enumerate(strategy.extended.placements):
        before = dispatch.context.device
        dispatch.context.device = device
        try:
            parts.append(_part(index, part_of(index, given), parts))
            if index == 0:
                _let_agree(parts[0], strategy.extended.cluster)
        finally:
            dispatch.context.device = before
    kind = SyncOnReadVariable if on_read else MirroredVariable
    return kind.of(strategy, parts, synchronization)


def _let_agree(part: Any, cluster: Any) -> None:
    """Let a new variable begin with the first worker's value."""
    if cluster is None:
        return
    with Outside():
        part.assign(cluster.broadcast(part.handle_read()._array, f"{part.name} "))


_NAMES = (
    "initial_value",
    "trainable",
    "validate_shape",
    "caching_device",
    "name",
    "variable_def",
    "dtype",
    "import_scope",
    "constraint",
    "synchronization",
    "aggregation",
    "shape",
)


def _part(index: int, given: dict, before: list) -> ReplicaPart:
    if not index:
        return ReplicaPart(**given)  # type: ignore
    first = before[0]
    given["initial_value"] = first.handle_read()
    given["name"] = None
    part: Any = ReplicaPart(**given)
    part._name = f"{first._shared_name}/replica_{index}:0"
    return part


def local_results(value: Any, count: int) -> tuple:
    """Return the values of each replica, as a tuple; of a nest, the nests."""
    if isinstance(value, DistributedValues):
        return value.values
    nests = [part_of(index, value) for index in range(count)]
    return tuple(nests) if look_up("nest.is_nested")(value) else (value,)


def update_parts(
    strategy: Any, variable: Any, function: Callable, args: tuple, kwargs: dict
) -> list:
    """Call `function` for each part of a variable, once for all replicas."""
    from_elsewhere = not isinstance(variable, DistributedVariable)
    if from_elsewhere:
        raise value_error(
            "TW510",
            f"update: {variable!r} is no variable of {type(strategy).__name__}",
            "a variable made inside of strategy.scope()",
        )
    return [
        function(part, *part_of(i, args), **part_of(i, kwargs))
        for i, part in enumerate(variable._parts())
    ]
