"""Parameters and results of the functions of a saved model: specs, defaults, structures."""

from __future__ import annotations

import inspect
from typing import Any

from talweg.core.errors import value_error
from talweg.core.spec import TensorSpec
from talweg.core.value import Tensor
from talweg.eager.variable import Variable
from talweg.graph import structure
from talweg.interop.saved_model.structured_values import encode_value, read
from talweg.trace.concrete import ConcreteFunction
from talweg.trace.signature import ArgumentPlace, Container

# Of the message NamedTupleValue: the fields of the Python standard library's inspect.FullArgSpec.
_FIELDS = ("args", "varargs", "varkw", "defaults", "kwonlyargs", "kwonlydefaults", "annotations")


def input_signature(trace: ConcreteFunction) -> tuple:
    """Return the (positional, keyword) arguments a trace is for: specs, and Python values as they
    are.

    ValueError for variables among them, which have no form here.
    """
    args, kwargs = _specs(trace._tree, trace.specs)
    return tuple(args), dict(kwargs)


def _specs(tree: Any, specs: list[TensorSpec]) -> Any:
    if type(tree) is ArgumentPlace:
        return specs[tree.number]
    if type(tree) is not Container:
        if isinstance(tree, (Variable, Tensor)):
            raise value_error("TW509", f"{tree!r} is an argument of a trace")
        return tree
    if hasattr(tree.like, "part_specs"):
        return tree.like
    if structure.kind_of(tree.like) == structure.COMPOSITE:
        return tree.like._type_spec
    return structure.rebuild(tree.like, [_specs(child, specs) for child in tree.children])


def output_signature(trace: ConcreteFunction) -> Any:
    """Return the results of a trace, with specs in place of tensors."""
    return structure.map_leaves(_spec_of, trace.structured_outputs)


def _spec_of(value: object) -> Any:
    if hasattr(value, "_type_spec") and not hasattr(value, "handle_read"):
        return value._type_spec
    return TensorSpec(value.shape, value.dtype) if hasattr(value, "dtype") else value


def function_spec(message: Any, signature: inspect.Signature | None, specs: Any) -> None:
    """Write the parameters of a function, and the specs of its input signature."""
    kinds: dict[Any, list] = {kind: [] for kind in inspect._ParameterKind}
    for parameter in () if signature is None else signature.parameters.values():
        kinds[parameter.kind].append(parameter)
    P = inspect.Parameter
    positional = [*kinds[P.POSITIONAL_ONLY], *kinds[P.POSITIONAL_OR_KEYWORD]]
    defaults = [p.default for p in positional if p.default is not P.empty]
    named = {p.name: p.default for p in kinds[P.KEYWORD_ONLY] if p.default is not P.empty}
    values = (
        [p.name for p in positional],
        next((p.name for p in kinds[P.VAR_POSITIONAL]), None),
        next((p.name for p in kinds[P.VAR_KEYWORD]), None),
        tuple([_plain(x) for x in defaults]) if defaults else None,
        [p.name for p in kinds[P.KEYWORD_ONLY]],
        {name: _plain(value) for name, value in named.items()} or None,
        {},
    )
    parameters = message.fullargspec.named_tuple_value
    parameters.name = "FullArgSpec"
    for name, value in zip(_FIELDS, values):
        pair = parameters.values.add()
        pair.key = name
        pair.value.CopyFrom(encode_value(value))
    message.input_signature.CopyFrom(encode_value(None if specs is None else tuple(specs)))


def _plain(value: object) -> Any:
    """Return a default, or None where it has no form in a message."""
    try:
        encode_value(value)
    except ValueError:
        return None
    return value


def signature_of(message: Any) -> inspect.Signature | None:
    """Return the parameters of a saved function; None if they are not known."""
    if message.fullargspec.WhichOneof("kind") is None:
        return None
    pairs = {pair.key: read(pair.value) for pair in message.fullargspec.named_tuple_value.values}
    names = list(pairs.get("args") or ())
    if message.is_method and names:
        names = names[1:]
    defaults = list(pairs.get("defaults") or ())
    first = len(names) - len(defaults)
    P = inspect.Parameter
    parameters = [
        P(
            name,
            P.POSITIONAL_OR_KEYWORD,
            default=defaults[number - first] if number >= first else P.empty,
        )
        for number, name in enumerate(names)
    ]
    if pairs.get("varargs"):
        parameters.append(P(pairs["varargs"], P.VAR_POSITIONAL))
    named = pairs.get("kwonlydefaults") or {}
    parameters += [
        P(name, P.KEYWORD_ONLY, default=named.get(name, P.empty))
        for name in pairs.get("kwonlyargs") or ()
    ]
    if pairs.get("varkw"):
        parameters.append(P(pairs["varkw"], P.VAR_KEYWORD))
    return inspect.Signature(parameters)
