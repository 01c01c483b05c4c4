"""Tables of a vocabulary, as programs of TensorFlow 1 take them from `lookup_ops`; the results are
TensorFlow's.
"""

from __future__ import annotations

import pytest

import talweg as tf
from talweg.private import lookup_tables as tables

v1 = tf.compat.v1


@pytest.fixture
def files(tmp_path):
    paths = []
    for name, lines in (("words", "abc"), ("numbers", ("10", "20", "30"))):
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines))
        paths.append(str(path))
    return paths


def values(make, keys):
    """What a table gives eagerly, which a session must give, too."""
    eager = make().lookup(tf.constant(*keys)).numpy().tolist()
    with tf.Graph().as_default(), v1.Session() as session:
        looked_up = make().lookup(tf.constant(*keys))
        session.run(v1.tables_initializer())
        assert session.run(looked_up).tolist() == eager
    return eager


def test_ids_of_the_lines_of_a_file(files):
    words, numbers = files
    keys, integers = (["b", "z", "c"],), ([20, 5, 30], tf.int64)
    from_file = tables.index_table_from_file
    assert values(lambda: from_file(words), keys) == [1, -1, 2]
    assert values(lambda: from_file(words, default_value=7, vocab_size=2), keys) == [1, 7, 7]
    assert values(lambda: from_file(words, num_oov_buckets=3), keys) == [1, 4, 2]
    hashed = lambda: from_file(numbers, num_oov_buckets=2, key_dtype=tf.int64)  # noqa: E731
    assert values(hashed, integers) == [1, 4, 2]
    assert values(lambda: from_file(numbers, key_dtype=tf.int32), integers) == [1, -1, 2]


def test_ids_of_the_elements_of_a_vector():
    from_tensor = tables.index_table_from_tensor
    assert values(lambda: from_tensor(["x", "y"], 1), (["y", "q"],)) == [1, 2]
    assert values(lambda: from_tensor(tf.constant(["x", "y"])), (["y", "q"],)) == [1, -1]
    hashed = lambda: from_tensor([4, 5], dtype=tf.int32, num_oov_buckets=1)  # noqa: E731
    assert values(hashed, ([5, 9],)) == [1, 2]
    assert values(lambda: from_tensor([4, 5], dtype=tf.int64), ([5, 9], tf.int64)) == [1, -1]


def test_strings_of_ids(files):
    keys = ([0, 2, 9], tf.int64)
    from_file = tables.index_to_string_table_from_file
    assert values(lambda: from_file(files[0]), keys) == [b"a", b"c", b"UNK"]
    short = lambda: from_file(files[0], default_value="?", vocab_size=2)  # noqa: E731
    assert values(short, keys) == [b"a", b"?", b"?"]
    from_tensor = tables.index_to_string_table_from_tensor
    assert values(lambda: from_tensor(["p", "q"]), ([1, 2], tf.int64)) == [b"q", b"UNK"]


def test_what_is_no_vocabulary(files):
    (words, _), from_file = files, tables.index_table_from_file
    to_string = tables.index_to_string_table_from_file
    for make in (
        lambda: from_file(None),
        lambda: from_file(words, -1),
        lambda: from_file(words, vocab_size=0),
        lambda: to_string(""),
        lambda: to_string(words, vocab_size=0),
        lambda: tables.index_table_from_tensor(None),
        lambda: tables.index_table_from_tensor(["a"], dtype=tf.int64),
        lambda: tables.index_table_from_tensor(["a"], num_oov_buckets=-1),
        lambda: tables.index_to_string_table_from_tensor(None),
    ):
        with pytest.raises(ValueError):
            make()
    for make in (
        lambda: from_file(words, key_dtype=tf.float32),
        lambda: tables.index_table_from_tensor(["a"], dtype=tf.float32),
    ):
        with pytest.raises(TypeError):
            make()


def test_libraries_find_them():
    tf.as_tensorflow()
    from tensorflow.python.ops import lookup_ops

    assert lookup_ops.index_table_from_file is tables.index_table_from_file
