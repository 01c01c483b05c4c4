"""tf.map_fn and tf.vectorized_map over extension types: over the tensors that encode them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.core.spec import TypeSpec
from talweg.eager.extension import ExtensionType
from talweg.eager.extension_spec import ExtensionTypeSpec
from talweg.graph import structure
from talweg.pipeline.slices import encoder_of


def has_extensions(*nests: object) -> bool:
    """Return whether there are extension types, or their specs, in nests."""
    kinds = (ExtensionType, ExtensionTypeSpec)
    return any(isinstance(leaf, kinds) for nest in nests for leaf in structure.flatten(nest))


def map_separately(
    apply: Callable[[Callable[[Any], Any], Any, Any], Any],
    fn: Callable[..., Any],
    elems: object,
    signature: object,
) -> Any:
    """Call `apply(fn, elems, signature)` so that it is shown tensors only.

    Values of extension types are lists of their encoding there; the result of `fn` is taken
    apart, and that of `apply` put together, as fn's first result was.
    """
    rows = structure.map_leaves(_row_spec, elems)
    results: list = []

    def on_parts(parts: object) -> Any:
        result = fn(_together(rows, parts))
        results.append(structure.map_leaves(_spec, result))
        return structure.map_leaves(lambda leaf: _apart(leaf, 0), result)

    told = None if signature is None else structure.map_leaves(_encoding, signature)
    mapped = apply(on_parts, structure.map_leaves(lambda leaf: _apart(leaf, 1), elems), told)
    shape = results[0] if results else structure.map_leaves(_spec, signature or elems)
    return _together(structure.map_leaves(_batch_spec, shape), mapped)


def _row_spec(leaf: object) -> Any:
    if not isinstance(leaf, ExtensionType):
        return None
    spec = leaf._type_spec
    return encoder_of(spec).unbatch(spec)


def _spec(leaf: object) -> Any:
    if isinstance(leaf, ExtensionTypeSpec):
        return leaf
    return leaf._type_spec if isinstance(leaf, ExtensionType) else None


def _batch_spec(spec: object) -> Any:
    return None if spec is None else encoder_of(spec).batch(spec, None)


def _encoding(kind: object) -> Any:
    """List the specs of the tensors that encode results of a kind."""
    if isinstance(kind, ExtensionType):
        kind = kind._type_spec
    if not isinstance(kind, ExtensionTypeSpec):
        return kind
    specs: list[TypeSpec] = encoder_of(kind).encoding_specs(kind)
    return specs


def _apart(leaf: object, minimum_rank: int) -> Any:
    if not isinstance(leaf, ExtensionType):
        return leaf
    spec = leaf._type_spec
    return encoder_of(spec).encode(spec, leaf, minimum_rank)


def _together(specs: Any, parts: Any) -> Any:
    """Return a nest
    whose extension types are put together from lists, by a nest with their specs.
    """
    if specs is None:
        return parts
    if isinstance(specs, ExtensionTypeSpec):
        return encoder_of(specs).decode(specs, list(parts))
    if not structure.is_nested(specs):
        return parts
    pairs = zip(structure.children(specs), structure.children(parts))
    return structure.rebuild(specs, [_together(spec, part) for spec, part in pairs])
