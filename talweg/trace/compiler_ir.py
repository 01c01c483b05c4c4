"""Texts of a trace's compilation stages (`Function.experimental_get_compiler_ir`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from talweg.core import settings
from talweg.core.errors import value_error
from talweg.eager.resident import nearest
from talweg.eager.structured import STATE
from talweg.eager.tensor import EagerTensor
from talweg.execute import backends
from talweg.passes.functionalize import program_of
from talweg.trace.concrete import ConcreteFunction

STAGES = {
    "hlo": "static-0.txt",
    "optimized_hlo": "loops.txt",
    "fusion": "nests.txt",
    "llvm": "llvm.ll",
    "assembly": "assembly.s",
}  # the first two have the names they have in TensorFlow
SERIALIZED = "hlo_serialized"  # the module that XLA takes, as a message: needs JAX
XLA_STAGES = {"hlo": "hlo.txt", "optimized_hlo": "optimized_hlo.txt"}


def compiler_ir(concrete: ConcreteFunction, given: list) -> Callable[..., Any]:
    """Make a function that gives a stage's text for tensors or specs; nothing is run."""
    for value, spec in zip(given, concrete.specs):
        if not value.shape.is_fully_defined():
            raise value_error(
                "TW205",
                f"{concrete.name}: the argument {spec.name!r} has shape {value.shape}",
                "known sizes: code is compiled for them",
            )
    through_xla = settings.executor.get() == "xla"
    program = program_of(concrete.body)
    arrays = [_array_like(value, through_xla) for value in given]
    outside = [_array_like(value, through_xla) for value in concrete.captures_now()]
    stages = XLA_STAGES if through_xla else STAGES
    texts = backends.stages_of(program, [*arrays, *outside], STATE)

    def text_of(stage: str = "hlo", platform_name: str | None = None) -> str | bytes:
        """Return the text of one stage, bytes if it is serialized."""
        if platform_name not in (None, "CPU"):
            raise value_error("TW207", f"get_compiler_ir: platform_name={platform_name!r}", "'CPU'")
        if stage == SERIALIZED:
            return backends.serialize_hlo(program, [*arrays, *outside], STATE)
        if stage not in stages:
            known = ", ".join([*stages, SERIALIZED])
            raise value_error("TW207", f"get_compiler_ir: stage={stage!r}", f"one of {known}")
        return texts[stages[stage]]

    return text_of


def _array_like(value: Any, through_xla: bool) -> Any:
    """Return the tensor's array, a device's if there is one; for a spec a stub without memory."""
    near = through_xla and type(value) is EagerTensor
    array = nearest(value) if near else getattr(value, "_array", None)
    if array is None:
        array = np.broadcast_to(np.zeros((), value.dtype.as_numpy_dtype), value.shape.as_list())
    return array
