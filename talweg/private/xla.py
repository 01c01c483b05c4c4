"""TensorFlow's bridge to XLA as libraries use it: `tensorflow.compiler`, xla_sharding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.arguments import tensor
from talweg.core.errors import UnimplementedError, compose
from talweg.core.lazy import LazyModule
from talweg.interop.graph_def import rules_xla

if TYPE_CHECKING:
    from jaxlib import xla_client
else:
    xla_client = LazyModule("jaxlib.xla_client")


def call_module(
    args: Any,
    *,
    version: int = 4,
    module: bytes,
    Tout: Any,
    Sout: Any,
    platforms: Any = (),
    function_list: Any = (),
    has_token_input_output: bool = False,
    disabled_checks: Any = (),
    use_shardy_partitioner: bool = False,
) -> Any:
    """Run a module of StableHLO for tensors; a list of results."""
    operands = [tensor(x) for x in args]
    attributes = {
        "version": version,
        "module": module,
        "Sout": list(Sout),
        "Tout": list(Tout),
        "Tin": [x.dtype for x in operands],
        "platforms": list(platforms),
        "function_list": list(function_list),
        "has_token_input_output": has_token_input_output,
        "disabled_checks": list(disabled_checks),
        "use_shardy_partitioner": use_shardy_partitioner,
    }
    return rules_xla.call_module(operands, attributes)


def call_module_maximum_supported_version() -> int:
    """Return the last version of the calling convention of modules that is known."""
    return rules_xla.VERSIONS[-1]


class Sharding:
    """Describes the sharding of a tensor over devices; only replication is there."""

    def __init__(self, proto: Any = None):
        self.proto = proto

    def apply_to_tensor(self, tensor: Any, **options: Any) -> Any:
        """Raise UnimplementedError: tensors of a module are on one device."""
        raise UnimplementedError(
            None,
            None,
            compose(
                "TW402",
                "xla_sharding: a module of JAX with divided arguments was called",
                hint="tf.distribute or keras.distribution, or the function without sharding",
            ),
        )


def replicate(tensor: Any, use_sharding_op: bool = False, **options: Any) -> Any:
    """Return the tensor: all of it is on every device."""
    return tensor


def __getattr__(name: str) -> Any:
    """Return the messages of XLA that JAX has."""
    if name == "OpSharding":
        return getattr(xla_client, name)
    raise AttributeError(f"module {__name__} has no attribute {name!r}")
