"""Descriptions of clusters, options of communication, and how variables are divided."""

import json
import os

from programs.support import raised

CLUSTER = {"worker": ["a:1", "b:2"], "ps": ["c:3"]}


def spec(tf):
    """A description of three machines."""
    return tf.train.ClusterSpec(CLUSTER)


def described(resolver):
    """What a resolver says."""
    return [
        resolver.cluster_spec().as_dict(),
        resolver.task_type,
        resolver.task_id,
        resolver.environment,
        resolver.rpc_layer,
        resolver.master(),
    ]


def simple(tf, np):
    make = tf.distribute.cluster_resolver.SimpleClusterResolver
    plain = make(spec(tf))
    given = make(
        spec(tf),
        master="boss:9",
        task_type="worker",
        task_id=1,
        environment="there",
        num_accelerators={"GPU": 2},
        rpc_layer="grpc",
    )
    return [
        described(plain),
        described(given),
        given.num_accelerators(),
        given.master("ps", 0),
        given.master("worker", 1, "http"),
        isinstance(plain, tf.distribute.cluster_resolver.ClusterResolver),
        raised(lambda: make({"worker": ["a:1"]})),
    ]


def from_the_environment(tf, np):
    before = os.environ.get("TF_CONFIG")
    os.environ["TF_CONFIG"] = json.dumps(
        {"cluster": CLUSTER, "task": {"type": "worker", "index": 1}, "rpc_layer": "grpc"}
    )
    make = tf.distribute.cluster_resolver.TFConfigClusterResolver
    try:
        found = [described(make()), described(make(task_type="ps", task_id=0))]
    finally:
        del os.environ["TF_CONFIG"]
    empty = make()
    found.append([empty.cluster_spec().as_dict(), empty.task_type, empty.task_id, empty.master()])
    if before is not None:
        os.environ["TF_CONFIG"] = before
    return found


def unions(tf, np):
    simple = tf.distribute.cluster_resolver.SimpleClusterResolver
    union = tf.distribute.cluster_resolver.UnionResolver
    first = simple(tf.train.ClusterSpec({"worker": ["a:1", "b:2"]}), task_type="worker", task_id=0)
    second = simple(tf.train.ClusterSpec({"worker": ["c:3"], "ps": ["d:4"]}))
    both = union(first, second)
    return [
        both.cluster_spec().as_dict(),
        both.task_type,
        both.task_id,
        both.environment,
        both.rpc_layer,
        both.master("worker", 1),
        raised(lambda: union(3)),
        raised(union),
    ]


def communication(tf, np):
    made = tf.distribute.experimental
    options = made.CommunicationOptions(
        bytes_per_pack=1000,
        timeout_seconds=2.0,
        implementation=made.CommunicationImplementation.RING,
    )
    plain = made.CommunicationOptions()
    return [
        [kind.name for kind in made.CommunicationImplementation],
        [kind.value for kind in made.CommunicationImplementation],
        made.CollectiveCommunication is made.CommunicationImplementation,
        [options.bytes_per_pack, options.timeout_seconds, options.implementation.name],
        [plain.bytes_per_pack, plain.timeout_seconds, plain.implementation.name],
        raised(lambda: made.CommunicationOptions(bytes_per_pack=-1)),
    ]


def partitioners(tf, np):
    kinds = tf.distribute.experimental.partitioners
    shapes = [[10, 3], [7], [2, 2, 2], [100, 10]]
    made = {
        "fixed 3": kinds.FixedShardsPartitioner(3),
        "least 64 bytes": kinds.MinSizePartitioner(min_shard_bytes=64, max_shards=4),
        "most 40 bytes": kinds.MaxSizePartitioner(max_shard_bytes=40),
        "most 40, 2 shards": kinds.MaxSizePartitioner(max_shard_bytes=40, max_shards=2),
    }
    found = {}
    for name, make in made.items():
        found[name] = [
            list(make(tf.TensorShape(shape), dtype))
            for shape in shapes
            for dtype in (tf.float32, tf.float64)
        ]
    second = kinds.FixedShardsPartitioner(2)(tf.TensorShape([4, 6]), tf.float32, axis=1)
    return [
        found,
        list(second),
        raised(lambda: kinds.MinSizePartitioner(min_shard_bytes=0)),
        raised(lambda: kinds.MinSizePartitioner(max_shards=0)),
        raised(lambda: kinds.MaxSizePartitioner(max_shard_bytes=0)),
        isinstance(made["fixed 3"], kinds.Partitioner),
    ]


def what_is_not_there(tf, np):
    return [
        raised(lambda: tf.distribute.TPUStrategy()) is not None,
        raised(lambda: tf.distribute.cluster_resolver.TPUClusterResolver("")) is not None,
        raised(lambda: tf.distribute.ParameterServerStrategy(None)) is not None,
        raised(lambda: tf.distribute.coordinator.ClusterCoordinator(None)) is not None,
    ]


PROGRAMS = [
    simple,
    from_the_environment,
    unions,
    communication,
    partitioners,
    what_is_not_there,
]
