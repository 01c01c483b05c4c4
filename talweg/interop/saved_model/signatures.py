"""Signatures: functions of named tensors that give named tensors, for servers that know no Python.

Each is a small function around one of the user's: it takes keyword arguments only and returns a
dictionary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from talweg.core.errors import value_error
from talweg.core.spec import TensorSpec
from talweg.core.tracking import AutoTrackable
from talweg.core.value import Tensor
from talweg.interop.saved_model.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from talweg.trace.concrete import ConcreteFunction
from talweg.trace.function import Function
from talweg.trace.methods import BoundFunction

RESERVED = ("__saved_model_train_op", "__saved_model_init_op")
DEFAULT_ATTRIBUTE = "_default_save_signature"


class SignatureMap(Mapping, AutoTrackable):
    """The signatures of a saved model, by name."""

    def __init__(self, functions: dict[str, Any]):
        self.functions = functions  # concrete functions, or what has one as `trace`

    def __getitem__(self, name: str) -> ConcreteFunction:
        found = self.functions[name]
        return getattr(found, "trace", found) if not isinstance(found, ConcreteFunction) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __repr__(self) -> str:
        return f"_SignatureMap({dict(self)})"


def default_signature(functions: dict[str, Any]) -> Any:
    """Return the function
    that is the signature if the user names none; None if there is no such.
    """
    found = functions.get(DEFAULT_ATTRIBUTE)
    if found is not None:
        return found
    known = []
    for function in functions.values():
        if isinstance(function, Function) and function.input_signature is not None:
            function = function.get_concrete_function()
        if isinstance(function, ConcreteFunction) and _can_be_signature(function):
            known.append(function)
    return known[0] if len(known) == 1 else None


def _can_be_signature(concrete: ConcreteFunction) -> bool:
    """Return whether a function has results, and all its parameters and results have names."""
    if not concrete.outputs:
        return False
    try:
        _name_results(concrete.structured_outputs, concrete.name)
        _check_names(concrete)
    except ValueError:
        return False
    return True


def canonical(signatures: object) -> dict[str, ConcreteFunction]:
    """Convert signatures given by the user to functions of keywords that return dictionaries.

    ValueError for what is no function with known arguments.
    """
    if signatures is None:
        return {}
    if not isinstance(signatures, Mapping):
        signatures = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures}
    concretes: dict[str, ConcreteFunction] = {}
    made: dict[int, ConcreteFunction] = {}
    for name, function in signatures.items():
        if name in RESERVED:
            raise value_error("TW509", f"Signature key {name!r} is reserved, choose another one")
        concrete = _concrete(function, name)
        if id(concrete) not in made:
            made[id(concrete)] = _wrap_signature(concrete)
        concretes[name] = made[id(concrete)]
    return concretes


def _concrete(function: object, name: str) -> ConcreteFunction:
    if isinstance(function, BoundFunction):
        function = function.__wrapped__
    if isinstance(function, Function):
        if function.input_signature is None:
            raise value_error(
                "TW509",
                "Expected a TensorFlow function for which to generate a signature, but "
                f"got {function}, whose arguments are not known",
                hint=f"signatures={{{name!r}: f.get_concrete_function(tf.TensorSpec(...))}}, or "
                "tf.function(input_signature=...)",
            )
        return function.get_concrete_function()
    if not isinstance(function, ConcreteFunction):
        raise value_error(
            "TW509",
            "Expected a TensorFlow function for which to generate a signature, but got "
            f"{function}. Only `tf.functions` with an input signature or concrete functions can "
            "be used as a signature.",
        )
    return function


def _wrap_signature(concrete: ConcreteFunction) -> ConcreteFunction:
    """Return the function as a signature: keywords in, a dictionary out."""
    names = _check_names(concrete)

    def signature_wrapper(**arguments: object) -> dict[str, Any]:
        results = concrete.call_flat([arguments[name] for name in names])
        return _name_results(results, concrete.name)

    wrapper = Function(
        signature_wrapper, name=f"signature_wrapper_{concrete.name}", autograph=False
    )
    specs = {
        name: TensorSpec(spec.shape, spec.dtype, name) for name, spec in zip(names, concrete.specs)
    }
    return wrapper.get_concrete_function(**specs)


def _check_names(concrete: ConcreteFunction) -> list[str]:
    """Return the names of the arguments; ValueError if two are alike."""
    names = [re.sub(r"\W", "_", name) for name in concrete._argument_names]
    if len(set(names)) < len(names):
        raise value_error(
            "TW509",
            f"Got non-flat/non-unique argument names for SavedModel signature "
            f"'{concrete.name}': {names}",
        )
    return concrete._argument_names


def _name_results(results: object, name: str) -> dict[str, Any]:
    """Name the results: `output_0`, ... where they have no names."""
    if isinstance(results, Mapping):
        for key, value in results.items():
            if not isinstance(key, str):
                raise value_error(
                    "TW509",
                    f"Got a dictionary with a non-string key {key!r} in the output of the "
                    f"function {name} used to generate the SavedModel signature",
                )
            if not isinstance(value, Tensor):
                raise _not_flat(value, f"for key '{key}'", name)
        return dict(results)
    parts = list(results) if isinstance(results, (list, tuple)) else [results]
    if parts == [None]:
        return {}
    for number, value in enumerate(parts):
        if not isinstance(value, Tensor):
            raise _not_flat(value, f"for key 'output_{number}'", name)
    return {f"output_{number}": value for number, value in enumerate(parts)}


def _not_flat(value: object, where: str, name: str) -> ValueError:
    return value_error(
        "TW509",
        f"Got a non-Tensor value {value!r} {where} in the output of the function {name} "
        "used to generate the SavedModel signature",
        "a tensor, a list or dictionary of tensors",
    )
