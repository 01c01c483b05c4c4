"""Function.experimental_get_compiler_ir: what the compiler makes of a function."""

from __future__ import annotations

import numpy as np
import pytest

import talweg as tf


def made():
    held = tf.Variable(tf.ones([4, 4]))

    @tf.function(jit_compile=True)
    def step(x):
        held.assign_add(x)
        return tf.nn.softmax(x @ held)

    return step, held


@pytest.mark.parametrize("argument", [tf.ones([4, 4]), tf.TensorSpec([4, 4])])
def test_every_stage_has_a_text_and_nothing_is_run(argument):
    step, held = made()
    text_of = step.experimental_get_compiler_ir(argument)
    assert "reduce_max" in text_of() and text_of() == text_of(stage="hlo")
    assert "call gemm" in text_of("optimized_hlo") and "define" in text_of("llvm")
    assert "is made later" in text_of("fusion") and ".globl" in text_of("assembly")
    assert np.all(held.numpy() == 1)


def test_methods():
    class Layer:
        @tf.function
        def twice(self, x):
            return x * 2

    layer = Layer()
    assert "mul" in layer.twice.experimental_get_compiler_ir(tf.ones([3]))()


def test_what_is_wrong_is_said():
    step, _ = made()
    with pytest.raises(ValueError, match="one of hlo, optimized_hlo"):
        step.experimental_get_compiler_ir(tf.ones([4, 4]))("hlo_serialised")
    with pytest.raises(ValueError, match=r"argument 'x' has shape \(4, None\)"):
        step.experimental_get_compiler_ir(tf.TensorSpec([4, None]))
    with pytest.raises(TypeError, match="missing a required argument"):
        step.experimental_get_compiler_ir()
    unique = tf.function(lambda x: tf.unique(x).y)
    with pytest.raises(tf.errors.InvalidArgumentError, match="depends on values"):
        unique.experimental_get_compiler_ir(tf.ones([4]))
