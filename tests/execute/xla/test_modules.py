"""Modules of StableHLO as operations (XlaCallModule), and functions as modules of HLO."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf
from talweg.core.errors import InvalidArgumentError, UnimplementedError
from talweg.private import xla

jax = pytest.importorskip("jax", reason="modules of StableHLO are run by JAX, an extra")
export = pytest.importorskip("jax.export")
mlir = pytest.importorskip("jax.extend.mlir")
X = np.linspace(-1, 1, 6).reshape(2, 3).astype("float32")


def module_of(function, *shapes, platforms=("cpu",)):
    """The attributes of a function of JAX as a module."""
    given = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    made = export.export(jax.jit(function), platforms=platforms)(*given)
    return {
        "version": made.calling_convention_version,
        "module": made.mlir_module_serialized,
        "platforms": tuple(name.upper() for name in platforms),
        "Tout": [tf.dtypes.as_dtype(aval.dtype) for aval in made.out_avals],
        "Sout": [[d if type(d) is int else None for d in aval.shape] for aval in made.out_avals],
    }


def both(x):
    """A matrix and a whole number."""
    return jax.numpy.sin(x) @ x.T, jax.numpy.argmax(x.sum(1))


def test_a_module_at_once_and_in_a_function():
    attributes = module_of(both, X.shape)
    wanted = [np.sin(X) @ X.T, 1]
    for found in (xla.call_module([X], **attributes), graph_call(attributes)(tf.constant(X))):
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-6)
        assert int(found[1]) == wanted[1] and found[1].dtype is tf.int32


def graph_call(attributes):
    """A function that calls a module of one operand."""
    return tf.function(lambda x: xla.call_module([x], **attributes))


@pytest.mark.parametrize("platforms", [("cpu",), ("cuda", "cpu")])
def test_sizes_that_a_module_leaves_open(platforms, tmp_path):
    """They are put in by each call; a saved model keeps the module."""
    shape = export.symbolic_shape("b, 3")
    attributes = module_of(lambda x: (x * 2).sum(1), shape, platforms=platforms)
    module = tf.Module()
    spec = tf.TensorSpec([None, 3], tf.float32)
    module.f = tf.function(lambda x: xla.call_module([x], **attributes)[0], input_signature=[spec])
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert module.f.get_concrete_function().output_shapes.as_list() == [None]
    for rows in (1, 2):
        np.testing.assert_allclose(module.f(X[:rows]), 2 * X[:rows].sum(1), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(loaded.f(X[:rows]), 2 * X[:rows].sum(1), rtol=1e-5, atol=1e-6)


def test_what_a_module_does_not_take():
    attributes = module_of(both, X.shape)
    with pytest.raises(InvalidArgumentError, match="2 arguments"):
        xla.call_module([X, X], **attributes)
    with pytest.raises(UnimplementedError, match="version 3"):
        xla.call_module([X], **{**attributes, "version": 3})
    with pytest.raises(InvalidArgumentError, match="TPU"):
        xla.call_module([X], **{**attributes, "platforms": ("TPU", "CUDA")})


def test_a_function_as_a_module_of_hlo():
    """Its parameters are the arguments, then what the function captures; JAX runs it."""
    v = tf.Variable([1.0, 2.0, 3.0])
    f = tf.function(lambda x: (tf.sin(x) * v, tf.reduce_sum(x, 1)))
    data = f.experimental_get_compiler_ir(tf.TensorSpec([2, 3]))(
        stage="hlo_serialized", platform_name="CPU"
    )
    text = str(mlir.hlo_to_stablehlo(data))
    assert isinstance(data, bytes) and len(text) > 100
    concrete = f.get_concrete_function(tf.TensorSpec([2, 3]))
    assert len(concrete.captured_inputs) == 1
    writes = tf.function(lambda x: v.assign_add(x))
    with pytest.raises(InvalidArgumentError, match="writes"):
        writes.experimental_get_compiler_ir(tf.ones([3]))("hlo_serialized")
    with pytest.raises(ValueError, match="TPU"):
        f.experimental_get_compiler_ir(tf.ones([2, 3]))("hlo", platform_name="TPU")
