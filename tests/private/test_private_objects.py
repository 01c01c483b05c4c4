"""Objects of TensorFlow's private modules that libraries build on; values are TensorFlow 2.21's."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import talweg as tf

embedding = tf.tpu.experimental.embedding


@pytest.fixture(autouse=True)
def _alias():
    tf.as_tensorflow()


def private(name: str):
    return importlib.import_module(f"tensorflow.python.{name}")


def test_bounded_specs():
    spec_class = private("framework.tensor_spec").BoundedTensorSpec
    spec = spec_class([2], tf.int32, 0, [1, 3], "x")
    assert spec == spec_class([2], tf.int32, [0, 0], [1, 3], "x")
    assert spec != spec_class([2], tf.int32, 0, [1, 3], "y")
    assert spec != tf.TensorSpec([2], tf.int32, "x") and tf.TensorSpec([2], tf.int32, "x") != spec
    assert spec.is_compatible_with(tf.constant([5, 9]))  # bounds are not asked
    assert spec_class.from_spec(tf.TensorSpec([1], tf.int32)).minimum == -(2**31)
    with pytest.raises(ValueError, match="`minimum` can not be None"):
        spec_class([2], tf.int32, None, 1)
    with pytest.raises(ValueError, match="`minimum`.*not compatible"):
        spec_class([2], tf.int32, [1, 2, 3], 1)


def test_bounded_specs_as_messages():
    coder = private("saved_model.nested_structure_coder")
    spec = private("framework.tensor_spec").BoundedTensorSpec([2], tf.int32, 0, [1, 3], "x")
    message = coder.encode_structure({"a": spec, "b": (1, [2.0])})
    assert message.dict_value.fields["a"].bounded_tensor_spec_value.minimum.int_val[:] == [0]
    assert coder.decode_proto(message) == {"a": spec, "b": (1, [2.0])}


def test_lists_of_tensors():
    lists = private("ops.list_ops")
    held = lists.tensor_list_from_tensor(tf.constant([[1.0, 2.0], [3.0, 4.0]]), [2])
    assert lists.tensor_list_length(held).numpy() == 2
    assert lists.tensor_list_gather(held, [1], tf.float32).numpy().tolist() == [[3.0, 4.0]]
    more = lists.tensor_list_push_back(lists.empty_tensor_list([], tf.float32), tf.constant(5.0))
    assert lists.tensor_list_stack(more, tf.float32).numpy().tolist() == [5.0]


def test_matrices_in_compressed_rows():
    module = private("ops.linalg.sparse.sparse")
    dense = tf.constant([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    other = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    matrix = module.CSRSparseMatrix(tf.sparse.from_dense(dense))
    want = np.array([[11.0, 14.0], [9.0, 12.0]])
    assert np.allclose(module.matmul(matrix, other), want)
    assert np.allclose(module.matmul(other, matrix, transpose_a=True, transpose_b=True), want.T)
    product = module.matmul(matrix, module.CSRSparseMatrix(tf.sparse.from_dense(other)))
    assert np.allclose(tf.sparse.to_dense(product.to_sparse_tensor()), want)
    assert matrix.nnz().numpy() == 3 and matrix.transpose().shape.as_list() == [3, 2]
    with tf.GradientTape() as tape:
        tape.watch(other)
        total = tf.reduce_sum(module.matmul(matrix, other))
    assert tape.gradient(total, other).numpy().tolist() == [[1.0, 1.0], [3.0, 3.0], [2.0, 2.0]]
    batch = module.CSRSparseMatrix(tf.stack([dense, dense * 2.0]))
    both = module.matmul(batch, tf.stack([other, other]))
    assert np.allclose(both, [want, 2 * want]) and batch.nnz().numpy().tolist() == [3, 3]


def test_arguments_of_calls():
    inspect = private("util.tf_inspect")

    def f(x, y=2, *, z=3, **kwargs):
        return x

    assert inspect.getcallargs(f, 1, w=4) == {"x": 1, "y": 2, "z": 3, "w": 4}
    assert inspect.getcallargs(f, y=5, x=1) == {"x": 1, "y": 5, "z": 3}


def test_arguments_of_functions_of_saved_models(tmp_path):
    """TensorFlow Hub asks them whether they take `training`."""

    class Module(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([], tf.bool)])
        def __call__(self, x, training=False):
            return tf.cond(training, lambda: x * 2.0, lambda: x)

    tf.saved_model.save(Module(), str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    found = private("util.tf_inspect").getfullargspec(loaded.__call__)
    assert found.args == ["x", "training"] and found.defaults == (False,)


def test_the_global_step_of_eager_programs():
    train = tf.compat.v1.train
    step = train.get_or_create_global_step()
    assert step is train.get_or_create_global_step() and step is train.get_global_step()
    before = step.numpy()
    step.assign_add(2)
    assert step.numpy() == before + 2
    with pytest.raises(ValueError, match="already exists"):
        train.create_global_step()
    assert tf.compat.v1.scatter_update(tf.Variable([1.0]), [0], [2.0]).op is None


def test_a_tensor_of_one_element_fills_a_constant():
    assert tf.constant(tf.constant("a"), shape=[2]).numpy().tolist() == [b"a", b"a"]
    assert tf.constant(tf.constant([3]), shape=[2, 1]).numpy().tolist() == [[3], [3]]


def test_embeddings_for_serving():
    table = embedding.TableConfig(4, 2)
    config = {
        "a": embedding.FeatureConfig(table),
        "b": embedding.FeatureConfig(table, max_sequence_length=2),
        "c": embedding.FeatureConfig(table),
    }
    tables = {table: tf.Variable(tf.reshape(tf.range(8.0), (4, 2)))}
    ids = tf.ragged.constant([[0, 1], [2]], dtype=tf.int64)
    inputs = {"a": tf.constant([1, 3]), "b": ids, "c": ids.to_sparse()}
    found = embedding.serving_embedding_lookup(inputs, None, tables, config)
    assert found["a"].numpy().tolist() == [[2.0, 3.0], [6.0, 7.0]]
    assert found["b"].numpy().tolist() == [[[0, 1], [2, 3]], [[4, 5], [0, 0]]]
    assert found["c"].numpy().tolist() == [[1.0, 2.0], [4.0, 5.0]]
    with pytest.raises(ValueError, match="a sequence"):
        embedding.serving_embedding_lookup(inputs, {**inputs, "a": None}, tables, config)
    with pytest.raises(tf.errors.UnimplementedError, match="TPUEmbeddingForServing"):
        embedding.TPUEmbedding(config, None)
    for wrong in ({"vocabulary_size": 0}, {"dim": 0}, {"combiner": "x"}, {"initializer": 3}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            embedding.TableConfig(**{"vocabulary_size": 1, "dim": 1, **wrong})
    with pytest.raises(ValueError, match="clipvalue"):
        embedding.SGD(clipvalue=1.0, use_gradient_accumulation=False)
