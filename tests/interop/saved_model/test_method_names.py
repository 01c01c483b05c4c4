"""Names of methods in signatures, changed in the file of a saved model."""

import os

import pytest

import talweg as tf
from talweg.interop.saved_model.messages import read_saved_model

Updater = tf.compat.v1.saved_model.signature_def_utils.MethodNameUpdater


class Doubling(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def double(self, x):
        return {"y": x * 2.0}


@pytest.fixture
def folder(tmp_path):
    module, path = Doubling(), str(tmp_path / "model")
    tf.saved_model.save(module, path, signatures={"a": module.double, "b": module.double})
    return path


def names(folder):
    (graph,) = read_saved_model(folder).meta_graphs
    return {key: graph.signature_def[key].method_name for key in ("a", "b")}


def test_names_are_changed_when_saved(folder):
    before = names(folder)
    updater = Updater(folder)
    updater.replace_method_name("a", "regress")
    updater.replace_method_name("b", "classify", tags="serve")
    assert names(folder) == before
    updater.save()
    assert names(folder) == {"a": "regress", "b": "classify"}
    assert tf.saved_model.load(folder).signatures["a"](tf.constant(3.0))["y"].numpy() == 6.0


def test_a_new_folder_gets_the_file(folder, tmp_path):
    updater = Updater(folder)
    updater.replace_method_name("a", "regress")
    updater.save(str(tmp_path / "other"))
    assert os.listdir(tmp_path / "other") == ["saved_model.pb"]
    assert names(str(tmp_path / "other"))["a"] == "regress" != names(folder)["a"]


def test_what_is_refused(folder, tmp_path):
    with pytest.raises(OSError):
        Updater(str(tmp_path / "nothing"))
    updater = Updater(folder)
    for given in (("", "x"), ("a", ""), ("zz", "x"), ("a", "x", "train")):
        with pytest.raises(ValueError):
            updater.replace_method_name(*given)


def test_a_function_compiled_as_a_whole():
    compiled = tf.xla.experimental.compile
    assert [x.numpy() for x in compiled(lambda x, y: (x * 2, y), [3.0, 1])] == [6.0, 1]
    assert compiled(lambda x: {"a": x}, [3.0])["a"].numpy() == 3.0


def test_a_scope_of_compilation_is_for_graphs():
    with pytest.raises(RuntimeError, match="eager"), tf.xla.experimental.jit_scope():
        pass

    @tf.function
    def inside(x):
        with tf.xla.experimental.jit_scope():
            return x + 1.0

    assert inside(tf.constant(1.0)).numpy() == 2.0
