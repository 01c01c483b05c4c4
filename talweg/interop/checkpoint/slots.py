"""Slot variables in checkpoints: what an optimizer keeps beside a variable (momentum and such).

No object has a slot variable as its child: it belongs to an optimizer and a variable together, and
is saved if both are.  Optimizers of `tf.compat.v1.train` and of Keras 2 have them; they give
(`get_slot_names`, `get_slot`) and make (`_create_or_restore_slot_variable`) them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talweg.core.shapes import TensorShape
from talweg.core.tracking import Trackable
from talweg.eager.convert import convert_to_tensor
from talweg.interop.checkpoint.object_graph import VALUE, SavedSlot
from talweg.interop.checkpoint.object_walk import Survey, variable_in

if TYPE_CHECKING:
    from talweg.interop.checkpoint.restoring import Restoration

_restores = itertools.count(1)


def has_slots(obj: object) -> bool:
    """Return whether an object is an optimizer that may have slot variables."""
    kind = type(obj)
    return isinstance(obj, Trackable) and all(
        hasattr(kind, name)
        for name in ("get_slot", "get_slot_names", "_create_or_restore_slot_variable")
    )


def add_slot_variables(reached: Survey) -> Survey:
    """Add the slot variables of a survey's optimizers for its variables."""
    owners = [(n, obj) for n, obj in enumerate(reached.objects) if has_slots(obj)]
    if not owners:
        return reached
    known = {id(obj) for obj in reached.objects}
    variables = [(n, obj) for n, obj in enumerate(reached.objects) if variable_in(obj) is not None]
    for owner, optimizer in owners:
        for name in optimizer.get_slot_names():
            for original, variable in variables:
                try:
                    slot = optimizer.get_slot(variable, name)
                except (AttributeError, KeyError):  # no variable of this optimizer
                    continue
                if slot is not None and id(slot) not in known:
                    known.add(id(slot))
                    saved = SavedSlot(name, original, len(reached.objects))
                    reached.add_slot(owner, saved, slot)
    return reached


@dataclass
class SlotPosition:
    """A saved slot variable, as optimizers ask for it (TensorFlow's `CheckpointPosition`)."""

    restoration: Restoration
    number: int

    def __post_init__(self) -> None:
        self.restore_uid = next(_restores)

    @property
    def _key(self) -> str:
        attributes = self.restoration.nodes[self.number].attributes
        return next(each.key for each in attributes if each.name == VALUE)

    def is_simple_variable(self) -> bool:
        """Return whether it has a value and nothing else."""
        node = self.restoration.nodes[self.number]
        return [each.name for each in node.attributes] == [VALUE] and not node.children

    def value(self) -> Any:
        """Return its saved value."""
        return convert_to_tensor(self.restoration.bundle.read(self._key))

    def value_shape(self) -> TensorShape:
        """Return the shape of its saved value."""
        return TensorShape(self.restoration.bundle.entry(self._key).dims)

    def restore(self, trackable: object) -> None:
        """Give a slot variable that was made later its value."""
        self.restoration.bind(self.number, trackable)
