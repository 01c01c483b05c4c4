"""tf.io.decode_proto and encode_proto; what they gave is what TensorFlow 2.21 gives."""

from types import SimpleNamespace

import pytest
from google.protobuf import descriptor_pb2

import talweg as tf
from talweg.api.io.protos import is_repeated

FIELDS = ["i", "r", "s", "f"]
KINDS = [tf.int32, tf.int64, tf.string, tf.float32]


@pytest.fixture
def described():
    """A FileDescriptorSet with a message of an integer, integers, a text and floats."""
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="m.proto", package="m", syntax="proto3")
    message = file.message_type.add(name="M")
    types = (kinds.TYPE_INT32, kinds.TYPE_INT64, kinds.TYPE_STRING, kinds.TYPE_FLOAT)
    for number, (name, kind) in enumerate(zip(FIELDS, types), 1):
        label = kinds.LABEL_REPEATED if name in "rf" else kinds.LABEL_OPTIONAL
        message.field.add(name=name, number=number, type=kind, label=label)
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


@pytest.fixture(params=["bytes", "file"])
def source(request, described, tmp_path):
    """The description in the text itself, or in a file."""
    if request.param == "bytes":
        return b"bytes://" + described
    path = tmp_path / "described.pb"
    path.write_bytes(described)
    return str(path)


def _encoded(source):
    values = [[[3]], tf.constant([[4, 5]], tf.int64), [["hi"]], [[1.5, 2.5]]]
    return tf.io.encode_proto([[1, 2, 1, 2]], values, FIELDS, "m.M", source)


def test_there_and_back(source):
    """Fields come back with their numbers; what is missing is a default, and counts as none."""
    two = tf.concat([_encoded(source), [b""]], 0)
    sizes, values = tf.io.decode_proto(two, "m.M", FIELDS, KINDS, source)
    assert sizes.numpy().tolist() == [[1, 2, 1, 2], [0, 0, 0, 0]]
    found = [x.numpy().tolist() for x in values]
    assert found == [[[3], [0]], [[4, 5], [0, 0]], [[b"hi"], [b""]], [[1.5, 2.5], [0.0, 0.0]]]


def test_in_a_function(source):
    """A traced function decodes when it runs."""
    decode = tf.function(lambda x: tf.io.decode_proto(x, "m.M", ["r"], [tf.int64], source)[1][0])
    assert decode(_encoded(source)).numpy().tolist() == [[4, 5]]


def test_text(source):
    """Messages in protobuf's text form."""
    text = ["i: 5 r: 1 r: 2"]
    given = "m.M", ["i", "r"], [tf.int32, tf.int64], source, "text"
    assert tf.io.decode_proto(text, *given)[1][1].numpy().tolist() == [[1, 2]]


@pytest.mark.parametrize(
    "message, field, kind, wrong",
    [("m.M", "zz", tf.int32, "Unknown field"), ("m.Q", "i", tf.int32, "No descriptor")]
    + [("m.M", "i", tf.float32, "output type"), ("m.M", "i", tf.int64, "output type")],
)
def test_mistakes(message, field, kind, wrong, source):
    """Fields, messages and dtypes that do not fit are refused."""
    with pytest.raises(tf.errors.InvalidArgumentError, match=wrong):
        tf.io.decode_proto([b""], message, [field], [kind], source)


def test_no_message(source):
    """Bytes that are no message are data that is lost."""
    with pytest.raises(tf.errors.DataLossError, match="Unable to parse"):
        tf.io.decode_proto([b"\xff\xff"], "m.M", ["i"], [tf.int32], source)


def test_match_filenames_once(tmp_path):
    """The names are found once; in a graph of TensorFlow 1 by the local initializer."""
    for name in "ab":
        (tmp_path / name).write_text("")
    wanted = [str(tmp_path / name).encode() for name in "ab"]
    assert tf.io.match_filenames_once(str(tmp_path / "*")).numpy().tolist() == wanted
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        names = v1.train.match_filenames_once(str(tmp_path / "*"))
        session.run(v1.local_variables_initializer())
        assert session.run(names).tolist() == wanted


@pytest.mark.parametrize("label, wanted", [(1, False), (3, True)])
def test_lists_of_older_versions_of_protobuf(label, wanted):
    """Before 6.31 a field says what it is by its label alone."""
    assert is_repeated(SimpleNamespace(label=label, LABEL_REPEATED=3)) is wanted
