"""A fault of the compiler is no refusal: broken passes are noticed, whatever they break."""

from __future__ import annotations

import ast
import logging
import re
from pathlib import Path

import numpy as np
import pytest

import talweg as tf
from talweg.core import settings
from talweg.core.errors import InternalError
from talweg.core.primitive import REGISTRY, later
from talweg.execute import compilation, eager_kernels, manifest
from talweg.execute.llvm.link import code
from talweg.lower import build as building
from talweg.lower.fusion.inline import UnloweredError
from talweg.passes import faults
from talweg.passes.optimize import (
    contractions,
    loop_invariants,
    matrix_chains,
    pipeline,
    simplify,
    split_reductions,
)
from talweg.passes.reasons import Reason, SpecializationError
from talweg.passes.specialize.program import StaticProgram, Value, constant
from talweg.passes.specialize.specializer import specialize

PACKAGE = Path(tf.__file__).parent
x = np.linspace(-1, 1, 65_537).astype(np.float32)


def in_parts_that_do_not_fit(patch):
    """The mutant that all tests of the compiler missed once."""
    patch.setattr(
        split_reductions,
        "_parts",
        lambda e: (16, e.inputs[0].size // 16, 1) if "fold" in e.prim.lowering else None,
    )


def forgetting_a_rule(patch):
    def broken(equation):
        raise AttributeError("no such rule")

    patch.setattr(
        StaticProgram, "rewrite", lambda static, rule: list(map(broken, static.equations))
    )


def refusing(name):
    def broken(patch):
        def refuse(static):
            raise SpecializationError(Reason.SIZE_OF_VALUE)

        patch.setitem(pipeline.PASSES, name, refuse)

    broken.__name__ = f"{name} refuses"
    return broken


def losing_an_equation(patch):
    """Its result is used, and nobody computes it."""
    patch.setitem(pipeline.PASSES, "simplify", lambda static: static.equations.pop(0))


def with_operands_of_other_shapes(patch):
    def broken(static):
        static.apply(later("add"), [static.inputs[0], constant(np.ones(3, np.float32))], {})

    patch.setitem(pipeline.PASSES, "find_products", broken)


def lowering_refuses(patch):
    def refuse(*given, **named):
        raise UnloweredError("no loops")

    patch.setattr(compilation, "build", refuse)


def lowering_says_not_straight(patch):
    def refuse(*given, **named):
        raise SpecializationError(Reason.STACK_USED)

    patch.setattr(compilation, "build", refuse)


def llvm_that_does_not_parse_it(patch):
    def broken(*given):
        raise RuntimeError("LLVM IR parsing error")

    patch.setattr(compilation, "executable_of", broken)


def a_recipe_with_wrong_shapes(patch):
    recipe = dict(REGISTRY["softmax"].lowering)
    recipe["expand"] = lambda t, x, **params: t.reshape(x, shape=(5,))
    patch.setattr(REGISTRY["softmax"], "lowering", recipe)


def a_specializer_with_a_typo(patch):
    patch.setattr(compilation, "specialize", lambda *given: given.no_such_name)


def a_key_that_cannot_be_made(patch):
    def broken(program):
        raise KeyError("no text for this")

    patch.setattr(manifest, "text_of", broken)


BROKEN = [
    (in_parts_that_do_not_fit, "split"),
    (forgetting_a_rule, "simplify"),
    *[(refusing(name), name) for name in pipeline.PASSES],
    (losing_an_equation, "lower"),
    (with_operands_of_other_shapes, "find_products"),
    (lowering_refuses, "lower"),
    (lowering_says_not_straight, "lower"),
    (llvm_that_does_not_parse_it, "machine code"),
    (a_recipe_with_wrong_shapes, "the recipe of softmax"),
    (a_specializer_with_a_typo, "specialize"),
    (a_key_that_cannot_be_made, "name of the program"),
]


def program():
    """One that no other test has compiled, nor left on disk."""
    return tf.function(lambda x: tf.reduce_sum(tf.nn.softmax(x) * tf.tanh(x)))


@pytest.fixture
def nothing_kept(monkeypatch):
    """Nothing comes from the disk: it would be as it was made before; nothing is checked."""
    monkeypatch.setattr(settings.check, "value", False)
    monkeypatch.setattr(manifest, "load", lambda *given: None)
    monkeypatch.setattr(manifest, "keep", lambda key, program, made: None)
    monkeypatch.setattr(faults, "_reported", set())


@pytest.mark.parametrize(("breaks", "named"), BROKEN, ids=[b.__name__ for b, _ in BROKEN])
def test_a_broken_part_of_the_compiler_is_named(breaks, named, nothing_kept, monkeypatch):
    with settings.strict(False), settings.executor("llvm"):
        function = program()
        breaks(monkeypatch)
        with pytest.raises(InternalError, match="TW404") as caught:
            function(x)
    text = str(caught.value)
    assert f"the compiler failed in {named!r}" in text
    assert f"at: {__file__}" in text and "TALWEG_DUMP" in text
    assert caught.value.__cause__ is not None
    with settings.executor("llvm"):  # nothing is left of it
        monkeypatch.undo()
        np.testing.assert_allclose(function(x), program()(x), rtol=1e-6)


@pytest.mark.parametrize(("breaks", "named"), BROKEN[:3], ids=[b.__name__ for b, _ in BROKEN[:3]])
def test_by_default_the_interpreter_goes_on_and_it_is_said_once(
    breaks, named, nothing_kept, monkeypatch, caplog
):
    expected = np.sum(np.exp(x) / np.exp(x).sum() * np.tanh(x))
    breaks(monkeypatch)
    with settings.strict(False), settings.executor("auto"), caplog.at_level(logging.ERROR):
        for _ in range(2):  # another function breaks in the same way: nothing new
            function = program()
            for _ in range(5):
                monkeypatch.setattr("talweg.execute.executor.INTERPRETED_PART", 0.0)
                np.testing.assert_allclose(function(x), expected, rtol=1e-4)
    (record,) = [record for record in caplog.records if record.name == "talweg"]
    assert named in record.getMessage() and "TW404" in record.getMessage()
    assert "TALWEG_DUMP" in record.getMessage() and record.exc_info is not None


def test_in_tests_and_where_it_is_asked_for_it_is_raised_by_default_too(nothing_kept, monkeypatch):
    assert settings.strict.get()  # by conftest.py
    in_parts_that_do_not_fit(monkeypatch)
    monkeypatch.setattr("talweg.execute.executor.INTERPRETED_PART", 0.0)
    with settings.executor("auto"), pytest.raises(InternalError, match="'split'"):
        function = program()
        for _ in range(5):
            function(x)


def test_what_goes_wrong_on_disk_is_made_anew(monkeypatch, caplog):
    def broken(*given):
        raise KeyError("buffers")

    for name in ("load", "keep"):
        monkeypatch.setattr(manifest, name, broken)
    monkeypatch.setattr(faults, "_reported", set())
    with settings.executor("auto"), settings.strict(False), caplog.at_level(logging.ERROR):
        monkeypatch.setattr("talweg.execute.executor.INTERPRETED_PART", 0.0)
        function = program()
        for _ in range(4):
            result = function(x)
    messages = [record.getMessage() for record in caplog.records if record.name == "talweg"]
    assert len(messages) == 2 and all("compiled without that" in each for each in messages)
    assert "'loading from disk'" in messages[0] and "'keeping on disk'" in messages[1]
    with settings.executor("llvm"), pytest.raises(InternalError, match="loading from disk"):
        program()(x)
    np.testing.assert_allclose(result, np.sum(np.exp(x) / np.exp(x).sum() * np.tanh(x)), rtol=1e-4)


@pytest.mark.parametrize("executor", ["auto", "llvm"])
def test_no_llvm_is_nobodys_fault(executor, nothing_kept, monkeypatch, caplog):
    real = code.import_module

    def without(name):
        if name.startswith("llvmlite"):
            raise OSError("the shared library cannot be loaded")
        return real(name)

    monkeypatch.setattr(code, "import_module", without)
    monkeypatch.setattr(manifest, "key_of", lambda *given: None)
    monkeypatch.setattr(code, "fingerprint", lambda: "none")
    monkeypatch.setattr(code, "cache", type("Off", (), {"get": lambda key: None}))
    monkeypatch.setattr("talweg.execute.executor.INTERPRETED_PART", 0.0)
    with settings.executor(executor), caplog.at_level(logging.ERROR):
        function = program()
        for _ in range(3):
            result = function(x)
    np.testing.assert_allclose(result, np.sum(np.exp(x) / np.exp(x).sum() * np.tanh(x)), rtol=1e-4)
    assert not [record for record in caplog.records if record.name == "talweg"]


def test_no_memory_is_nobodys_fault(nothing_kept, monkeypatch, caplog):
    def full(*given, **named):
        raise MemoryError

    monkeypatch.setattr(compilation, "build", full)
    monkeypatch.setattr("talweg.execute.executor.INTERPRETED_PART", 0.0)
    with settings.executor("auto"), caplog.at_level(logging.ERROR):
        function = program()
        for _ in range(3):
            function(x)
    assert not [record for record in caplog.records if record.name == "talweg"]
    with settings.executor("llvm"):  # the interpreter may do, or says what needs too much
        program()(x)


def test_a_heavy_operation_whose_compilation_fails(nothing_kept, monkeypatch, caplog):
    images, filters = tf.ones([2, 6, 6, 3]), tf.ones([3, 3, 3, 2])
    expected = tf.nn.conv2d(images, filters, 1, "SAME").numpy()
    monkeypatch.setattr(eager_kernels, "SECONDS", 0.0)
    monkeypatch.setattr(eager_kernels.heavy, "compiled", {})
    lowering_refuses(monkeypatch)
    with settings.executor("auto"), pytest.raises(InternalError, match="'lower'"):
        tf.nn.conv2d(images, filters, 1, "SAME")
    with settings.executor("auto"), settings.strict(False), caplog.at_level(logging.ERROR):
        for _ in range(2):
            assert np.array_equal(tf.nn.conv2d(images, filters, 1, "SAME"), expected)
    assert len([record for record in caplog.records if record.name == "talweg"]) == 1


def test_the_stages_that_were_reached_are_written(nothing_kept, monkeypatch, tmp_path):
    in_parts_that_do_not_fit(monkeypatch)
    with settings.dump(str(tmp_path)), settings.executor("llvm"), pytest.raises(InternalError):
        program()(x)
    (folder,) = tmp_path.iterdir()
    names = {path.name for path in folder.iterdir()}
    assert {"fault.txt", "static-0.txt", "static-simplify.txt"} <= names
    assert "static-split.txt" not in names
    assert "passes/optimize/split_reductions.py" in (folder / "fault.txt").read_text()


# -- refusals


def test_a_program_that_fails_for_sure_is_refused_where_it_is_specialized():
    @tf.function(input_signature=[tf.TensorSpec([3])])
    def fails(x):
        return tf.gather(x, tf.constant([5])) * 2

    with pytest.raises(tf.errors.InvalidArgumentError, match="always-fails"):
        fails.experimental_get_compiler_ir(tf.ones([3]))("hlo")
    for executor in ("interpret", "llvm"):
        with settings.executor(executor), pytest.raises(tf.errors.InvalidArgumentError):
            fails(tf.ones([3]))


def test_a_guard_that_a_pass_finds_to_be_false_is_lowered_all_the_same():
    static = StaticProgram()
    static.inputs = [Value((3,), tf.float32)]
    static.outputs = [static.apply(later("neg"), static.inputs, {})]
    static.guards = [constant(np.False_)]
    lowered = building.build(static, "fails", 1)
    assert lowered.guard and len(lowered.outputs) == 2


def test_refusals_are_shown_with_their_codes(capsys):
    @tf.function
    def masked(x):
        return tf.boolean_mask(x, x > 0)

    with settings.executor("llvm"), settings.debug(1):
        masked(tf.ones([3]))
    assert re.search(r"but for nonzero: .*\[shape-of-result\]", capsys.readouterr().err)


def _raised(path: Path):
    """Lines of NotStraightErrors that a file raises."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "NotStraightError":
            yield node.lineno


def test_only_what_specializes_refuses_and_each_reason_is_one_that_is_given():
    given = set()
    for path in PACKAGE.rglob("*.py"):
        given.update(re.findall(r"\bReason\.([A-Z_]+)\b", path.read_text("utf-8")))
        for line in _raised(path):
            place = f"{path.relative_to(PACKAGE)}:{line}"
            assert path.parent.name == "passes" or path.name == "execute/compilation.py", place
    assert given == set(Reason.__members__)
    for module in (simplify, split_reductions, matrix_chains, contractions, loop_invariants):
        assert not list(_raised(Path(module.__file__))), module
    assert specialize.__module__ == "talweg.passes.specialize.specializer"


def test_the_codes_are_listed_in_the_documentation():
    text = (PACKAGE.parent / "docs" / "compiler.md").read_text("utf-8")
    section = text.split("## Refusals and faults")[1].split("\n## ")[0]
    rows = "".join(line for line in section.splitlines() if line.startswith("| "))
    assert sorted(re.findall(r"`([a-z-]+)`", rows)) == sorted(reason.code for reason in Reason)
