"""XlaCallModule: a module of StableHLO as an operation, which `jax2tf.convert` makes of JAX.

TensorFlow has no public name for it; it stands in SavedModels of JAX programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.errors import UnimplementedError, compose
from talweg.core.lazy import LazyModule
from talweg.core.shapes import as_shape
from talweg.eager import structured  # noqa: F401 -- carries out what is kept whole
from talweg.eager.tensor import array_of, wrap
from talweg.interop.graph_def.values import NodeCall, rule
from talweg.prims.opaque import whole
from talweg.trace.opaque_calls import Hole

if TYPE_CHECKING:
    from talweg.execute.xla import modules
    from talweg.interop.graph_def.building import GraphBuilder
    from talweg.interop.graph_def.reading import NodeRecord
else:
    modules = LazyModule("talweg.execute.xla.modules")  # needs JAX

XLA_CALL_MODULE = "XlaCallModule"
VERSIONS = range(5, 11)  # of the calling convention: 5 was the first to know no `dim_args_spec`


@rule(XLA_CALL_MODULE)
def build_call_module(builder: GraphBuilder, item: NodeRecord, inputs: list) -> list:
    """Return the results of a module of StableHLO."""
    return call_module(inputs, item.attributes)


def call_module(operands: list, attributes: dict[str, Any]) -> list:
    """Run a module of StableHLO for tensors, by the operation's attributes.

    UnimplementedError for a module that calls functions of TensorFlow, or one of old conventions.
    """
    if attributes["function_list"] or attributes["version"] not in VERSIONS:
        given = f"version {attributes['version']}, {len(attributes['function_list'])} functions"
        hint = f"versions {VERSIONS[0]} to {VERSIONS[-1]} that call no function of TensorFlow"
        raise UnimplementedError(
            None, None, compose("TW506", f"{XLA_CALL_MODULE} of {given}", hint=hint)
        )
    platforms = tuple([_decode(name) for name in attributes["platforms"]])
    places = [Hole(number) for number in range(len(operands))]
    arguments = (attributes["module"], platforms, *places)
    call = NodeCall(run_on_tensors, arguments, XLA_CALL_MODULE, attributes)
    shapes = [as_shape(shape) for shape in attributes["Sout"]]
    dims = [None if x.rank is None else tuple(x.as_list()) for x in shapes]
    return list(whole(*operands, call=call, avals=tuple(zip(dims, attributes["Tout"]))))


def run_on_tensors(module: bytes, platforms: tuple, *operands: Any) -> list:
    """Return the results of a module for tensors that have values."""
    arrays = [np.asarray(array_of(operand)) for operand in operands]
    return [wrap(array) for array in modules.run_module(module, platforms, arrays)]


def _decode(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else name
