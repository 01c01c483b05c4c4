"""tf.compat.v1: names that mean what a name of v2 means, though TensorFlow has two objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.api.export import export_lazily, look_up

PAIRS = """
data.experimental.Counter data.experimental.CsvDataset data.experimental.RandomDataset
data.experimental.SqlDataset data.experimental.choose_from_datasets
data.experimental.make_csv_dataset data.experimental.sample_from_datasets
distribute.MirroredStrategy distribute.OneDeviceStrategy distribute.ReplicaContext
distribute.Strategy distribute.StrategyExtended
distribute.experimental.CentralStorageStrategy
distribute.experimental.MultiWorkerMirroredStrategy
distribute.experimental.TPUStrategy
experimental.BatchableExtensionType experimental.DynamicRaggedShape experimental.ExtensionType
experimental.ExtensionTypeBatchEncoder experimental.ExtensionTypeSpec experimental.RowPartition
experimental.StructuredTensor experimental.async_clear_error experimental.async_scope
experimental.dispatch_for_api experimental.dispatch_for_binary_elementwise_apis
experimental.dispatch_for_binary_elementwise_assert_apis
experimental.dispatch_for_unary_elementwise_apis experimental.enable_strict_mode
experimental.function_executor_type experimental.unregister_dispatch_for
experimental.extension_type.as_dict

nn.ctc_loss_v2=nn.ctc_loss manip.reshape=reshape
train.ClusterDef train.JobDef train.ServerDef types.experimental.FunctionType
types.experimental.TensorLike io.match_filenames_once
"""


def _lazily(name: str) -> Callable[[], Any]:
    return lambda: look_up(name)


def _share() -> None:
    from talweg.api.table import TABLE  # noqa: PLC0415 -- generated from what is exported here

    for pair in PAIRS.split():
        name, _, other = pair.partition("=")
        other = other or name
        if other in TABLE:
            export_lazily(_lazily(other), f"compat.v1.{name}")


_share()
