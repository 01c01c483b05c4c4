"""Converted code that was kept on disk is what converting gives, and is used only where it is."""

from __future__ import annotations

import importlib.util
import itertools
import os
import subprocess
import sys
import textwrap
from importlib import import_module

import pytest

import talweg as tf
from talweg.core import settings

_numbers = itertools.count()
HALVINGS = """
    import talweg as tf

    def halvings(x):
        n = 0
        while x > 1:
            x, n = x // 2, n + 1
        return n
"""


@pytest.fixture(autouse=True)
def cache(tmp_path):
    """An empty cache."""
    before = settings.cache.get()
    settings.cache.set(str(tmp_path / "cache"))
    yield tmp_path / "cache"
    settings.cache.set(before)


@pytest.fixture
def converted(monkeypatch):
    """The names of the functions that malt was asked to convert."""
    transpiler, found = import_module("talweg.trace.autograph.transpiler"), []

    def noted(convert):
        def wrapper(function, *rest):
            found.append(function.__name__)
            return convert(function, *rest)

        return wrapper

    monkeypatch.setattr(transpiler, "convert", noted(transpiler.convert))
    monkeypatch.setattr(transpiler, "convert_loops", noted(transpiler.convert_loops))
    return found


@pytest.fixture
def load(tmp_path):
    """Imports text as if in a new process: all code objects are new."""

    def load(text, name="user_module", file="user_module.py"):
        path = tmp_path / file
        path.write_text(textwrap.dedent(text))
        os.utime(path, ns=(next(_numbers), next(_numbers)))  # or linecache keeps what it has
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            spec.loader.exec_module(module)
        finally:
            sys.dont_write_bytecode = before
        return module

    return load


def test_a_function_is_converted_once(load, converted):
    for _ in range(3):
        assert int(tf.function(load(HALVINGS).halvings)(tf.constant(40))) == 5
    assert converted == ["halvings"]


def test_other_lines_are_converted(load, converted):
    assert int(tf.function(load(HALVINGS).halvings)(tf.constant(40))) == 5
    other = HALVINGS.replace("x // 2", "x // 3")
    assert int(tf.function(load(other).halvings)(tf.constant(40))) == 3
    moved = HALVINGS.replace("def halvings", "\n    def halvings")
    assert int(tf.function(load(moved).halvings)(tf.constant(40))) == 5
    assert converted == ["halvings"] * 3


def test_without_a_cache_everything_is_converted(load, converted):
    settings.cache.set("off")
    for _ in range(2):
        assert int(tf.function(load(HALVINGS).halvings)(tf.constant(40))) == 5
    assert converted == ["halvings"] * 2


def test_a_damaged_entry_is_made_again(load, converted, cache):
    tf.function(load(HALVINGS).halvings)(tf.constant(40))
    for path in cache.iterdir():
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    assert int(tf.function(load(HALVINGS).halvings)(tf.constant(40))) == 5
    assert converted == ["halvings"] * 2


def test_names_of_the_module_are_not_taken(load):
    text = """
        import talweg as tf

        def limited(x):
            while x > limit(x):
                x = x - 1
            return loop_body(x)

        def limit(x):
            return 3
    """
    first = load(text + "\n        loop_body = None\n")
    first.limit(0)
    with pytest.raises(TypeError):
        tf.function(first.limited)(tf.constant(9))
    second = load(text + "\n        loop_body = lambda x: x * 7\n")
    assert int(tf.function(second.limited)(tf.constant(9))) == 21


def test_closures_lambdas_methods_and_defaults(load, converted):
    text = """
        import talweg as tf

        class Scale:
            __factor = 3

            def run(self, x, times=2, *, more=1):
                if tf.reduce_sum(x) > 0:
                    x = x * self.__factor
                return x * times + more

        class Double(Scale):
            def run(self, x):
                return super().run(x) if tf.reduce_sum(x) > 1 else x

        def adder(amount):
            def add(x):
                return x + amount if x > 0 else x
            return add

        choose = lambda x: x if x > 0 else -x
    """
    for _ in range(2):
        module = load(text)
        x = tf.constant(2)
        assert int(tf.function(module.Scale().run)(x)) == 13
        assert int(tf.function(module.Double().run)(x)) == 13
        assert int(tf.function(module.adder(5))(x)) == 7
        assert int(tf.function(module.adder(6))(x)) == 8
        assert int(tf.function(module.choose)(-x)) == 2
    assert sorted(converted) == ["<lambda>", "add", "run", "run"]


def test_what_needs_no_conversion_and_what_is_left_alone(load, converted):
    plain = "def twice(x):\n    return x + x\n"
    loops = "def total(x):\n    for i in range(2):\n        x = x + i\n    return x\n"
    for _ in range(2):
        assert int(tf.function(load(plain).twice)(tf.constant(2))) == 4
        alone = load(loops, "numpy.user_module")
        assert int(tf.function(alone.total)(tf.constant(2))) == 3
    assert converted == ["twice", "total"]


@pytest.mark.parametrize("call", ["tf.autograph.experimental.set_loop_options", "options"])
def test_options_of_loops_are_looked_up_each_time(load, converted, call):
    text = f"""
        import talweg as tf
        options = tf.autograph.experimental.set_loop_options

        def powers(n):
            x = tf.constant([1])
            for i in tf.range(n):
                {call}(shape_invariants=[(x, tf.TensorShape([None]))])
                x = tf.concat([x, x[-1:] * 2], axis=0)
            return x
    """
    for _ in range(2):
        assert load(text) and len(tf.function(load(text).powers)(tf.constant(3))) == 4
    assert converted == ["powers"] * 2
    quiet = text.replace("        options = tf.autograph.experimental.set_loop_options\n", "")
    quiet = quiet.replace("def powers", "options = lambda **kwargs: None\n\n        def powers")
    if call == "options":  # without them the list would change its shape
        with pytest.raises(Exception, match="shape"):
            tf.function(load(quiet).powers)(tf.constant(3))


def test_a_second_process_does_without_malt(tmp_path, cache):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(HALVINGS)
        + textwrap.dedent("""
        import sys

        @tf.function
        def broken(x):
            if x > 1:
                x = x @ 3
            return x

        print(int(tf.function(halvings)(tf.constant(40))), "malt" in sys.modules)
        try:
            broken(tf.constant(2))
        except Exception as error:
            import traceback
            lines = [each.lineno for each in traceback.extract_tb(error.__traceback__)
                     if each.filename == __file__]
            print(type(error).__name__, lines)
    """)
    )
    root = os.path.dirname(os.path.dirname(tf.__file__))
    environment = os.environ | {"TALWEG_CACHE": str(cache), "PYTHONPATH": root}
    command = [sys.executable, str(script)]
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert first.splitlines()[0] == "5 True"
    assert second.splitlines()[0] == "5 False"
    assert first.splitlines()[1:] == second.splitlines()[1:]
