"""Operations of NVIDIA's library, which has no counterpart on a CPU."""

from __future__ import annotations

from typing import Any

from talweg.api.export import export
from talweg.core.errors import UnimplementedError, compose


@export("raw_ops.CudnnRNNV3")
def cudnn_rnn(*args: Any, **kwargs: Any) -> Any:
    """UnimplementedError: this needs a GPU.  Keras asks for it only where there is one."""
    raise UnimplementedError(
        None,
        None,
        compose("TW402", "CudnnRNNV3 needs a GPU, and talweg uses CPUs", hint="tf.while_loop"),
    )
