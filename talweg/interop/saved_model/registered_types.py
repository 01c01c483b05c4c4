"""tf.__internal__.saved_model.load: classes that libraries want saved objects to become again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.api.export import export


@export("__internal__.saved_model.load.VersionedTypeRegistration")
class VersionedTypeRegistration:
    """Revives objects of one version of a class of their messages."""

    def __init__(
        self,
        object_factory: Callable[[Any], Any],
        version: int,
        min_producer_version: int,
        min_consumer_version: int,
        bad_consumers: Any = None,
        setter: Callable[[Any, str, Any], None] = setattr,
    ):
        self.setter, self.identifier = setter, ""
        self._factory, self.version = object_factory, version
        self._min_producer, self._min_consumer = min_producer_version, min_consumer_version
        self._bad_consumers = list(bad_consumers or ())

    def write(self, proto: Any) -> None:
        """Write the identifier and version into the message of an object."""
        proto.identifier = self.identifier
        proto.version.producer = self.version
        proto.version.min_consumer = self._min_consumer
        proto.version.bad_consumers.extend(self._bad_consumers)

    def should_load(self, proto: Any) -> bool:
        """Return whether a message is of a version that this one reads."""
        return (
            proto.identifier == self.identifier
            and self.version >= proto.version.min_consumer
            and proto.version.producer >= self._min_producer
            and self.version not in proto.version.bad_consumers
        )

    def from_proto(self, proto: Any) -> Any:
        """Return the object of a message."""
        return self._factory(proto)


_REGISTERED: dict[str, tuple[Callable[[Any], bool], list[VersionedTypeRegistration]]] = {}


@export("__internal__.saved_model.load.register_revived_type")
def register_revived_type(
    identifier: str, predicate: Callable[[Any], bool], versions: list
) -> None:
    """Say how objects for which `predicate` holds are saved and made again.

    AssertionError if the identifier is taken.
    """
    if identifier in _REGISTERED:
        raise AssertionError(f"Duplicate registrations for type '{identifier}'")
    ordered = sorted(versions, key=lambda registration: -registration.version)
    for registration in ordered:
        registration.identifier = identifier
    _REGISTERED[identifier] = (predicate, ordered)


@export("__internal__.saved_model.load.registered_identifiers")
def registered_identifiers() -> list[str]:
    """Return the identifiers of `register_revived_type`."""
    return list(_REGISTERED)


def registration_of(proto: Any) -> VersionedTypeRegistration | None:
    """Return the registration that reads a message; None if there is none."""
    _, versions = _REGISTERED.get(proto.identifier, (None, ()))
    return next((found for found in versions if found.should_load(proto)), None)


def registration_for(obj: object) -> VersionedTypeRegistration | None:
    """Return the registration that an object is written by; None if there is none."""
    for predicate, versions in _REGISTERED.values():
        if predicate(obj):
            return versions[0]
    return None


@export("__internal__.saved_model.load.get_setter")
def get_setter(proto: Any) -> Callable[[Any, str, Any], None] | None:
    """Find the function that sets the children of a message's object; None if it is not
    registered.
    """
    found = registration_of(proto)
    return None if found is None else found.setter
