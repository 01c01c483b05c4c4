"""What is converted of what is called."""

import functools
import gc
import importlib.util
import linecache
import logging
import sys
import weakref

import malt

import talweg as tf
from talweg.trace.autograph import calls
from tests.trace.autograph.support import agree


def absolute(x):
    """The absolute value."""
    if x < 0:
        return -x
    return x


def test_helpers_lambdas_methods_and_objects():
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return x * self.factor if x > 0 else x

        def method(self, x):
            return self(x) + 1

        @staticmethod
        def fixed(x):
            return x if x > 1 else -x

        @classmethod
        def made(cls, x):
            return cls(2).method(x)

    scale = Scale(3)
    pick, other = (lambda x: x if x > 0 else -x), (lambda x: x * 2 if x > 0 else x * 3)

    def run(x):
        total = absolute(x) + scale(x) + scale.method(x) + Scale.fixed(x) + Scale.made(x)
        total += functools.partial(absolute)(x) + pick(x) + other(x)
        return total + sum(map(absolute, [x, -x]))

    agree(run, 4, -4)
    agree(scale, 2, -2)
    agree(scale.method, 2, -2)
    agree(functools.partial(lambda k, x: x if x > k else k, 3), 2, 5)


def test_super_and_private_names():
    class Base:
        def run(self, x):
            return x if x > 0 else x * 0

        def __hidden(self, x):
            return x + 100 if x > 0 else x

        def use(self, x):
            return self.__hidden(x)

    class Derived(Base):
        def run(self, x):
            return super().run(x) + 1

    derived = Derived()
    agree(derived.run, 3, -3)
    agree(derived.use, 3, -3)


def test_decorators_recursion_and_closures():
    def twice(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            return function(function(*args, **kwargs))

        return call

    @twice
    def step(x, *, by=1):
        if x > 10:
            return x + by
        return x * 2

    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    def run(x):
        count = 0

        def bump(value):
            nonlocal count
            count += 1
            if value > 0:
                value = value + fibonacci(6)
            return value

        return bump(bump(step(x))), count

    agree(run, 3, 20, -1)


def test_functions_given_to_functions():
    def clip(x):
        if x > 2:
            return x * 0 + 2
        return x

    def run(x):
        mapped = tf.map_fn(clip, x)
        chosen = tf.cond(x[0] > 0, lambda: clip(x[0]), functools.partial(clip, x[1]))
        looped = tf.while_loop(lambda i: i < 5, lambda i: [absolute(i) + 1], [x[0]])[0]
        return mapped, chosen, looped

    agree(run, [1, 5, -2], [-1, 5, 0])


def test_not_converted():
    @tf.autograph.experimental.do_not_convert
    def code_of():
        return sys._getframe().f_code

    codes = []

    @tf.function
    def run(x):
        codes.append(code_of())
        return x if x > 0 else -x

    run(tf.constant(1))
    assert "ag__" not in codes[0].co_freevars


def test_a_function_without_source_runs_as_it_is(caplog):
    space = {}
    exec("def double(x):\n    return x * 2 if x.shape == [] else x\n", space)
    with caplog.at_level(logging.WARNING, "talweg"):
        traced = tf.function(space["double"])
        assert int(traced(tf.constant(4))) == 8
        traced(tf.constant(4.0))
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1 and "runs double as it is: the source of '<string>'" in lines[0]


def test_generators_run_as_they_are(caplog):
    def factors(n):
        for i in range(n):
            yield i + 1

    @tf.function
    def run(x):
        for factor in factors(3):
            x = x * factor
        return x

    assert int(run(tf.constant(2))) == 12 and not caplog.records


def test_conversion_goes_with_the_function():
    source = (
        "def outer(k):\n    def inner(x):\n        return x if x > k else -x\n    return inner\n"
    )
    linecache.cache["<gone>"] = (len(source), None, source.splitlines(True), "<gone>")
    space = {}
    exec(compile(source, "<gone>", "exec"), space)
    inner = space["outer"](1)
    traced = tf.function(inner)
    assert int(traced(tf.constant(0))) == 0
    code, function = weakref.ref(inner.__code__), weakref.ref(inner)
    kept = len(calls.codes)
    gc.disable()
    try:
        del inner, traced
        assert function() is None
    finally:
        gc.enable()
    del space
    gc.collect()
    assert code() is None and len(calls.codes) < kept


def test_conversion_is_shared_by_closures():
    def make(k):
        return lambda x: x if x > k else -x * k

    first = calls.convert_code(make(1))
    assert calls.convert_code(make(2)) is first
    agree(make(1), 3, 0)
    agree(make(2), 2, 3)


def test_malt_is_left_as_it_was():
    tf.function(absolute)(tf.constant(1))
    assert malt.operators.if_stmt.__module__.startswith("malt")
    assert not any("autograph_generated" in name for name in sys.modules)


def test_a_function_of_a_module_left_alone_is_converted_where_it_is_asked_for(tmp_path):
    """As TensorFlow does: `tf.function` converts the function given to it, not what that calls."""
    (tmp_path / "kept.py").write_text(
        "import talweg as tf\n"
        "def total(rows):\n"
        "    total = tf.constant(0)\n"
        "    for row in rows:\n"
        "        total += row\n"
        "    return total\n"
        "class Rows:\n"
        "    def total(self, rows):\n"
        "        total = tf.constant(0)\n"
        "        for row in rows:\n"
        "            total += row\n"
        "        return total\n"
    )
    spec = importlib.util.spec_from_file_location("keras.kept", tmp_path / "kept.py")
    assert spec is not None and spec.loader is not None
    kept = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kept)
    assert kept.total.__module__ == "keras.kept"
    rows = tf.data.Dataset.range(4, output_type=tf.int32)
    assert int(tf.function(kept.total)(rows)) == 6
    assert int(tf.function(functools.partial(kept.Rows().total))(rows)) == 6


def test_what_a_converted_function_defines_is_converted_with_it(tmp_path):
    (tmp_path / "local.py").write_text(
        "import talweg as tf\n"
        "def calls(rows):\n"
        "    def local(rows):\n"
        "        total = tf.constant(0)\n"
        "        for row in rows:\n"
        "            total += row\n"
        "        return total\n"
        "    return local(rows)\n"
    )
    spec = importlib.util.spec_from_file_location("keras.local", tmp_path / "local.py")
    assert spec is not None and spec.loader is not None
    kept = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kept)
    rows = tf.data.Dataset.range(4, output_type=tf.int32)
    assert int(tf.function(kept.calls)(rows)) == 6
