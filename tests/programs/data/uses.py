"""Structures, kinds of functions and arguments, as programs use them."""

import collections
import functools

from programs.data import listed, spec
from programs.support import raised


def dictionaries(tf, np):
    made = tf.data.Dataset
    ordered = made.from_tensors(collections.OrderedDict(z=1, a=2)).map(lambda d: d)
    lists = made.range(2).map(lambda x: {"l": [x, x * 2]})
    return listed(made.from_tensor_slices({"b": [1], "a": [2]})), listed(ordered), listed(lists)


def classes(tf, np):
    ds = tf.data.Dataset.range(3)
    return [
        isinstance(ds, tf.data.Dataset),
        isinstance(iter(ds), tf.data.Iterator),
        isinstance(tf.data.TextLineDataset("x"), tf.data.Dataset),
        bool(ds.take(0)),
        len({ds, tf.data.Dataset.range(3)}),
        ds.element_spec == ds.map(abs).element_spec,
        repr(tf.type_spec_from_value(ds)),
    ]


def windows_of_structures(tf, np):
    ds = tf.data.Dataset.from_tensor_slices(({"a": [1, 2, 3]}, [4, 5, 6])).window(2)
    found = [[listed(features["a"]), listed(label)] for features, label in ds]
    return found, spec(ds)


def datasets_of_datasets(tf, np):
    ds = tf.data.Dataset.range(3).map(lambda n: tf.data.Dataset.range(n))
    return [listed(x) for x in ds], raised(ds.as_numpy_iterator)


def tensors_as_arguments(tf, np):
    def number(n):
        return tf.constant(n, tf.int64)

    ds = tf.data.Dataset.range(number(7)).batch(number(2)).take(number(3)).repeat(number(2))
    other = (
        tf.data.Dataset.range(np.int64(5))
        .batch(np.int32(2))
        .skip(np.int64(1))
        .shard(np.int64(2), np.int64(0))
    )
    made = tf.data.Dataset.range
    wrong = [raised(lambda: made(5).batch(2.0)), raised(lambda: made(5.0))]
    return listed(ds), listed(other), wrong


def shapes_of_python_results(tf, np):
    def with_shape(x):
        y = tf.numpy_function(lambda v: v, [x], tf.int64)
        y.set_shape([])
        return y

    ds = tf.data.Dataset.range(3)
    unknown = ds.map(lambda x: tf.numpy_function(lambda v: v, [x], tf.int64))
    return spec(unknown.batch(2)), listed(unknown.batch(2)), spec(ds.map(with_shape).batch(2))


class Scale:
    """An object that is called, and one with a method."""

    def __init__(self, by):
        self.by = by

    def times(self, x):
        return x * self.by

    def __call__(self, x):
        return x + self.by


def kinds_of_functions(tf, np):
    ds = tf.data.Dataset.range(3)
    three = Scale(tf.constant(3, tf.int64))
    triples = tf.data.Dataset.from_tensor_slices(([1, 2], [3, 4], [5, 6]))
    return [
        listed(x)
        for x in (
            ds.map(three.times),
            ds.map(three),
            ds.map(tf.function(lambda x: x + 1)),
            ds.map(functools.partial(tf.add, tf.constant(5, tf.int64))),
            ds.map(tf.square),
            triples.map(lambda *a: a[0] + a[1] * a[2]),
            triples.map(lambda x, *rest: rest[1] - x),
        )
    ]


def control_flow_in_functions(tf, np):
    ds = tf.data.Dataset.range(1, 4)
    return [
        listed(x)
        for x in (
            ds.map(lambda x: tf.cond(x > 1, lambda: x * 10, lambda: -x)),
            ds.map(
                lambda x: tf.switch_case(
                    tf.cast(x - 1, tf.int32), [lambda: 1, lambda: 5, lambda: 9]
                )
            ),
            ds.map(lambda x: tf.while_loop(lambda i: i < 5, lambda i: i * 2 + 1, [x])[0]),
            ds.map(lambda n: tf.map_fn(lambda i: i * i, tf.range(n))),
            ds.map(lambda x: tf.constant(["x", "y", "z"])[x - 1]),
        )
    ]


def assertions_in_functions(tf, np):
    def small(x):
        tf.debugging.assert_less(x, tf.constant(2, tf.int64))
        return x

    iterator = iter(tf.data.Dataset.range(4).map(small))
    return int(next(iterator)), int(next(iterator)), raised(lambda: next(iterator))


def reduces_structures(tf, np):
    zero = np.int64(0)
    ds = tf.data.Dataset.range(4)
    named = ds.reduce({"n": zero, "s": zero}, lambda s, x: {"n": s["n"] + 1, "s": s["s"] + x})
    pairs = tf.data.Dataset.from_tensor_slices(([1.0, 2.0], [3.0, 4.0]))
    both = pairs.reduce((0.0, 0.0), lambda s, e: (s[0] + e[0], s[1] * e[1] + 1))
    return named, both, tf.data.Dataset.range(5).batch(5).get_single_element()


def ragged_from_generators(tf, np):
    def rows():
        yield tf.ragged.constant([[1], [2, 3]])
        yield tf.ragged.constant([[], [4]], dtype=tf.int32)

    signature = tf.RaggedTensorSpec([2, None], tf.int32)
    ds = tf.data.Dataset.from_generator(rows, output_signature=signature)
    return [x.to_list() for x in ds], [x.to_list() for x in ds.batch(2)], spec(ds)


def rejects(tf, np):
    tf.random.set_seed(4)
    ds = tf.data.Dataset.range(200)
    kind = lambda x: tf.cast(x % 10 == 0, tf.int32)  # noqa: E731
    known = ds.rejection_resample(kind, [0.5, 0.5], [0.9, 0.1], seed=5)
    counted = ds.rejection_resample(kind, [0.5, 0.5], seed=5)
    return listed(known.take(30)), listed(counted.take(60))


def queries(tf, np):
    import os
    import sqlite3
    import tempfile

    path = os.path.join(tempfile.mkdtemp(), "d.db")
    connection = sqlite3.connect(path)
    connection.execute("create table t (n integer, s text, x real)")
    connection.execute("insert into t values (1, 'a', 0.5), (2, 'b', 1.5)")
    connection.commit()
    connection.close()
    made = tf.data.experimental.SqlDataset
    kinds = (tf.int64, tf.string, tf.float64)
    ds = made("sqlite", path, "select n, s, x from t order by n", kinds)
    wrong = made("sqlite", path, "select * from nothing", kinds)
    return listed(ds), spec(ds), raised(lambda: listed(wrong))


PROGRAMS = [
    dictionaries,
    classes,
    windows_of_structures,
    datasets_of_datasets,
    tensors_as_arguments,
    shapes_of_python_results,
    kinds_of_functions,
    control_flow_in_functions,
    assertions_in_functions,
    reduces_structures,
    ragged_from_generators,
    rejects,
    queries,
]
