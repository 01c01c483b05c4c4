"""Code for processors that are not here: NEON and AVX-512 are reached by the same route.

It is made and looked at, not run.
"""

from __future__ import annotations

import re

import llvmlite.binding as llvm
import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.execute.llvm.codegen.program import emit
from talweg.execute.llvm.link import jit
from talweg.execute.llvm.runtime import entry_stub, thread_pool_ir
from talweg.execute.llvm.vector_math import library
from talweg.passes.functionalize import program_of

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()

NEON = ("aarch64-unknown-linux-gnu", "neoverse-n1", 16)
APPLE = ("arm64-apple-darwin", "apple-m1", 16)
AVX512 = ("x86_64-unknown-linux-gnu", "sapphirerapids", 64)
SSE = ("x86_64-unknown-linux-gnu", "x86-64", 16)
WINDOWS = ("x86_64-pc-windows-msvc", "haswell", 32)


def assembly(text: str, triple: str, cpu: str) -> str:
    """The instructions of a module for a processor."""
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=cpu, opt=2, reloc="pic", codemodel="small", jit=True)
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple, module.data_layout = triple, str(machine.target_data)
    jit.optimize(module)
    return machine.emit_assembly(module)


@pytest.fixture(scope="module")
def program():
    """A training step: convolution, pooling, products, softmax, a scatter, random numbers."""
    filters = tf.Variable(np.ones((3, 3, 1, 16), np.float32))
    weights = tf.Variable(np.ones((14 * 14 * 16, 64), np.float32))
    head = tf.Variable(np.ones((64, 10), np.float32))
    table = tf.Variable(np.ones((50, 64), np.float32))

    @tf.function
    def step(images, ids, labels):
        with tf.GradientTape() as tape:
            h = tf.nn.max_pool2d(
                tf.nn.relu(tf.nn.conv2d(images, filters, 1, "SAME")), 2, 2, "VALID"
            )
            h = tf.nn.gelu(tf.reshape(h, [8, -1]) @ weights) + tf.gather(table, ids)
            h = tf.nn.dropout(tf.cast(tf.cast(h, tf.bfloat16), tf.float32), 0.1)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.tanh(h) @ head)
            )
        variables = [filters, weights, head, table]
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(0.1 * tf.convert_to_tensor(gradient))
        return loss

    arguments = [
        tf.zeros([8, 28, 28, 1]),
        tf.zeros([8], tf.int32),
        tf.zeros([8], tf.int32),
    ]
    with settings.executor("llvm"):
        step(*arguments)
    body = step.get_concrete_function(*arguments).body
    (version,) = program_of(body).tier.versions.values()
    return version.lowered.program


@pytest.mark.parametrize(
    "processor, products",
    [
        (NEON, r"fmla\s+v\d+\.4s"),
        (APPLE, r"fmla\.4s"),
        (AVX512, r"vfmadd\w+ps\s.*%zmm"),
        (SSE, r"mulps\s.*%xmm"),
        (WINDOWS, r"vfmadd\w+ps\s.*%ymm"),
    ],
    ids=["neon", "apple", "avx512", "sse", "windows"],
)
def test_programs(program, processor, products):
    triple, cpu, vector_bytes = processor
    text = emit(program, vector_bytes, library.VectorMathLibrary())
    made = assembly(text, triple, cpu)
    assert len(re.findall(products, made)) > 50
    assert not re.search(r"\b(expf|tanhf|erff|logf)\b", made)  # no calls of the C library


@pytest.mark.parametrize("processor", [NEON, APPLE, WINDOWS], ids=["neon", "apple", "windows"])
def test_the_pool_and_the_entry(processor, monkeypatch):
    triple, cpu, _ = processor
    machine = "AMD64" if triple.startswith("x86") else "arm64"
    monkeypatch.setattr("platform.machine", lambda: machine)
    for text in (thread_pool_ir.text(), entry_stub.text()):
        assert len(assembly(text, triple, cpu)) > 1000
