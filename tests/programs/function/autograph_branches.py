"""AutoGraph: `if`, ternaries, `and`/`or`/`not`, comparisons, and what branches leave behind."""

from programs.function import truth
from programs.support import raised


def if_and_else(tf, np):
    @tf.function
    def absolute(x):
        if x < 0.0:
            y = -x
        else:
            y = x
        return y

    return [absolute(tf.constant(x)).numpy() for x in (-2.0, 3.0)]


def elif_chain(tf, np):
    @tf.function
    def grade(x):
        if x < 1.0:
            y = 10
        elif x < 2.0:
            y = 20
        elif x < 3.0:
            y = 30
        else:
            y = 40
        return y

    return [grade(tf.constant(x)).numpy() for x in (0.5, 1.5, 2.5, 3.5)]


def if_without_else(tf, np):
    @tf.function
    def clip(x):
        if x > 1.0:
            x = tf.constant(1.0)
        return x * 2.0

    return [clip(tf.constant(x)).numpy() for x in (0.25, 5.0)]


def return_in_both_branches(tf, np):
    @tf.function
    def run(x):
        if tf.reduce_sum(x) > 0.0:
            return x * 2.0
        else:
            return -x

    return [run(tf.constant(x)).numpy() for x in ([1.0, 2.0], [-1.0, -2.0])]


def early_return(tf, np):
    @tf.function
    def run(x):
        if x < 0.0:
            return tf.constant(-1.0)
        y = tf.sqrt(x)
        if y > 10.0:
            return tf.constant(10.0)
        return y

    return [run(tf.constant(x)).numpy() for x in (-4.0, 9.0, 900.0)]


def nested_branches(tf, np):
    @tf.function
    def quadrant(x, y):
        if x > 0.0:
            if y > 0.0:
                q = 1
            else:
                q = 4
        else:
            if y > 0.0:
                q = 2
            else:
                q = 3
        return q

    corners = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)]
    return [quadrant(tf.constant(x), tf.constant(y)).numpy() for x, y in corners]


def several_variables_change(tf, np):
    @tf.function
    def order(a, b):
        low, high, swapped = a, b, False
        if a > b:
            low, high = b, a
            swapped = True
        return low, high, swapped

    return [[t.numpy() for t in order(tf.constant(a), tf.constant(3))] for a in (1, 5)]


def ternary(tf, np):
    @tf.function
    def run(x):
        sign = 1.0 if x > 0.0 else -1.0
        return sign * 2.0

    return [run(tf.constant(x)).numpy() for x in (5.0, -5.0, 0.0)]


@truth(lambda np: np.float32([2.0, -2.0, 0.0]))
def ternary_within_a_ternary(tf, np):
    @tf.function
    def run(x):
        sign = 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)
        return sign * 2.0

    return np.stack([run(tf.constant(x)).numpy() for x in (5.0, -5.0, 0.0)])


def ternary_runs_one_side(tf, np):
    seen = []

    def note(text, x):
        tf.py_function(lambda: seen.append(text), [], [])
        return x

    @tf.function
    def run(x):
        return note("left", x) if x > 0 else note("right", -x)

    return [run(tf.constant(1)).numpy(), run(tf.constant(-2)).numpy(), seen]


def branch_runs_only_when_taken(tf, np):
    seen = []

    @tf.function
    def run(x):
        if x > 0:
            tf.py_function(lambda v: seen.append(int(v)), [x], [])
        return x

    for value in (1, -1, 2):
        run(tf.constant(value))
    return seen


def and_or_not(tf, np):
    @tf.function
    def run(x, y):
        both = x > 0 and y > 0
        either = x > 0 or y > 0
        neither = not (x > 0) and not (y > 0)
        return both, either, neither

    pairs = ((1, 1), (1, -1), (-1, -1))
    return [[bool(t) for t in run(tf.constant(x), tf.constant(y))] for x, y in pairs]


def and_does_not_look_further(tf, np):
    seen = []

    def positive(name, x):
        tf.py_function(lambda: seen.append(name), [], [])
        return x > 0

    @tf.function
    def run(x, y):
        return positive("x", x) and positive("y", y)

    @tf.function
    def other(x, y):
        return positive("x", x) or positive("y", y)

    values = [
        run(tf.constant(-1), tf.constant(1)).numpy(),
        run(tf.constant(1), tf.constant(1)).numpy(),
    ]
    values.append(other(tf.constant(1), tf.constant(1)).numpy())
    return [values, seen]


def python_values_in_logic(tf, np):
    @tf.function
    def run(x, flag):
        if flag and x > 0:
            return x
        if not flag or x < -10:
            return -x
        return x * 100

    return [run(tf.constant(x), f).numpy() for x in (3, -3, -30) for f in (True, False)]


def comparisons_in_a_chain(tf, np):
    @tf.function
    def inside(x):
        if 0.0 <= x < 1.0:
            return 1
        elif -1.0 < x < 0.0 or 1.0 <= x <= 2.0:
            return 2
        else:
            return 3

    return [inside(tf.constant(x)).numpy() for x in (0.0, 0.5, 1.0, 2.0, -0.5, -1.0, 3.0)]


def equal_and_not_equal(tf, np):
    @tf.function
    def run(x):
        if x == 3:
            return 1
        if x != 4:
            return 2
        return 3

    return [run(tf.constant(x)).numpy() for x in (3, 4, 5)]


def membership_and_identity(tf, np):
    @tf.function
    def run(x, how, extra=None):
        if how in ("twice", "double") and extra is None:
            return x * 2
        if how not in ("twice",):
            return x
        return x * 2 + extra

    x = tf.constant(5)
    return [run(x, "twice").numpy(), run(x, "twice", 1).numpy(), run(x, "other").numpy()]


def python_condition_stays_python(tf, np):
    taken = []

    @tf.function
    def run(x, flag):
        if flag:
            taken.append("yes")
            x += 1
        else:
            taken.append("no")
            y = tf.constant("never")  # noqa: F841
        return x

    return [run(tf.constant(1), True).numpy(), run(tf.constant(1), False).numpy(), taken]


def both_branches_are_traced(tf, np):
    traced = []

    @tf.function
    def run(x):
        if x > 0:
            traced.append("then")
            y = x
        else:
            traced.append("else")
            y = -x
        return y

    return [run(tf.constant(1)).numpy(), run(tf.constant(-1)).numpy(), sorted(traced)]


def branch_on_a_shape(tf, np):
    @tf.function
    def run(x):
        if x.shape.rank == 1:
            x = x[None]
        if tf.shape(x)[0] > 1:
            x = x[:1]
        return x

    return [run(tf.ones(s)).numpy() for s in ([2], [1, 2], [3, 2])]


def unused_name_may_be_missing_in_a_branch(tf, np):
    @tf.function
    def run(x):
        if x > 0:
            temporary = x * 2
            y = temporary + 1
        else:
            y = x
        return y

    return [run(tf.constant(2)).numpy(), run(tf.constant(-2)).numpy()]


@truth(lambda np: [10, 20, 30])
def returns_in_elif_and_after(tf, np):
    @tf.function
    def run(x):
        if x < 1.0:
            return 10
        elif x < 2.0:
            return 20
        return 30

    return [int(run(tf.constant(x))) for x in (0.5, 1.5, 2.5)]


def name_missing_in_a_branch_is_an_error(tf, np):
    @tf.function
    def run(x):
        if x > 0:
            y = x * 2
        return y

    return raised(lambda: run(tf.constant(1)))


def return_missing_in_a_branch_is_an_error(tf, np):
    @tf.function
    def run(x):
        if x > 0:
            return x

    return raised(lambda: run(tf.constant(1)))


def name_missing_in_python_branch(tf, np):
    @tf.function
    def run(x, flag):
        if flag:
            y = x
        return y + 1

    return [run(tf.constant(1), True).numpy(), raised(lambda: run(tf.constant(1), False))]


def structures_from_branches(tf, np):
    @tf.function
    def run(x):
        if x > 0:
            out = {"a": x, "b": (x, [x * 2])}
        else:
            out = {"a": -x, "b": (tf.zeros_like(x), [x])}
        return out

    flat = [tf.nest.flatten(run(tf.constant(x))) for x in (1, -2)]
    return [[t.numpy() for t in ts] for ts in flat]


def attributes_changed_in_a_branch(tf, np):
    class Box:
        value = None

    box = Box()

    @tf.function
    def run(x):
        box.value = x
        if x > 0:
            box.value = x * 10
        return box.value

    out = [run(tf.constant(x)).numpy() for x in (2, -2)]
    box.value = None
    return out


def dictionary_entry_changed_in_a_branch(tf, np):
    @tf.function
    def run(x):
        table = {"total": tf.constant(0), "count": 5}
        if x > 0:
            table["total"] = table["total"] + x
        return table["total"], table["count"]

    return [[t.numpy() for t in run(tf.constant(x))] for x in (2, -2)]


def branch_of_a_vector_is_an_error(tf, np):
    @tf.function
    def run(x):
        if x > 0:
            return x
        return -x

    return raised(lambda: run(tf.constant([1, 2])))


def number_as_condition(tf, np):
    @tf.function
    def run(x):
        if tf.cast(x, tf.bool):
            return 1
        return 0

    return [run(tf.constant(x)).numpy() for x in (0, 5)]


def string_comparison(tf, np):
    @tf.function
    def run(name):
        if name == "square":
            return 2
        elif name == "cube":
            return 3
        else:
            return 1

    return [run(tf.constant(name)).numpy() for name in ("square", "cube", "line")]


def dtype_of_python_numbers_in_branches(tf, np):
    @tf.function
    def run(x):
        y = 0.0
        if x > 0.0:
            y = x
        return y

    return [run(tf.constant(x)).numpy() for x in (2.0, -2.0)]


def dtypes_of_branches(tf, np):
    """Each branch decides its own dtype; those that differ are refused, Python numbers, too."""

    def integer_and_float(x):
        if x > 0:
            y = 1
        else:
            y = 2.0
        return y

    def tensor_and_integer(x):
        if x > 0:
            y = x
        else:
            y = 2
        return y

    def changed_in_one(x):
        y = 0
        if x > 0:
            y = 1.0
        return y

    def returned(x):
        if x > 0:
            return 1
        return 2.0

    def returned_inside(x):
        if x > 0:
            if x > 1:
                return x
            return 3
        return x + 1.0

    def third(x):
        if x > 2:
            y = 1
        elif x > 1:
            y = 2
        else:
            y = 3.0
        return y

    def double_array(x):
        if x > 0:
            y = np.float64(1.0)
        else:
            y = 1.0
        return y

    def truth_and_number(x):
        if x > 0:
            y = True
        else:
            y = 1
        return y

    def in_a_dictionary(x):
        if x > 0:
            y = {"a": 1}
        else:
            y = {"a": 2.0}
        return y["a"]

    def alike(x):
        if x > 0:
            y, z = 1, 2.0
        else:
            y, z = 3, 4.0
        return y, z

    refused = [
        integer_and_float,
        tensor_and_integer,
        changed_in_one,
        returned,
        returned_inside,
        third,
        double_array,
        truth_and_number,
        in_a_dictionary,
        lambda x: 1 if x > 0 else 2.0,
        lambda x: x if x > 0 else 2,
        lambda x: tf.cond(x > 0, lambda: 1, lambda: 2.0),
        lambda x: tf.cond(x > 0, lambda: x, lambda: 2),
        lambda x: tf.case([(x > 0, lambda: 1)], default=lambda: 2.0),
        lambda x: tf.switch_case(tf.cast(x, tf.int32), [lambda: 1, lambda: 2.0]),
    ]
    one = tf.constant(1.0)
    found = [raised(lambda f=f: tf.function(f)(one)) for f in refused]
    return [found, [t.dtype.name for t in tf.function(alike)(one)]]


PROGRAMS = [
    dtypes_of_branches,
    if_and_else,
    elif_chain,
    if_without_else,
    return_in_both_branches,
    early_return,
    nested_branches,
    several_variables_change,
    ternary,
    ternary_within_a_ternary,
    ternary_runs_one_side,
    branch_runs_only_when_taken,
    and_or_not,
    and_does_not_look_further,
    python_values_in_logic,
    comparisons_in_a_chain,
    equal_and_not_equal,
    membership_and_identity,
    python_condition_stays_python,
    both_branches_are_traced,
    branch_on_a_shape,
    unused_name_may_be_missing_in_a_branch,
    returns_in_elif_and_after,
    name_missing_in_a_branch_is_an_error,
    return_missing_in_a_branch_is_an_error,
    name_missing_in_python_branch,
    structures_from_branches,
    attributes_changed_in_a_branch,
    dictionary_entry_changed_in_a_branch,
    branch_of_a_vector_is_an_error,
    number_as_condition,
    string_comparison,
    dtype_of_python_numbers_in_branches,
]
