"""Operations of NVIDIA's library, which has no counterpart on a CPU.

In a graph they are operations like others: Keras 2 and Sonnet trace their layers for GPUs, too.
"""

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
        compose("TW402", "CudnnRNN needs a GPU, and talweg uses CPUs", hint="tf.while_loop"),
    )


def _keep(given: dict[str, Any], has_host_memory: bool) -> Any:
    """Refuse now, or when the graph runs."""
    if dispatch.context.base is None:
        return _refuse()
    x, state = convert_to_tensor(given["input"]), convert_to_tensor(given["input_h"])
    dtypes = [x.dtype, state.dtype, state.dtype, x.dtype, *[int8] * has_host_memory]
    output, *states = keep(_refuse, {"input": x, "input_h": state}, dtypes)
    output.set_shape([None, None, state.shape[-1]])
    for part in states[:2]:
        part.set_shape(state.shape)
    return (output, *states)


@export("raw_ops.CudnnRNN")
def cudnn_rnn(**kwargs: Any) -> Any:
    """Raise UnimplementedError when it runs: this needs a GPU."""
    return _keep(kwargs, False)


@export("raw_ops.CudnnRNNV2", "raw_ops.CudnnRNNV3")
def cudnn_rnn_of_host(**kwargs: Any) -> Any:
    """Raise UnimplementedError when it runs: this needs a GPU."""
    return _keep(kwargs, True)
