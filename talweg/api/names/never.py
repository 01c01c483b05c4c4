"""TensorFlow's names that talweg will never have, the reasons, and substitutes.

A rule is the beginning of names: `tpu.` is all of tf.tpu and tf.compat.v1.tpu, `raw_ops.TPU*` all
operations whose names begin so.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple


class NeverName(NamedTuple):
    """Names that will not be there."""

    pattern: str
    reason: str
    instead: str


TABLE = """
tpu.(CrossShard.*|batch_p.*|cross_rep.*|(initialize|shutdown)_system|replicate|rewrite|shard) |
    drives TPUs as TensorFlow 1 did | tf.distribute.TPUStrategy
tpu.experimental.(DeviceAssignment|Topology) |
    places replicas on cores of TPUs by hand; here each core has one | tf.distribute.TPUStrategy
raw_ops.*TPU* | drives TPUs, and talweg computes on the CPU | the same operation without a TPU
raw_ops.(Infeed|Outfeed|Prelinearize).* | feeds TPUs, and talweg computes on the CPU | tf.data
raw_ops.XlaSparse.* | is an operation of XLA's TPU embeddings | tf.nn.embedding_lookup_sparse
raw_ops.*(SparseCore|XlaConcatND|XlaSplitND|Minibatch).* | is for TPUs |
    tf.nn.embedding_lookup_sparse
raw_ops.ConvertToCooTensor | is for TPUs | tf.sparse.SparseTensor
raw_ops.(GlobalIterId|StoreMinibatch.*|WorkerHeartbeat) | is for TPUs | a loop of your own
raw_ops.CrossReplicaSum | is for TPUs | tf.distribute.ReplicaContext.all_reduce
raw_ops.AllToAll | is for TPUs | tf.transpose
raw_ops.Nccl.* | is for GPUs, and talweg computes on the CPU |
    tf.distribute.ReplicaContext.all_reduce
raw_ops.CudnnRNN(Back.*|Canon.*|Params.*) | is for GPUs, and talweg computes on the CPU |
    tf.keras.layers.LSTM
raw_ops.(Send|Recv) | is between the processes of a cluster | a queue between threads
raw_ops.DataService.* | reads from tf.data's servers in other processes |
    tf.data.experimental.service, which is for this process
raw_ops.BoostedTrees.* | belongs to estimators, which TensorFlow 2 dropped |
    another package for trees
raw_ops.IsBoostedTrees.* | belongs to estimators, which TensorFlow 2 dropped | another package
raw_ops.SdcaOptimizer.* | belongs to estimators, which TensorFlow 2 dropped | tf.keras.optimizers
mlir.* | is for TensorFlow's own compiler, which talweg does not use | talweg dump
lite.* | converts for TFLite, which is a program of its own | tf.saved_model.save
load_library | loads operations written in C++ for TensorFlow |
    tf.numpy_function or tf.py_function
load_op_library | loads operations written in C++ for TensorFlow |
    tf.numpy_function or tf.py_function
load_file_system_library | loads code written in C++ for TensorFlow | tf.io.gfile
experimental.register_filesystem_plugin | loads code written in C++ for TensorFlow | tf.io.gfile
sysconfig.get_include | says where TensorFlow's C++ headers are | tf.numpy_function
distribute.experimental.rpc.* | is for servers | another package for remote calls
profiler.experimental.(client|server).* | is for profiling other processes | talweg profile
quantization.experimental.* | quantises for TFLite, which is a program of its own |
    tf.quantization
train.do_quantize_training_on_graphdef | quantises for TFLite | tf.quantization
io.decode_jxl | reads JPEG XL, for which talweg would need another library | tf.io.decode_png
image.decode_jxl | reads JPEG XL, for which talweg would need another library |
    tf.io.decode_png
data.experimental.get_model_proto | describes TensorFlow's own tuning of pipelines | talweg profile
data.experimental.make_saveable_from_iterator | makes an object for TensorFlow's own savers |
    tf.train.Checkpoint(iterator=iterator)
debugging.experimental.(enable|disable)_dump_debug_info |
    writes files that only TensorFlow's Debugger reads |
    tf.debugging.enable_check_numerics, talweg doctor
check_pinned | asks about the memory of GPUs, and talweg computes on the CPU | tensor.device
distribute.experimental.PreemptionWatcher | asks the servers of a TPU cluster |
    tf.distribute.experimental.PreemptionCheckpointHandler
experimental.tensorrt.* | converts for TensorRT, which is for GPUs | tf.saved_model.save
experimental.dtensor.(create_tpu_mesh|(initialize|shutdown)_tpu_system) |
    drives TPUs, and talweg computes on the CPU | tf.experimental.dtensor.create_mesh
image.generate_bounding_box_proposals |
    is for GPUs (TensorFlow has no form of it for CPUs) | tf.image.non_max_suppression
raw_ops.GenerateBoundingBoxProposals |
    is for GPUs (TensorFlow has no form of it for CPUs) | tf.image.non_max_suppression
test.create_local_cluster | starts servers for other processes |
    tf.distribute.MirroredStrategy with logical devices
train.sdca_.* | belongs to estimators, which TensorFlow 2 dropped | tf.keras.optimizers
raw_ops.(SdcaFprint|SdcaShrinkL1) | belongs to estimators, which TensorFlow 2 dropped |
    tf.keras.optimizers
raw_ops.DecodeJxl | reads JPEG XL, for which talweg would need another library |
    tf.io.decode_png
"""


@functools.cache
def rules() -> list[NeverName]:
    """Return the rows of the table."""
    lines = TABLE.strip().replace("\n    ", " ").splitlines()
    return [NeverName(*[part.strip() for part in line.split(" | ")]) for line in lines]


@functools.cache
def _matcher(pattern: str) -> re.Pattern:
    text = pattern.replace(".*", "\0").replace(".", r"\.").replace("\0", ".*")
    text = re.sub(r"(?<![.])\*", ".*", text)
    return re.compile(rf"(?:compat\.v1\.)?{text}")


@functools.lru_cache(10_000)
def never(name: str) -> NeverName | None:
    """Return the rule that says why a name will not be there; None if it may be.

    >>> never("tpu.experimental.Topology").instead
    'tf.distribute.TPUStrategy'
    >>> never("nn.relu") is None
    True
    """
    for rule in rules():
        if _matcher(rule.pattern).fullmatch(name) or rule.pattern == f"{name}.*":
            return rule
    return None
