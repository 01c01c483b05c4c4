"""tf.data.experimental: datasets of parsed Examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.api.examples.parsing import parse_example
from talweg.api.export import export
from talweg.core.dtypes import string
from talweg.core.errors import type_error, value_error
from talweg.pipeline.dataset import Dataset
from talweg.pipeline.file_datasets import TFRecordDataset
from talweg.pipeline.files import matching
from talweg.pipeline.keeping import paths_of
from talweg.pipeline.parallel import AUTOTUNE


@export("data.experimental.parse_example_dataset")
def parse_example_dataset(
    features: dict, num_parallel_calls: Any = 1, deterministic: bool | None = None
) -> Callable[[Any], Any]:
    """Return, for `dataset.apply`, batches of serialized Examples, parsed as `tf.io.parse_example`
    does.

    ValueError without features, TypeError for a dataset of other things than vectors of strings.

    >>> import talweg as tf
    >>> feature = {"k": tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))}
    >>> text = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    >>> wanted = {"k": tf.io.FixedLenFeature([], "int64")}
    >>> parse = tf.data.experimental.parse_example_dataset(wanted)
    >>> [x["k"].numpy() for x in tf.data.Dataset.from_tensors([text, text]).apply(parse)]
    [array([3, 3])]
    """
    if features is None:
        raise value_error("TW104", "Argument `features` is required, but not specified.")

    def parse(dataset: Any) -> Any:
        spec = dataset.element_spec
        if getattr(spec, "dtype", None) is not string or spec.shape.rank not in (1, None):
            raise type_error(
                "TW102", f"the elements of the dataset are {spec}", "vectors of strings (batches)"
            )
        return dataset.map(
            lambda texts: parse_example(texts, features), num_parallel_calls, deterministic
        )

    return parse


@export(
    "data.experimental.make_batched_features_dataset",
    "compat.v1.data.experimental.make_batched_features_dataset",
)
def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: dict,
    reader: Any = None,
    label_key: str | None = None,
    reader_args: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Return batches of the Examples in files, as a dictionary of features; with a label, pairs.

    features: descriptions by name, as for `tf.io.parse_example`.  reader: makes a dataset of
    Examples of a file's name (and `reader_args`), by default `tf.data.TFRecordDataset`.  Without
    end unless num_epochs is given.  ValueError for a label that is no feature.
    """
    if label_key is not None and label_key not in features:
        raise value_error(
            "TW207",
            f"`label_key` {label_key!r} is no key of `features`",
            f"one of {list(features)}",
        )
    if hasattr(reader, "read_up_to"):
        raise type_error(
            "TW104", f"`reader` is {reader!r}, a reader of TensorFlow 1", "tf.data.TFRecordDataset"
        )
    paths = [path.decode() for path in matching(paths_of(file_pattern))]
    read, more = reader or TFRecordDataset, list(reader_args or ())
    dataset = Dataset.from_tensor_slices(paths)
    if shuffle:
        dataset = dataset.shuffle(len(paths), shuffle_seed)
    dataset = dataset.interleave(
        lambda path: read(path, *more), cycle_length=reader_num_threads or 1
    )
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.apply(parse_example_dataset(features, parser_num_threads or 2))
    if label_key is not None:
        dataset = dataset.map(lambda examples: _apart(examples, label_key))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _apart(found: dict, label: str) -> tuple[dict, Any]:
    """Return the features without the label, and the label."""
    return {name: x for name, x in found.items() if name != label}, found[label]
