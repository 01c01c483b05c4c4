"""Operations of NVIDIA's library, which has no counterpart on a CPU."""

from __future__ import annotations

from typing import Any

from talweg.api.export import export
from talweg.core import dispatch
from talweg.core.dtypes import int8
from talweg.core.errors import UnimplementedError, compose
from talweg.eager.convert import convert_to_tensor
from talweg.trace.kept_operations import keep


def _refuse(**kwargs: object) -> Any:
    raise UnimplementedError(
        None,
        None,
        compose("TW402", "CudnnRNNV3 needs a GPU, and talweg uses CPUs", hint="tf.while_loop"),
    )


@export("raw_ops.CudnnRNNV3")
def cudnn_rnn(*args: object, **kwargs: object) -> Any:
    """Raise UnimplementedError when it runs: this needs a GPU.

    In a graph it is an operation like others: Keras 2 traces its layers for GPUs, too.
    """
    base = dispatch.context.base
    if base is None:
        return _refuse()
    x, state = convert_to_tensor(kwargs["input"]), convert_to_tensor(kwargs["input_h"])
    dtypes = [x.dtype, state.dtype, state.dtype, x.dtype, int8]
    found = keep(_refuse, {"input": x, "input_h": state}, dtypes)
    found[0].set_shape([None, None, state.shape[-1]])
    for part in found[1:3]:
        part.set_shape(state.shape)
    return tuple(found)
