"""`if`, conditional expressions and logic in traced functions."""

import pytest

import talweg as tf
from tests.trace.autograph.support import agree


def test_branches_of_all_forms():
    def run(x):
        y, done = x * 2, False
        if x > 10:
            y, done = x - 10, True
        elif x > 5 or x == -1:
            y = -x
        elif not (x > 0) and x < -5:
            pass
        else:
            y = y + (100 if 1 < x < 4 else 200)
        return y, done

    agree(run, 20, 7, -1, -9, 2, 5, 0)


def test_returns_everywhere():
    def run(x, y):
        if x > 0:
            if y > 0:
                return x + y
            x = x * 2
            if y < -5:
                return x
        elif y > 100:
            return y
        for i in tf.range(3):
            if x + i > 4:
                return x * 100 + i
        return x

    agree(run, (1, 1), (1, -9), (1, -1), (4, -1), (-1, 200), (-1, 0))


def test_unchanged_names_pass_through_untouched():
    kept, seen = [1, 2], []

    @tf.function
    def run(x):
        text, items, tensor = "text", kept, x * 2
        before = tensor
        if x > 0:
            y = x
        else:
            y, text, items = -x, "text", kept
        seen[:] = [type(text), items is kept, tensor is before]
        return y

    run(tf.constant(1))
    assert seen == [str, True, True]


def test_knowledge_of_the_condition():
    """A function that returns in each of two `if`s on one condition has returned."""

    def run(x):
        flag = x > 0
        if flag:
            return x
        y = x * 3
        if not flag:
            return y

    agree(run, 2, -2)


def test_half_defined_names():
    @tf.function
    def unused(x):
        if x > 0:
            y = x * 2
            z = y + 1
        else:
            z = x
        return z

    @tf.function
    def used(x):
        if x > 0:
            y = x * 2
        return y

    assert int(unused(tf.constant(2))) == 5
    with pytest.raises(ValueError, match="'y' must also be initialized"):
        used(tf.constant(2))


def test_errors_name_the_variable():
    @tf.function
    def dtypes(x):
        weight = x
        if x > 0:
            weight = tf.cast(x, tf.float32)
        return weight

    @tf.function
    def nones(x):
        state = None
        if x > 0:
            state = x
        return state

    @tf.function
    def structures(x):
        pair = (x, x)
        if x > 0:
            pair = (x, x, x)
        return pair

    @tf.function
    def objects(x):
        unit = min
        if x > 0:
            unit = max
        return unit(x, 1)

    for function, kind, text in (
        (dtypes, TypeError, "'weight' must have the same dtype.*float32 in one and int32"),
        (nones, ValueError, "'state' is None in one branch"),
        (structures, TypeError, "'pair' must have the same nested structure"),
        (objects, TypeError, "'unit' is a Python object that differs"),
    ):
        with pytest.raises(kind, match=text) as caught:
            function(tf.constant(1))
        assert "test_branches.py" in str(caught.value) and "if x > 0:" in str(caught.value)


def test_lists_and_dictionaries_in_branches():
    def run(x):
        items, table = [x, x * 2], {"a": x}
        alias = items
        if x > 0:
            items.append(x * 3)
            items[0] = -x
            table["a"] = x + 1
        else:
            items.append(x)
        return sum(alias), items[0], len(items), table["a"]

    agree(run, 3, -3)


def test_attributes_in_branches():
    class Box:
        pass

    def run(x):
        box = Box()
        box.value = x
        if x > 0:
            box.value = x * 10
            box.fresh = x
        return box.value

    agree(run, 3, -3)


def test_only_the_branch_taken_runs():
    events = []

    def note(text):
        tf.py_function(lambda: events.append(text), [], [])

    @tf.function
    def run(x, y):
        if x > 0 and y > 0:
            note("both")
        elif x > 0 or y > 0:
            note("one")
        return x

    for x, y in ((1, 1), (1, -1), (-1, -1)):
        run(tf.constant(x), tf.constant(y))
    assert events == ["both", "one"]


def test_and_guards_what_is_right_of_it():
    def run(x, i):
        if i < tf.size(x) and x[i] > 0:
            return x[i]
        return -1

    agree(run, ([1, 2, 3], 1), ([1, 2, 3], 3), ([1, -2], 1))


def test_a_vector_is_no_condition():
    @tf.function
    def run(x):
        return 1 if x > 0 else 2

    with pytest.raises(ValueError, match="pred has shape"):
        run(tf.constant([1, 2]))


def test_missing_return():
    @tf.function
    def run(x):
        if x > 0:
            return x

    with pytest.raises(ValueError, match="on some paths only"):
        run(tf.constant(1))


def test_questions_of_code_that_is_not_converted():
    @tf.autograph.experimental.do_not_convert
    def pick(x):
        return x * 2 if x > 3 else -x

    def run(x):
        count = 0
        if x > 0:
            y = pick(x)
            count = 1
        else:
            y = x
        for i in tf.range(abs(x)):
            y += pick(i)
        return y, count

    agree(run, 5, 2, -2)


def test_gradient_of_the_branch_taken():
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            if x > 1.0:
                y = x * x
            elif x > 0.0:
                return x * 0.0 - 1.0
            else:
                y = 3.0 * x
        return tape.gradient(y, x)

    agree(slope, 2.0, 0.5, -1.0)


def test_handlers_with_a_name_are_converted(caplog):
    @tf.function
    def run(x):
        y = x
        try:
            int("a")
        except ValueError as error:
            if tf.reduce_sum(x) > 0:
                y = x + float("invalid" in str(error))
            else:
                y = -x
        return y

    assert run(tf.constant([1.0])).numpy().tolist() == [2.0]
    assert run(tf.constant([-1.0])).numpy().tolist() == [1.0]
    assert run.experimental_get_tracing_count() == 1
    assert not caplog.records  # "AutoGraph runs ... as it is"


def test_a_name_that_each_iteration_assigns_anew():
    """It is a local one of the loop's body, and has no value where the branch begins there."""

    def run(x):
        y, z = x, x
        total = x * 0
        for _ in tf.range(3):
            if x > 0:
                y = x + 1
            else:
                y = x
                y = y * 2
            y = y + x
            total += y
            for i in tf.range(2):
                z = x + i
            z = z + x
            total += z
        return total

    agree(run, 2, -3)
