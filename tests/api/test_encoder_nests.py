"""Encoders of extension types that give a tensor, or a nest, for a value."""

import pytest

import talweg as tf


def made(wrap, unwrap):
    class Encoder(tf.experimental.ExtensionTypeBatchEncoder):
        def batch(self, spec, batch_size):
            return Number.Spec(tf.TensorSpec([batch_size], tf.float32))

        def unbatch(self, spec):
            return Number.Spec(tf.TensorSpec([], tf.float32))

        def encode(self, spec, value, minimum_rank=0):
            return wrap(value.x)

        def decode(self, spec, encoding):
            return Number(unwrap(encoding))

        def encoding_specs(self, spec):
            return wrap(spec.x)

    class Number(tf.experimental.BatchableExtensionType):
        x: tf.Tensor
        __batch_encoder__ = Encoder()

    return Number


@pytest.mark.parametrize(
    ("wrap", "unwrap"),
    [
        (lambda x: x, lambda e: e),
        (lambda x: {"x": x}, lambda e: e["x"]),
        (lambda x: [(x,)], lambda e: e[0][0]),
    ],
)
def test_what_encoders_give(wrap, unwrap):
    number = made(wrap, unwrap)
    batches = tf.data.Dataset.from_tensor_slices(number(tf.constant([1.0, 2.0, 3.0]))).batch(2)
    assert [batch.x.numpy().tolist() for batch in batches] == [[1.0, 2.0], [3.0]]
