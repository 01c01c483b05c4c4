"""Branches on tensors where AutoGraph does not reach: library code, unconverted code, no source.

TensorFlow refuses all of these; each has one right answer per call.
"""

from programs.function import truth


@truth(lambda np: [3, 3])
def branch_without_autograph(tf, np):
    @tf.function(autograph=False)
    def absolute(x):
        if x > 0:
            return x
        return -x

    return [int(absolute(tf.constant(x))) for x in (3, -3)]


@truth(lambda np: [4, 4])
def branch_in_a_helper_that_is_not_converted(tf, np):
    @tf.autograph.experimental.do_not_convert
    def absolute(x):
        return x if x > 0 else -x

    @tf.function
    def run(x):
        return absolute(x) + 1

    return [int(run(tf.constant(x))) for x in (3, -3)]


@truth(lambda np: [3, 3])
def branch_without_source(tf, np):
    space = {}
    exec("def absolute(x):\n    return x if x > 0 else -x\n", space)
    absolute = tf.function(space["absolute"])
    return [int(absolute(tf.constant(x))) for x in (3, -3)]


@truth(lambda np: [11, 12, 21, 22])
def two_questions(tf, np):
    @tf.function(autograph=False)
    def run(x, y):
        tens = 10 if x > 0 else 20
        ones = 1 if y > 0 else 2
        return x * 0 + tens + ones

    signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
    return [int(run(tf.constant(x), tf.constant(y))) for x, y in signs]


@truth(lambda np: [True, False, False])
def python_logic(tf, np):
    @tf.function(autograph=False)
    def inside(x):
        return x * 0 == 0 if (x > 0 and not x > 10) else tf.constant(False)

    return [bool(inside(tf.constant(x))) for x in (5, 50, -5)]


@truth(lambda np: [np.array([6.0, 2.0]), np.array([1.0, -1.0])])
def gradient_of_the_branch_taken(tf, np):
    def loss(y):
        if tf.reduce_mean(tf.abs(y)) > 0.5:
            return tf.reduce_sum(tf.square(y))
        return tf.reduce_sum(tf.abs(y))

    @tf.function(autograph=False)
    def slope(y):
        with tf.GradientTape() as tape:
            tape.watch(y)
            value = loss(y)
        return tape.gradient(value, y)

    points = ([3.0, 1.0], [0.25, -0.5])
    return [slope(tf.constant(y, tf.float64)).numpy() for y in points]


@truth(lambda np: [1, 11, 10])
def effects_of_the_path_taken_only(tf, np):
    v = tf.Variable(0)

    @tf.function(autograph=False)
    def run(x):
        if x > 0:
            v.assign_add(1)
        else:
            v.assign_sub(1)
        if x > 5:
            v.assign_add(9)
        return v.read_value()

    return [int(run(tf.constant(x))) for x in (1, 9, -1)]


@truth(lambda np: [["yes"], ["yes", "no"]])
def python_effects_at_run_time_follow_the_path(tf, np):
    seen, results = [], []

    @tf.function(autograph=False)
    def run(x):
        if x > 0:
            tf.py_function(lambda: seen.append("yes"), [], [])
        else:
            tf.py_function(lambda: seen.append("no"), [], [])
        return x

    for value in (1, -1):
        run(tf.constant(value))
        results.append(list(seen))
    return results


@truth(lambda np: [[2, 5], [0, 5]])
def question_in_a_loop_body(tf, np):
    @tf.function(autograph=False)
    def run(x):
        def body(i, count):
            return i + 1, count + 1 if i * x > 2 else count

        return tf.while_loop(lambda i, count: i < 5, body, (0, 0))

    return [[int(t) for t in run(tf.constant(x))[::-1]] for x in (1, 0)]


PROGRAMS = [
    branch_without_autograph,
    branch_in_a_helper_that_is_not_converted,
    branch_without_source,
    two_questions,
    python_logic,
    gradient_of_the_branch_taken,
    effects_of_the_path_taken_only,
    python_effects_at_run_time_follow_the_path,
    question_in_a_loop_body,
]
