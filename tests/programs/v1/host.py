"""Python functions, printing and assertions within a graph."""

import os
import tempfile

from programs.support import raised, run, static


def py_func(tf, np):
    x = tf.placeholder(tf.float32, [2])
    y = tf.py_func(lambda a: np.sinh(a), [x], tf.float32)
    return [static(y), run(tf, y, {x: [1.0, 2.0]})]


def py_func_of_several(tf, np):
    x = tf.constant([3.0, 4.0])

    def both(a, n):
        return a * n, np.int64(len(a)), "text"

    y = tf.py_func(both, [x, 5.0], [tf.float32, tf.int64, tf.string])
    return [isinstance(y, list), run(tf, y)]


def py_func_of_nothing(tf, np):
    seen = []
    y = tf.py_func(lambda: seen.append(1), [], [])
    with tf.Session() as session:
        results = [session.run(y), session.run(y)]
    return [results, seen]


def py_func_is_called_each_run(tf, np):
    seen = []
    x = tf.placeholder(tf.float32, [])
    y = tf.py_func(lambda a: seen.append(float(a)) or a, [x], tf.float32)
    with tf.Session() as session:
        for number in (1.0, 2.0, 2.0):
            session.run([y, y + 1.0], {x: number})
    return seen


def py_func_errors(tf, np):
    def fail(error):
        raise error

    x = tf.constant(1.0)
    kinds = [ValueError, TypeError, ZeroDivisionError, StopIteration, NotImplementedError, KeyError]
    made = [tf.py_func(lambda a, k=kind: fail(k("no")), [x], tf.float32) for kind in kinds]
    wrong = tf.py_func(lambda a: np.float64(a), [x], tf.float32)
    with tf.Session() as session:
        return [
            [raised(lambda y=y: session.run(y)) for y in made],
            raised(lambda: session.run(wrong)),
        ]


def py_func_text(tf, np):
    x = tf.constant([b"ab", b"c"])
    y = tf.py_func(lambda words: np.array([w.upper() for w in words], object), [x], tf.string)
    return run(tf, y)


def py_func_without_state(tf, np):
    x = tf.constant([1, 2, 3])
    y = tf.py_func(lambda a: a[::-1].copy(), [x], tf.int32, stateful=False, name="turned")
    y.set_shape([3])
    return [static(y + 1), run(tf, y)]


def numpy_function(tf, np):
    y = tf.numpy_function(lambda a, b: a @ b, [np.eye(2), [[1.0], [2.0]]], tf.float64)
    return run(tf, y)


def py_function_has_a_gradient(tf, np):
    x = tf.constant([1.0, 2.0])
    y = tf.py_function(lambda a: a * a * 3.0, [x], tf.float32)
    return run(tf, [y, tf.gradients(y, x)])


def py_func_in_control_flow(tf, np):
    seen = []

    def note(i):
        seen.append(int(i))
        return np.int32(i + 1)

    def body(i):
        following = tf.py_func(note, [i], tf.int32)
        following.set_shape([])
        return following

    y = tf.while_loop(lambda i: i < 4, body, [tf.constant(0)])
    return [run(tf, y), seen]


def print_returns_its_input(tf, np):
    x = tf.constant([1.0, 2.0])
    y = tf.Print(x, [x, tf.shape(x)], message="values: ", first_n=1, summarize=3)
    return [static(y), y.dtype, run(tf, [y, tf.gradients(tf.reduce_sum(y * y), x)])]


def print_into_a_file(tf, np):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "printed")
        x = tf.placeholder(tf.int32, [3])
        made = tf.print("x:", x, "and", {"y": 2.5}, output_stream="file://" + path)
        with tf.Session() as session:
            results = [session.run(made, {x: [n, 2, 3]}) for n in (1, 7)]
        with open(path, encoding="utf-8") as file:
            return [made.type, results, file.read()]


def assertion_holds(tf, np):
    x = tf.placeholder(tf.float32, [])
    check = tf.Assert(x > 0.0, [x, "must be positive"])
    with tf.control_dependencies([check]):
        y = tf.sqrt(x)
    with tf.Session() as session:
        return [session.run(y, {x: 4.0}), session.run(check, {x: 1.0})]


def assertion_fails(tf, np):
    x = tf.placeholder(tf.float32, [2])
    with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0.0), [x], summarize=2)]):
        y = tf.sqrt(x)
    with tf.Session() as session:
        failed = raised(lambda: session.run(y, {x: [1.0, -1.0]}))
        return [failed, session.run(y, {x: [1.0, 4.0]})]


def assertion_message(tf, np):
    check = tf.Assert(tf.placeholder_with_default(False, []), ["the reason", tf.constant(42)])
    with tf.Session() as session:
        try:
            session.run(check)
        except tf.errors.InvalidArgumentError as error:
            return ["the reason" in str(error), "42" in str(error)]
    return None


def assertion_that_is_not_asked_for(tf, np):
    x = tf.placeholder(tf.float32, [])
    tf.Assert(x > 0.0, [x])
    return run(tf, x * 2.0, {x: -1.0})


def assertions_about_values(tf, np):
    x = tf.placeholder(tf.int32, [None])
    checks = [
        tf.assert_positive(x),
        tf.assert_non_negative(x),
        tf.assert_equal(x, [1, 2]),
        tf.assert_less(x, [5, 5]),
        tf.assert_greater_equal(x, 1),
        tf.assert_none_equal(x, 3),
        tf.assert_negative(x),
        tf.assert_less_equal(x, 2),
        tf.assert_greater(x, 0),
    ]
    with tf.Session() as session:
        return [
            [raised(lambda c=c: session.run(c, {x: given})) for c in checks]
            for given in ([1, 2], [0, 3], [-1, -2])
        ]


def assertions_about_shapes(tf, np):
    x = tf.placeholder(tf.float32)
    check = tf.assert_rank(x, 2)
    least, among = tf.assert_rank_at_least(x, 1), tf.assert_rank_in(x, [0, 2])
    with tf.Session() as session:
        found = [
            [raised(lambda c=c: session.run(c, {x: np.zeros(s)})) for c in (check, least, among)]
            for s in [(), (2,), (2, 2)]
        ]
    static_failure = raised(lambda: tf.assert_rank(tf.zeros([2]), 2))
    return [found, static_failure, raised(lambda: tf.assert_type(tf.zeros([2]), tf.int32))]


def known_failures_are_raised_at_once(tf, np):
    return [
        raised(lambda: tf.assert_equal(tf.constant(1), tf.constant(2))),
        raised(lambda: tf.assert_positive(tf.constant(-1.0))),
        raised(lambda: tf.assert_scalar(tf.zeros([2]))),
    ]


def check_numerics(tf, np):
    x = tf.placeholder(tf.float32, [2])
    y = tf.check_numerics(tf.log(x), "the logarithm")
    with tf.Session() as session:
        return [
            session.run(y, {x: [1.0, 2.0]}),
            raised(lambda: session.run(y, {x: [0.0, 1.0]})),
            raised(lambda: session.run(y, {x: [-1.0, 1.0]})),
        ]


def verify_tensor_all_finite(tf, np):
    x = tf.placeholder(tf.float32, [2])
    y = tf.verify_tensor_all_finite(x, "not finite")
    with tf.Session() as session:
        return [session.run(y, {x: [1.0, 2.0]}), raised(lambda: session.run(y, {x: [1.0, np.inf]}))]


def check_all_numerics(tf, np):
    x = tf.placeholder(tf.float32, [2])
    y = tf.log(x) * 2.0
    check = tf.add_check_numerics_ops()
    with tf.Session() as session:
        good = session.run([check, y], {x: [1.0, 1.0]})
        return [good, raised(lambda: session.run([check, y], {x: [0.0, 1.0]}))]


def timestamps_and_tokens(tf, np):
    now = tf.timestamp()
    with tf.Session() as session:
        first, second = session.run(now), session.run(now)
    return [now.dtype, bool(second >= first > 1.5e9)]


PROGRAMS = [
    py_func,
    py_func_of_several,
    py_func_of_nothing,
    py_func_is_called_each_run,
    py_func_errors,
    py_func_text,
    py_func_without_state,
    numpy_function,
    py_function_has_a_gradient,
    py_func_in_control_flow,
    print_returns_its_input,
    print_into_a_file,
    assertion_holds,
    assertion_fails,
    assertion_message,
    assertion_that_is_not_asked_for,
    assertions_about_values,
    assertions_about_shapes,
    known_failures_are_raised_at_once,
    check_numerics,
    verify_tensor_all_finite,
    check_all_numerics,
    timestamps_and_tokens,
]
