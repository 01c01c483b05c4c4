"""tf.compat.v1.tpu on a CPU: TensorFlow's behaviour without a TPU, and descriptions of TPUs.

What drives TPUs (`rewrite`, `shard`, `initialize_system` ...) has no kernel on CPUs in TensorFlow,
and is among the names that will not be there (`api/names/never.py`).
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from talweg.api.export import export, look_up
from talweg.compat_v1.variable_scopes import variable_scope
from talweg.core.dtypes import as_dtype, bfloat16, float32
from talweg.feature_columns.embedding import embedding_column, shared_embeddings


@export("tpu.XLAOptions")
class XLAOptions(NamedTuple):
    """Options of XLA's compilation for TPUs.

    >>> import talweg as tf
    >>> tf.tpu.XLAOptions(enable_xla_dynamic_padder=False).enable_xla_dynamic_padder
    False
    """

    use_spmd_for_xla_partitioning: bool = True
    enable_xla_dynamic_padder: bool = True
    use_shardy_partitioner: bool = False


@export("tpu.experimental.TPUSystemMetadata")
class TPUSystemMetadata(NamedTuple):
    """Describes the cores and hosts of a system of TPUs.

    >>> import talweg as tf
    >>> tf.tpu.experimental.TPUSystemMetadata(8, 1, 8, None, ()).num_cores
    8
    """

    num_cores: int
    num_hosts: int
    num_of_cores_per_host: int
    topology: Any
    devices: Any


@export("tpu.experimental.DeviceOrderMode")
class DeviceOrderMode(enum.IntEnum):
    """The order of a TPU's devices.

    >>> import talweg as tf
    >>> tf.tpu.experimental.DeviceOrderMode.RING.value
    1
    """

    AUTO = 0
    RING = 1
    MESH = 2


@export("compat.v1.tpu.PaddingSpec")
class PaddingSpec(enum.IntEnum):
    """Names the ways of padding dynamic sizes.

    >>> import talweg.compat.v1 as tf
    >>> tf.tpu.PaddingSpec.POWER_OF_TWO.value
    1
    """

    AUTO = 0
    POWER_OF_TWO = 1


@export("compat.v1.tpu.core")
def core(num: int) -> str:
    """Return the name of a core for `tf.device`.

    >>> import talweg.compat.v1 as tf
    >>> tf.tpu.core(1)
    'device:TPU_REPLICATED_CORE:1'
    """
    return f"device:TPU_REPLICATED_CORE:{num}"


@export("compat.v1.tpu.bfloat16_scope")
@contextlib.contextmanager
def bfloat16_scope(name: str | None = None) -> Iterator[Any]:
    """Return a variable scope whose bfloat16 variables are kept as float32 and read as bfloat16.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.tpu.bfloat16_scope():
    ...     tf.get_variable("v", [2], tf.bfloat16).dtype, tf.global_variables()[0].dtype
    (tf.bfloat16, tf.float32)
    """

    def get_wide(getter: Callable, *args: Any, **settings: Any) -> Any:
        narrow = settings["dtype"] is not None and as_dtype(settings["dtype"]) == bfloat16
        if narrow:
            settings["dtype"] = float32
        variable = getter(*args, **settings)
        return look_up("cast")(variable, bfloat16) if narrow else variable

    with variable_scope(name or "", custom_getter=get_wide) as scope:
        yield scope


@export("compat.v1.tpu.outside_compilation")
def outside_compilation(computation: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a function on the CPU, where all is computed here.

    >>> import talweg.compat.v1 as tf
    >>> tf.tpu.outside_compilation(lambda x, y=1: x + y, 1, y=2)
    3
    """
    return computation(*args, **kwargs)


@export("compat.v1.tpu.experimental.embedding_column")
def embed_column(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    max_sequence_length: int = 0,
    learning_rate_fn: Any = None,
    embedding_lookup_device: str | None = None,
    tensor_core_shape: Any = None,
    use_safe_embedding_lookup: bool = True,
) -> Any:
    """Call `tf.feature_column.embedding_column`, as TensorFlow has it without a TPU.

    max_sequence_length, learning_rate_fn, embedding_lookup_device, tensor_core_shape: for TPUs.

    >>> import talweg.compat.v1 as tf
    >>> ids = tf.feature_column.categorical_column_with_identity("word", 3)
    >>> tf.tpu.experimental.embedding_column(ids, 8).name
    'word_embedding'
    """
    return embedding_column(
        categorical_column,
        dimension,
        combiner,
        initializer,
        use_safe_embedding_lookup=use_safe_embedding_lookup,
    )


@export("compat.v1.tpu.experimental.shared_embedding_columns")
def share_embedding(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    max_sequence_lengths: Any = None,
    learning_rate_fn: Any = None,
    embedding_lookup_device: str | None = None,
    tensor_core_shape: Any = None,
    use_safe_embedding_lookup: bool = True,
) -> list:
    """Call `tf.feature_column.shared_embeddings`, as TensorFlow has it without a TPU.

    max_sequence_lengths, learning_rate_fn, embedding_lookup_device, tensor_core_shape: for TPUs.

    >>> import talweg.compat.v1 as tf
    >>> ids = [tf.feature_column.categorical_column_with_identity(name, 3) for name in "ab"]
    >>> len(tf.tpu.experimental.shared_embedding_columns(ids, 8))
    2
    """
    return shared_embeddings(
        categorical_columns,
        dimension,
        combiner,
        initializer,
        shared_embedding_collection_name,
        use_safe_embedding_lookup=use_safe_embedding_lookup,
    )
