"""Input signatures of traced functions: validation, and conversion of arguments."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from talweg.core.errors import type_error
from talweg.core.spec import TensorSpec, TypeSpec
from talweg.eager.convert import convert_to_tensor, is_tensor_like
from talweg.graph import structure
from talweg.trace.signature import dims_of, is_tensor_key

if TYPE_CHECKING:
    from collections.abc import Callable


def check_signature(signature: list[Any] | None, function: Callable[..., Any]) -> Any:
    """Return an input signature as a tuple; TypeError or ValueError if it is ill-formed."""
    if signature is None:
        return None
    if not isinstance(signature, (tuple, list)):
        raise type_error(
            "TW104", f"input_signature must be either a tuple or a list, got {type(signature)}"
        )
    for leaf in structure.flatten(list(signature)):
        if not isinstance(leaf, TypeSpec):
            raise type_error(
                "TW104",
                f"input_signature must be a possibly nested sequence of TensorSpec "
                f"objects, got {leaf!r}",
            )
    inner_signature = function._signature
    if inner_signature is not None:
        takes = [
            p
            for p in inner_signature.parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        if takes and takes[0].name == "self" and not inspect.ismethod(function._python_function):
            takes = takes[1:]  # a method, decorated in its class
        many = any(p.kind is p.VAR_POSITIONAL for p in inner_signature.parameters.values())
        if len(signature) > len(takes) and not many:
            raise type_error(
                "TW104",
                f"input_signature has {len(signature)} entries, {function.name} takes {len(takes)}",
            )
        missing = [p.name for p in takes[len(signature) :] if p.default is p.empty]
        if missing:
            raise type_error(
                "TW104",
                f"input_signature leaves out the arguments {missing} of {function.name}, "
                "which have no default",
            )
    return tuple(signature)


def fit_argument(spec: TypeSpec, value: object, name: str) -> Any:
    """Convert an argument to its spec; TypeError if it does not fit."""
    if isinstance(spec, TensorSpec):
        if isinstance(value, TensorSpec):
            fits = spec.is_compatible_with(value)
            converted = value
        else:
            try:
                is_tensor = is_tensor_like(value)
                converted = convert_to_tensor(value, None if is_tensor else spec.dtype)
            except (TypeError, ValueError):
                raise _unfit(spec, value, name) from None
            fits = converted.dtype is spec.dtype and _fits_dims(spec, converted)
        if not fits:
            raise _unfit(spec, value, name)
        return converted
    if isinstance(spec, TypeSpec):
        if not (isinstance(value, TypeSpec) or spec.is_compatible_with(value)):
            raise _unfit(spec, value, name)
        fit = getattr(spec, "fit_shape", None)
        return value if fit is None or isinstance(value, TypeSpec) else fit(value)
    try:
        structure.assert_same(spec, value, check_types=False)
    except (TypeError, ValueError):
        raise _unfit(spec, value, name) from None
    parts = [
        fit_argument(s, v, name)
        for s, v in zip(structure.children(spec), structure.children(value))
    ]
    return structure.rebuild(value, parts)


def _fits_dims(spec: TensorSpec, value: object) -> bool:
    dims = dims_of(value)
    if dims is None or spec.shape.rank is None:
        return spec.shape.rank is None
    wanted = spec.shape.as_list()
    return len(wanted) == len(dims) and all(a is None or a == b for a, b in zip(wanted, dims))


def _unfit(spec: object, value: object, name: str) -> Exception:
    return type_error(
        "TW104", f"Binding inputs to tf.function failed: {name} got {value!r}", f"{spec!r}"
    )


def signature_key(signature: tuple, key: Any) -> Any:
    """Return the one key of a function with an input signature, from that of a call."""
    flat = structure.flatten(list(signature), composites=True)
    return _with_specs(
        key, iter([s for s in flat if isinstance(s, TensorSpec) or hasattr(s, "part_specs")])
    )


def _with_specs(key: tuple[Any, ...], specs: Any) -> Any:
    """Return a key whose tensors are those of an input signature, as far as it goes."""
    if is_tensor_key(key):
        spec = next(specs, None)
        if spec is None:
            return key
        shape = spec.shape
        return (spec.dtype, None if shape.rank is None else shape.as_tuple())
    if type(key) is tuple and len(key) == 3 and type(key[2]) is tuple:
        shape, parts = key[1], specs
        if hasattr(key[0], "_flat_components"):
            spec = next(specs, None)
            if not hasattr(spec, "part_specs"):
                return key
            shape = getattr(spec, "trace_key", None) or getattr(spec, "shape", None)
            parts = iter(spec.part_specs())
        return (key[0], shape, tuple([_with_specs(part, parts) for part in key[2]]))
    return key
