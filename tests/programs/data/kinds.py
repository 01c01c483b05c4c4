"""Every stage with every kind of element: strings, truths, 16-bit floats, composites, nests.

One program a stage.  For each kind it says what the elements are (spec, types and values of eager
elements and of arrays), that strings can be worked on, and the class of the error where the stage
cannot take the kind.
"""

import collections

Pair = collections.namedtuple("Pair", ["first", "second"])


def scalars(tf, dtype):
    """Three scalars, the last two equal."""
    if dtype == "string":
        return tf.constant(["a", "bb", "bb"])
    if dtype == "bool":
        return tf.constant([True, False, False])
    return tf.cast(tf.constant([1, 2, 2]), dtype)


def kinds(tf):
    """Datasets by the kind of their elements, with what makes the number of an element's group."""
    of = tf.data.Dataset.from_tensor_slices
    found = {}
    for dtype in ("string", "bool", "bfloat16", "int64"):
        values = scalars(tf, dtype)
        found[dtype] = of(values)
        found[f"{dtype} vectors"] = of(tf.stack([values, values], 1))
    found["string matrices"] = of(tf.constant([[["a"], [""]], [["bb"], ["c"]], [["\xff"], ["d"]]]))
    rows = tf.ragged.constant([["a"], ["bb", "c"], []])
    found["string rows"] = of(rows).map(lambda row: row if tf.is_tensor(row) else row.to_tensor())
    found["ragged strings"] = of(tf.ragged.constant([[["a"], []], [["bb", "c"]], []]))
    found["ragged bfloat16"] = of(
        tf.cast(tf.ragged.constant([[[1], []], [[2, 3]], []]), "bfloat16")
    )
    for dtype in ("string", "bool", "bfloat16"):
        sparse = tf.SparseTensor([[0, 1], [1, 0], [2, 1]], scalars(tf, dtype), [3, 2])
        found[f"sparse {dtype}"] = of(sparse)
    found["dictionary"] = of({"s": ["a", "bb", "bb"], "n": [1, 2, 2], "v": [["x"], ["y"], ["z"]]})
    found["tuples"] = of(
        (["a", "bb", "bb"], (tf.constant([True, False, False]), [b"\xff", b"", b""]))
    )
    found["named"] = of(Pair(["a", "bb", "bb"], [1.0, 2.0, 2.0]))
    found["nothing and string"] = of(["a", "bb", "bb"]).map(lambda s: (None, s))
    found["mapped strings"] = tf.data.Dataset.range(3).map(tf.strings.as_string)
    found["generated"] = tf.data.Dataset.from_generator(
        lambda: iter([("a", b"x"), ("bb", b"\xff"), ("bb", b"")]),
        output_signature=(tf.TensorSpec([], tf.string), tf.TensorSpec([], tf.string)),
    )
    return found


def leaf_text(tf, value):
    """A tensor as text; strings with their lengths: of broken ones there are none."""
    values = tf.reshape(value, [-1]).numpy().tolist(), value.shape.as_list()
    if value.dtype == tf.string:
        return f"{values} {tf.strings.length(value).numpy().tolist()}"
    return f"{value.dtype.name} {values}"


def element_text(tf, value):
    """An element as text: its tensors, those of composites too, or its datasets."""
    parts = [
        [listed(tf, leaf)]
        if isinstance(leaf, tf.data.Dataset)
        else [
            leaf_text(tf, part)
            for part in tf.nest.flatten(leaf, expand_composites=True)
            if part is not None
        ]
        for leaf in tf.nest.flatten(value)
    ]
    return ", ".join(text for texts in parts for text in texts)


def listed(tf, dataset):
    """The first elements, as one text."""
    return " | ".join(element_text(tf, value) for value in dataset.take(9))


def arrays(tf, dataset):
    """What `as_numpy_iterator` gives; TensorFlow has no arrays of sparse strings."""
    if "Sparse" in repr(dataset.element_spec):
        return None
    for value in dataset.take(1).as_numpy_iterator():
        return [array_text(tf, leaf) for leaf in tf.nest.flatten(value)]


def array_text(tf, value):
    if type(value).__name__ in ("ndarray", "bytes", "int64", "bool"):
        return f"{type(value).__name__} {value.tolist() if hasattr(value, 'tolist') else value}"
    return type(value).__name__


# Kinds that TensorFlow's stages do not take, and ours do: a second batch of composites, None.
BEYOND = {
    "batch_twice": ("ragged", "sparse"),
    "unbatch": ("sparse",),
    "sparse_batch": ("ragged", "sparse"),
    "as_a_list": ("ragged", "sparse"),
    "saved": ("dictionary", "named"),
    "unique": ("sparse", "ragged"),
}
WITH_NONE = ("plain", "batch", "cached", "shuffled", "repeated", "mapped", "zipped")


def program(name, stage):
    """The program that tells what a stage makes of every kind."""

    def tell(tf, np):
        found = {}
        for kind, dataset in kinds(tf).items():
            if kind.startswith(BEYOND.get(name, ("-",))):
                continue
            if kind == "nothing and string" and name not in WITH_NONE:
                continue
            try:
                after = stage(tf, dataset)
                found[kind] = [repr(after.element_spec), listed(tf, after), arrays(tf, after)]
            except Exception as error:
                found[kind] = type(error).__name__
        return found

    tell.__name__ = name
    return tell


def first(tf, *value):
    """One tensor of an element."""
    for part in tf.nest.flatten(value, expand_composites=True):
        if part is not None:
            return part


def group(tf, *value):
    part = first(tf, *value)
    return tf.cast(tf.size(part) % 2, tf.int64)


def _window(tf, ds):
    return ds.window(2)


def _flat_window(tf, ds):
    zipped = lambda *parts: tf.data.Dataset.zip(  # noqa: E731
        tuple(p for p in parts if p is not None)
    )
    return ds.window(2).flat_map(
        lambda *w: w[0].batch(2) if isinstance(w[0], tf.data.Dataset) else zipped(*w)
    )


def _generated(tf, ds):
    spec = ds.element_spec
    return tf.data.Dataset.from_generator(lambda: iter(ds), output_signature=spec)


def _directed(tf, ds):
    return tf.data.Dataset.choose_from_datasets(
        [ds, ds], tf.data.Dataset.from_tensor_slices(tf.constant([1, 0, 0, 1], tf.int64))
    )


def _saved(tf, ds):
    import tempfile

    path = tempfile.mkdtemp()
    ds.save(path)
    return tf.data.Dataset.load(path)


def _file_cache(tf, ds):
    import tempfile

    kept = ds.cache(tempfile.mkdtemp() + "/cache")
    list(kept)
    return kept


def _cached(tf, ds):
    kept = ds.cache()
    list(kept)
    return kept


def _snapshot_read(tf, ds):
    import tempfile

    path = tempfile.mkdtemp()
    list(ds.snapshot(path))
    return ds.snapshot(path)


def _resampled(tf, ds):
    return ds.rejection_resample(
        lambda *v: tf.constant(0, tf.int32), target_dist=[1.0], initial_dist=[1.0], seed=1
    )


def _bucketed(tf, ds):
    return ds.bucket_by_sequence_length(
        lambda *v: tf.size(first(tf, *v)), bucket_boundaries=[2], bucket_batch_sizes=[2, 2]
    )


STAGES = {
    "plain": lambda tf, ds: ds,
    "batch": lambda tf, ds: ds.batch(2),
    "batch_in_parallel": lambda tf, ds: ds.batch(2, num_parallel_calls=2),
    "batch_twice": lambda tf, ds: ds.batch(2).batch(2),
    "batch_and_unbatch": lambda tf, ds: ds.batch(2).unbatch(),
    "unbatch": lambda tf, ds: ds.unbatch(),
    "padded_batch": lambda tf, ds: ds.padded_batch(2),
    "padded_batch_of_one": lambda tf, ds: ds.padded_batch(1),
    "padded_batch_and_unbatch": lambda tf, ds: ds.padded_batch(2).unbatch(),
    "ragged_batch": lambda tf, ds: ds.ragged_batch(2),
    "ragged_batch_of_filtered": lambda tf, ds: ds.filter(lambda *v: True).ragged_batch(2),
    "sparse_batch": lambda tf, ds: ds.sparse_batch(2, [2]),
    "window": _window,
    "window_batched": _flat_window,
    "grouped": lambda tf, ds: ds.group_by_window(
        lambda *v: group(tf, *v), lambda key, w: w.batch(2), window_size=2
    ),
    "grouped_and_padded": lambda tf, ds: ds.group_by_window(
        lambda *v: group(tf, *v), lambda key, w: w.padded_batch(2), window_size=2
    ),
    "bucketed": _bucketed,
    "interleaved": lambda tf, ds: tf.data.Dataset.range(2).interleave(
        lambda i: ds, cycle_length=2, block_length=1
    ),
    "interleaved_in_parallel": lambda tf, ds: tf.data.Dataset.range(2).interleave(
        lambda i: ds, cycle_length=2, num_parallel_calls=2, deterministic=True
    ),
    "flat_map_of_elements": lambda tf, ds: ds.flat_map(
        lambda *v: tf.data.Dataset.from_tensors(v[0] if len(v) == 1 else v)
    ),
    "flat_map_of_rows": lambda tf, ds: ds.batch(3).flat_map(
        lambda *v: tf.data.Dataset.from_tensor_slices(v[0] if len(v) == 1 else v)
    ),
    "generated": _generated,
    "cached": _cached,
    "cached_in_files": _file_cache,
    "snapshot": _snapshot_read,
    "saved": _saved,
    "resampled": _resampled,
    "sampled": lambda tf, ds: tf.data.Dataset.sample_from_datasets([ds, ds], [0.5, 0.5], seed=1),
    "chosen": _directed,
    "shuffled": lambda tf, ds: ds.shuffle(3, seed=1),
    "shuffled_and_batched": lambda tf, ds: ds.shuffle(3, seed=1).batch(2),
    "repeated": lambda tf, ds: ds.repeat(2).skip(2).take(3),
    "sharded": lambda tf, ds: ds.shard(2, 0),
    "concatenated": lambda tf, ds: ds.concatenate(ds).batch(4),
    "zipped": lambda tf, ds: tf.data.Dataset.zip((ds, ds)).batch(2),
    "enumerated": lambda tf, ds: ds.enumerate().batch(2),
    "mapped": lambda tf, ds: ds.map(lambda *v: v[0] if len(v) == 1 else v),
    "mapped_in_parallel": lambda tf, ds: ds.map(
        lambda *v: v[0] if len(v) == 1 else v, num_parallel_calls=2
    ),
    "mapped_batches": lambda tf, ds: ds.batch(2).map(lambda *v: v[0] if len(v) == 1 else v),
    "filtered": lambda tf, ds: ds.filter(lambda *v: tf.size(first(tf, *v)) > 0).batch(3),
    "taken_while": lambda tf, ds: ds.take_while(lambda *v: tf.size(first(tf, *v)) > 0).batch(3),
    "scanned": lambda tf, ds: ds.scan(
        tf.constant(0), lambda s, *v: (s + 1, v[0] if len(v) == 1 else v)
    ),
    "states_of_strings": lambda tf, ds: ds.scan(
        tf.constant(""), lambda s, *v: (s + "x", (s, v[0] if len(v) == 1 else v))
    ).batch(2),
    "unique": lambda tf, ds: ds.unique(),
    "prefetched": lambda tf, ds: ds.prefetch(1).batch(2),
    "all_tensors": lambda tf, ds: tf.data.Dataset.from_tensors(ds.batch(3).get_single_element()),
    "errors_ignored": lambda tf, ds: ds.ignore_errors().batch(2),
    "as_a_list": lambda tf, ds: tf.data.experimental.from_list(list(ds)),
    "reduced": lambda tf, ds: tf.data.Dataset.from_tensors(
        ds.reduce(tf.constant(""), lambda s, *v: s + "x")
    ),
    "optionals": lambda tf, ds: (
        ds.map(lambda *v: tf.experimental.Optional.from_value(v[0] if len(v) == 1 else v))
        .map(lambda o: o.get_value())
        .batch(2)
    ),
    "rebatched": lambda tf, ds: ds.batch(3).rebatch([1, 2]),
    "grouped_by_reducer": lambda tf, ds: ds.group_by_reducer(
        key_func=lambda *v: group(tf, *v),
        reducer=tf.data.experimental.Reducer(lambda key: "", lambda s, *v: s + "x", lambda s: s),
    ),
    "padded_to": lambda tf, ds: ds.map(lambda *v: {"x": v[0] if len(v) == 1 else v}).apply(
        tf.data.experimental.pad_to_cardinality(5)
    ),
}

PROGRAMS = [program(name, stage) for name, stage in STAGES.items()]
