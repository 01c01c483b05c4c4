"""ExtensionType: a user's class of values that consist of tensors, made like a dataclass.

A value is immutable, and goes where tensors go: through nests, traced functions, branches and
loops, datasets and Keras, as its tensors, with its Python fields part of what a trace is for.
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from talweg.core.errors import compose, type_error, value_error
from talweg.eager.composite import no_conversion
from talweg.eager.convert import CONVERTERS, convert_to_tensor
from talweg.eager.extension_fields import NOTHING, ExtensionField, check_annotation
from talweg.eager.extension_spec import (
    BUILDING,
    ExtensionTypeSpec,
    FieldsOnly,
    leaves_of,
    with_leaves,
)
from talweg.prims import arithmetic, reduce

if TYPE_CHECKING:
    from talweg.core.spec import TypeSpec

REGISTERED: dict[str, Any] = {}  # how files call specs: `__name__` of a type's body, and ".Spec"


class ExtensionType(FieldsOnly):
    """The base of the user's own types (`tf.experimental.ExtensionType`).

    Annotations are the fields: tf.Tensor, composites, other extension types, tf.TensorShape,
    tf.DType, int, float, str, bytes, bool, None, and Tuple, Mapping, Union of these; with
    defaults, where they have some.  The constructor takes the fields, converts and checks them
    (TypeError), and calls `__validate__`.  `Type.Spec` is the class of its specs.

    >>> import talweg as tf
    >>> class Masked(tf.experimental.ExtensionType):
    ...     values: tf.Tensor
    ...     kept: tf.Tensor
    ...     def total(self):
    ...         return tf.reduce_sum(tf.where(self.kept, self.values, 0.0))
    >>> masked = Masked([1.0, 2.0], [True, False])
    >>> float(tf.function(lambda x: x.total())(masked))
    1.0
    """

    Spec: Any

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if cls.__dict__.get("_is_base"):
            return
        cls.extension_fields = _fields_of(cls, sys._getframe(1).f_locals)
        signature = _signature_of(cls)
        own = cls.__dict__.get("__init__")
        made = _run_own_constructor(own) if own is not None else _make_constructor(signature)
        cls.__init__ = made  # type: ignore[method-assign]
        if own is None:
            cls.__signature__ = signature  # type: ignore[attr-defined]
        cls.Spec = _spec_class(cls, signature)
        if "__name__" in cls.__dict__:
            _register(cls.__dict__["__name__"], cls.Spec)

    if TYPE_CHECKING:  # each type gets a constructor of its own

        def __init__(self, *args: object, **kwargs: object) -> None: ...

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        if "_is_base" in cls.__dict__ or cls is ExtensionType:
            raise AssertionError(
                f"Cannot create an instance of {cls.__name__} because {cls.__name__} is an "
                "abstract base class."
            )
        return object.__new__(cls)

    def __validate__(self) -> None:
        """Raise an error unless the fields fit each other; for subclasses."""

    @property
    def _type_spec(self) -> Any:
        found = self.__dict__.get("_spec")
        if found is None:
            found = self.__dict__["_spec"] = self.Spec.from_value(self)
        return found

    # -- as a nest

    @property
    def trace_key(self) -> tuple:
        """Return the key that calls of traced functions with this value share, without tensors."""
        return self._type_spec.trace_key

    def _flat_components(self) -> list:
        return [part for leaf in leaves_of(self) for part in _components(leaf)]

    def _with_components(self, parts: list) -> Any:
        remaining = iter(parts)
        leaves = []
        for leaf in leaves_of(self):
            own = [next(remaining) for _ in _components(leaf)]
            composite = hasattr(leaf, "_with_components")
            leaves.append(leaf._with_components(own) if composite else own[0])
        return with_leaves(self, iter(leaves))

    # -- comparison

    def __eq__(self, other: object) -> Any:
        if type(self) is not type(other) or self._type_spec != other._type_spec:
            return False
        pairs = zip(self._flat_components(), other._flat_components())
        found: Any = convert_to_tensor(True)
        for one, two in pairs:
            same = arithmetic.equal(one, two)
            axes = tuple(range(len(same.dims)))
            found = arithmetic.logical_and(
                found, reduce.reduce_all(same, axes=axes, keepdims=False)
            )
        return found

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return not equal if isinstance(equal, bool) else arithmetic.logical_not(equal)

    __hash__ = None  # type: ignore[assignment]


def _components(leaf: TypeSpec) -> list:
    return leaf._flat_components() if hasattr(leaf, "_flat_components") else [leaf]


CONVERTERS.append((ExtensionType, no_conversion))


# -- making a type


def _fields_of(cls: Any, local: dict) -> dict[str, ExtensionField]:
    """Return the fields of a type, those of its bases first;
    errors for names and types there are not.
    """
    fields: dict[str, ExtensionField] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(base.__dict__.get("extension_fields", ()))
    annotations = inspect.get_annotations(cls)
    if "Spec" in annotations:
        raise value_error(
            "TW104",
            f"The field annotations for {cls.__name__} are invalid. Field 'Spec' is reserved.",
        )
    hints = _hints(cls, annotations, local)
    for name in annotations:
        check_annotation(hints[name], name)
        field = fields[name] = ExtensionField(name, hints[name], cls.__dict__.get(name, NOTHING))
        if field.default is not NOTHING:
            field.value(field.default, f"default value for {name}")
    return fields


def _hints(cls: Any, annotations: dict, local: dict) -> dict:
    """Return annotations with the classes that text in them names,
    as far as they are there by now.
    """
    found = {}
    space = {**vars(sys.modules.get(cls.__module__, typing)), **local, cls.__name__: cls}
    for name, annotation in annotations.items():
        holder = type("holder", (), {"__annotations__": {name: annotation}})
        try:
            found.update(typing.get_type_hints(holder, space))
        except NameError:
            found[name] = annotation
    return found


def _signature_of(cls: Any) -> inspect.Signature:
    """Return the constructor's arguments; what follows a field with a default is given by name."""
    parameters, kind, defaulted = [], inspect.Parameter.POSITIONAL_OR_KEYWORD, False
    for field in cls.extension_fields.values():
        if defaulted and field.default is NOTHING:
            kind = inspect.Parameter.KEYWORD_ONLY
        defaulted = defaulted or field.default is not NOTHING
        parameters.append(
            inspect.Parameter(field.name, kind, default=field.default, annotation=field.annotation)
        )
    return inspect.Signature(parameters, return_annotation=cls)


def _make_constructor(signature: inspect.Signature) -> Callable[..., None]:
    """Return a constructor that takes the fields."""

    def init(self: Any, *args: object, **kwargs: object) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        self.__dict__.update(bound.arguments)
        _finish(self)

    init.__name__ = "__init__"
    return init


def _run_own_constructor(init: Callable[..., None]) -> Callable[..., None]:
    """Return the user's constructor, in which fields may be set; afterwards they are converted."""

    @functools.wraps(init)
    def build(self: Any, *args: object, **kwargs: object) -> None:
        if BUILDING in self.__dict__:  # the constructor of a subclass calls that of its base
            init(self, *args, **kwargs)
            return
        self.__dict__[BUILDING] = True
        try:
            init(self, *args, **kwargs)
        finally:
            del self.__dict__[BUILDING]
        _finish(self)

    return build


def _finish(made: Any) -> None:
    """Convert the fields of a value or spec, and have it checked."""
    fields = made.extension_fields
    missing = {name for name in fields if name not in made.__dict__}
    if missing:
        raise ValueError(compose("TW104", f"Missing required fields: {missing}"))
    is_spec = isinstance(made, ExtensionTypeSpec)
    for name, field in fields.items():
        given = made.__dict__[name]
        made.__dict__[name] = field.spec(given) if is_spec else field.value(given)
    if not is_spec:
        made.__validate__()


def _spec_class(cls: Any, signature: inspect.Signature) -> type:
    """Return the class of specs of a type; a class `Spec` in its body adds to it."""
    own = cls.__dict__.get("Spec")
    space = {} if own is None else {k: v for k, v in vars(own).items() if k not in _MADE}
    init = space.get("__init__")
    parameters = [
        parameter.replace(annotation=NOTHING, default=NOTHING, kind=parameter.POSITIONAL_OR_KEYWORD)
        for parameter in signature.parameters.values()
    ]
    plain = signature.replace(parameters=parameters)
    made = _make_constructor(plain) if init is None else _run_own_constructor(init)
    space.update(
        __init__=made,
        __module__=cls.__module__,
        __qualname__=f"{cls.__qualname__}.Spec",
        extension_fields=cls.extension_fields,
        value_type=cls,
    )
    spec = type(f"{cls.__name__}.Spec", (ExtensionTypeSpec,), space)
    if init is None:
        spec.__signature__ = plain.replace(return_annotation=spec)  # type: ignore[attr-defined]
    return spec


def _register(name: str, spec: Any) -> None:
    """Give a class of specs the name by which files mention it; ValueError if another has it."""
    if not isinstance(name, str):
        raise type_error("TW104", f"__name__ of an extension type is {name!r}", "text")
    known = REGISTERED.setdefault(f"{name}.Spec", spec)
    place = spec.__module__, spec.__qualname__
    if (known.__module__, known.__qualname__) != place:
        raise value_error(
            "TW104",
            f"Name {name}.Spec has already been registered for class "
            f"{known.__module__}.{known.__qualname__}.",
            "a name of its own",
        )
    REGISTERED[f"{name}.Spec"] = spec  # the cell of a notebook that ran again


_MADE = frozenset(("__dict__", "__weakref__", "__module__", "__qualname__"))
