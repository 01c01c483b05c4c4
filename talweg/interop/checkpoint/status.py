"""Status of `Checkpoint.restore`: assertions on the objects and values that it restored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talweg.core.tracking import Trackable, catch_up
from talweg.interop.checkpoint.object_walk import Survey, tensors_of, variable_in
from talweg.interop.checkpoint.restoring import Restoration

if TYPE_CHECKING:
    from talweg.compat_v1.sessions.session import Session
    from talweg.interop.checkpoint.checkpoint import Checkpoint

SHOWN = 10  # objects that a message names


class CheckpointLoadStatus:
    """Reports on a restore; each method gives the status back, so that they can be chained."""

    def __init__(self, checkpoint: Checkpoint, restoration: Restoration):
        self._checkpoint, self._restoration = checkpoint, restoration

    def assert_consumed(self) -> CheckpointLoadStatus:
        """Raise AssertionError unless all objects got values and all saved values were taken."""
        restoration = self._restoration
        self.assert_existing_objects_matched()
        for number, node in enumerate(restoration.nodes):
            if node.attributes and number not in restoration.objects:
                names = ", ".join([attribute.key for attribute in node.attributes])
                raise _failure(
                    f"Unresolved object in checkpoint {restoration.path(number)}: {names}"
                )
        left = restoration.find_unrestored()
        if left:
            lines = "".join(
                [
                    f"\n{restoration.path(number)}: {attribute.name}"
                    for number, attribute in left[:SHOWN]
                ]
            )
            raise _failure(
                "Unused attributes in these objects (the attributes exist in the checkpoint but "
                f"were not restored):{lines}"
            )
        return self

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Raise AssertionError unless all variables and other objects with state now got
        values.
        """
        catch_up()
        taken = {id(obj) for obj in self._restoration.objects.values()}
        left = [obj for obj in _stateful(self._checkpoint.survey()) if id(obj) not in taken]
        if left:
            raise _failure(
                f"Found {len(left)} Python objects that were not bound to checkpointed values, "
                "likely due to changes in the Python program. Showing "
                f"{min(SHOWN, len(left))} of {len(left)} unmatched objects: {left[:SHOWN]}"
            )
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """Raise AssertionError if nothing but the root was found in the checkpoint."""
        catch_up()
        if len(self._restoration.objects) <= 1:
            survey = self._checkpoint.survey()
            if len(survey.objects) > 1:
                raise _failure(
                    "Nothing except the root object matched a checkpointed value. Typically this "
                    "means that the checkpoint does not match the Python program. The following "
                    f"objects have no matching checkpointed value: {survey.objects[1:][:SHOWN]}"
                )
            raise _failure("Nothing to load. The checkpoint has no dependencies yet.")
        return self

    def expect_partial(self) -> CheckpointLoadStatus:
        """Say nothing about saved values that nothing takes."""
        self._restoration.quiet = True
        return self

    def initialize_or_restore(self, session: Session | None = None) -> CheckpointLoadStatus:
        """Restore variables of the graph in a session, and initialize those that were not
        saved.
        """
        if session is not None:
            taken = {id(variable_in(obj)) for obj in self._restoration.objects.values()}
            variables = [variable_in(obj) for obj in _stateful(self._checkpoint.survey())]
            session.run(
                [
                    v.initializer
                    for v in variables
                    if id(v) not in taken and hasattr(v, "initializer")
                ]
            )
        return self.run_restore_ops(session)

    def run_restore_ops(self, session: Session | None = None) -> CheckpointLoadStatus:
        """Restore variables of the graph in a session; else that was done."""
        if session is not None:
            self._restoration.run(session)
        return self


class InitializationOnlyStatus:
    """The status of restoring no checkpoint at all, so that programs can begin with that."""

    def __init__(self, checkpoint: Checkpoint):
        self._checkpoint = checkpoint

    def _none(self) -> InitializationOnlyStatus:
        raise _failure("No checkpoint specified (save_path=None); nothing is being restored.")

    def assert_consumed(self) -> InitializationOnlyStatus:
        """Raise AssertionError: no value was restored."""
        return self._none()

    def assert_existing_objects_matched(self) -> InitializationOnlyStatus:
        """Raise AssertionError: no value was restored."""
        return self._none()

    def assert_nontrivial_match(self) -> InitializationOnlyStatus:
        """Raise AssertionError: no value was restored."""
        return self._none()

    def run_restore_ops(self, session: Session | None = None) -> InitializationOnlyStatus:
        """Raise AssertionError: no value was restored."""
        return self._none()

    def expect_partial(self) -> InitializationOnlyStatus:
        """Return the status; nothing changes."""
        return self

    def initialize_or_restore(self, session: Session | None = None) -> InitializationOnlyStatus:
        """Initialize variables of the graph in a session."""
        if session is not None:
            found = [variable_in(obj) for obj in _stateful(self._checkpoint.survey())]
            session.run([v.initializer for v in found if hasattr(v, "initializer")])
        return self


def _stateful(survey: Survey) -> list:
    """Return the objects with values of their own."""
    return [
        obj
        for obj in survey.objects
        if variable_in(obj) is not None or (isinstance(obj, Trackable) and tensors_of(obj))
    ]


def _failure(text: str) -> AssertionError:
    return AssertionError(f"{text}  [TW507]")
