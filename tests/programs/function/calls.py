"""Calling traced functions: decorators, methods, lambdas, partials, nests, inner functions."""

import functools


def decorated(tf, np):
    @tf.function
    def add(x, y):
        return x + y

    return add(tf.constant(1.0), tf.constant(2.0)).numpy()


def decorated_with_parentheses(tf, np):
    @tf.function()
    def add(x, y):
        return x + y

    return add(tf.constant([1, 2]), tf.constant([3, 4])).numpy()


def called_as_a_function(tf, np):
    def square(x):
        return x * x

    return tf.function(square)(tf.constant(3.0)).numpy()


def lambda_function(tf, np):
    return tf.function(lambda x, y: x - 2 * y)(tf.constant(5.0), tf.constant(1.0)).numpy()


def partial_function(tf, np):
    def scale(x, factor, offset=0.0):
        return x * factor + offset

    traced = tf.function(functools.partial(scale, factor=3.0))
    return [traced(tf.constant(2.0)).numpy(), traced(tf.constant(2.0), offset=1.0).numpy()]


def partial_of_a_traced_function(tf, np):
    @tf.function
    def scale(x, factor):
        return x * factor

    return functools.partial(scale, factor=tf.constant(4.0))(tf.constant(2.0)).numpy()


def method(tf, np):
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        @tf.function
        def __call__(self, x):
            return x * self.factor

        @tf.function
        def twice(self, x):
            return self(self(x))

    double, triple = Scale(2.0), Scale(3.0)
    x = tf.constant([1.0, 2.0])
    return [double(x).numpy(), triple(x).numpy(), double.twice(x).numpy(), triple.twice(x).numpy()]


def bound_method_wrapped(tf, np):
    class Line:
        slope, offset = 2.0, 1.0

        def at(self, x):
            return self.slope * x + self.offset

    return tf.function(Line().at)(tf.constant(3.0)).numpy()


def static_and_class_methods(tf, np):
    class Shapes:
        sides = 4

        @staticmethod
        @tf.function
        def area(width, height):
            return width * height

        @classmethod
        def perimeter(cls, side):
            return tf.function(lambda s: s * cls.sides)(side)

    return [Shapes.area(tf.constant(2.0), tf.constant(3.0)).numpy(), Shapes.perimeter(2).numpy()]


def callable_object(tf, np):
    class Power:
        def __call__(self, x):
            return x**3

    return tf.function(Power())(tf.constant(2.0)).numpy()


def method_under_inheritance(tf, np):
    class Base:
        @tf.function
        def run(self, x):
            return self.step(x) + 1.0

        def step(self, x):
            return x

    class Doubled(Base):
        def step(self, x):
            return 2.0 * x

    base, doubled = Base(), Doubled()
    return [base.run(tf.constant(5.0)).numpy(), doubled.run(tf.constant(5.0)).numpy()]


def keywords_and_defaults(tf, np):
    @tf.function
    def mix(a, b=2.0, *, c=3.0):
        return 100.0 * a + 10.0 * b + c

    one = tf.constant(1.0)
    return [
        mix(one).numpy(),
        mix(one, c=tf.constant(7.0)).numpy(),
        mix(b=one, a=one).numpy(),
        mix(one, one, c=one).numpy(),
    ]


def star_arguments(tf, np):
    @tf.function
    def total(first, *rest, **named):
        result = first
        for x in rest:
            result += x
        for name in sorted(named):
            result = result * 2.0 + named[name]
        return result

    one = tf.constant(1.0)
    return [total(one).numpy(), total(one, one, 2.0).numpy(), total(one, one, b=one, a=3.0).numpy()]


def nested_arguments_and_results(tf, np):
    @tf.function
    def swap(pair, table):
        return {"pair": (pair[1], pair[0]), "sum": table["a"] + table["b"][0], "list": [pair[0]]}

    out = swap((tf.constant(1), tf.constant(2)), {"a": tf.constant(3), "b": [tf.constant(4)]})
    return {
        "kinds": [type(out["pair"]).__name__, type(out["list"]).__name__],
        "values": [v.numpy() for v in tf.nest.flatten(out)],
    }


def named_tuple_passes_through(tf, np):
    import collections

    Point = collections.namedtuple("Point", "x y")

    @tf.function
    def mirror(point):
        return Point(-point.x, point.y)

    out = mirror(Point(tf.constant(1.0), tf.constant(2.0)))
    return [type(out).__name__, out.x.numpy(), out.y.numpy()]


def empty_and_missing_results(tf, np):
    @tf.function
    def nothing(x):
        x + 1

    @tf.function
    def partly(x):
        return x, None, (), {"n": None}

    out = partly(tf.constant(1.0))
    return [nothing(tf.constant(1.0)) is None, out[1] is None, out[2] == (), out[3]["n"] is None]


def python_results_become_tensors(tf, np):
    @tf.function
    def constants():
        return 1, 2.5, True, "text", np.array([1, 2])

    out = constants()
    return [[v.dtype.name, v.numpy()] for v in out[:3] + out[4:]] + [out[3].numpy().decode()]


def numpy_arguments_are_tensors(tf, np):
    traces = []

    @tf.function
    def double(x):
        traces.append(x.dtype.name)
        return x * 2

    first = double(np.array([1.0, 2.0]))
    second = double(np.array([3.0, 4.0]))
    return [first.numpy(), second.numpy(), traces]


def python_numbers_are_part_of_the_trace(tf, np):
    traces = []

    @tf.function
    def power(x, n):
        traces.append(n)
        return x**n

    x = tf.constant(3.0)
    values = [power(x, n).numpy() for n in (2, 3, 2, 3)]
    return {"values": values, "traces": traces, "count": power.experimental_get_tracing_count()}


def python_bool_chooses_the_branch(tf, np):
    @tf.function
    def layer(x, training):
        if training:
            return x * 0.5
        return x

    x = tf.constant(4.0)
    return [layer(x, True).numpy(), layer(x, training=False).numpy()]


def strings_choose_the_branch(tf, np):
    @tf.function
    def reduce(x, how="sum"):
        return {"sum": tf.reduce_sum, "max": tf.reduce_max}[how](x)

    x = tf.constant([1.0, 5.0, 2.0])
    return [reduce(x).numpy(), reduce(x, "max").numpy(), reduce(x, how="sum").numpy()]


def none_as_argument(tf, np):
    @tf.function
    def masked_sum(x, mask=None):
        if mask is not None:
            x = x * mask
        return tf.reduce_sum(x)

    x = tf.constant([1.0, 2.0, 3.0])
    return [
        masked_sum(x).numpy(),
        masked_sum(x, None).numpy(),
        masked_sum(x, tf.constant([1.0, 0.0, 1.0])).numpy(),
    ]


def functions_as_arguments(tf, np):
    @tf.function
    def apply(f, x):
        return f(x) + 1.0

    x = tf.constant(0.5)
    return [apply(tf.exp, x).numpy(), apply(tf.sin, x).numpy(), apply(lambda v: v * 4.0, x).numpy()]


def variable_as_argument(tf, np):
    @tf.function
    def bump(v, x):
        v.assign_add(x)
        return v * 2.0

    a, b = tf.Variable(1.0), tf.Variable(10.0)
    first = bump(a, tf.constant(1.0)).numpy()
    second = bump(b, tf.constant(1.0)).numpy()
    return [first, second, a.numpy(), b.numpy()]


def same_variable_twice(tf, np):
    @tf.function
    def move(a, b):
        a.assign_add(1.0)
        return a + b

    v, w = tf.Variable(1.0), tf.Variable(5.0)
    return [move(v, w).numpy(), move(v, v).numpy(), move(w, v).numpy()]


def object_as_argument(tf, np):
    class Settings:
        factor = 3.0

    @tf.function
    def scale(x, settings):
        return x * settings.factor

    return scale(tf.constant(2.0), Settings()).numpy()


def functions_calling_functions(tf, np):
    @tf.function
    def inner(x):
        return x * x

    @tf.function
    def outer(x):
        return inner(x) + inner(2.0 * x)

    return outer(tf.constant(3.0)).numpy()


def inner_function_traced_once(tf, np):
    traces = []

    @tf.function
    def inner(x):
        traces.append("inner")
        return x + 1.0

    @tf.function
    def outer(x):
        traces.append("outer")
        return inner(inner(inner(x)))

    return [outer(tf.constant(0.0)).numpy(), outer(tf.constant(1.0)).numpy(), traces]


def function_defined_inside_a_function(tf, np):
    @tf.function
    def outer(x):
        @tf.function
        def inner(y):
            return x * y

        return inner(x + 1.0)

    return [outer(tf.constant(2.0)).numpy(), outer(tf.constant(3.0)).numpy()]


def closure_over_a_tensor(tf, np):
    weights = tf.constant([1.0, 2.0, 3.0])

    @tf.function
    def dot(x):
        return tf.reduce_sum(weights * x)

    return dot(tf.constant([1.0, 1.0, 2.0])).numpy()


def closure_over_an_outer_traced_tensor(tf, np):
    @tf.function
    def outer(x):
        y = tf.sin(x)
        return tf.cond(x > 0.0, lambda: y + tf.function(lambda: y * x)(), lambda: -y)

    return [outer(tf.constant(0.5)).numpy(), outer(tf.constant(-0.5)).numpy()]


def closure_over_python_is_read_when_traced(tf, np):
    box = {"factor": 2.0}

    @tf.function
    def scale(x):
        return x * box["factor"]

    first = scale(tf.constant(1.0)).numpy()
    box["factor"] = 5.0
    return [first, scale(tf.constant(1.0)).numpy(), scale(tf.constant([1.0])).numpy()]


def recursion_through_python(tf, np):
    @tf.function
    def factorial(n, x):
        if n <= 1:
            return x
        return factorial(n - 1, x * n)

    return factorial(5, tf.constant(1.0)).numpy()


def mutual_recursion_through_python(tf, np):
    @tf.function
    def even(n, x):
        return x if n == 0 else odd(n - 1, x + 1.0)

    @tf.function
    def odd(n, x):
        return -x if n == 0 else even(n - 1, x * 2.0)

    return [even(4, tf.constant(1.0)).numpy(), even(3, tf.constant(1.0)).numpy()]


def generator_of_traced_functions(tf, np):
    def power(n):
        return tf.function(lambda x: x**n)

    powers = [power(n) for n in range(4)]
    return [f(tf.constant(2.0)).numpy() for f in powers]


def original_function_is_reachable(tf, np):
    @tf.function
    def double(x):
        """Twice x."""
        return x * 2

    return [double.python_function(21), double.__name__, double.__doc__]


def same_result_eagerly(tf, np):
    calls = []

    @tf.function
    def count(x):
        calls.append("python")
        return x + 1

    tf.config.run_functions_eagerly(True)
    try:
        values = [count(tf.constant(i)).numpy() for i in range(3)]
        flag = tf.config.functions_run_eagerly()
    finally:
        tf.config.run_functions_eagerly(False)
    values.append(count(tf.constant(9)).numpy())
    return {
        "values": values,
        "calls": len(calls),
        "flags": [flag, tf.config.functions_run_eagerly()],
    }


def executing_eagerly_inside_and_outside(tf, np):
    seen = []

    @tf.function
    def look():
        seen.append(tf.executing_eagerly())
        seen.append(tf.inside_function())
        with tf.init_scope():
            seen.append(tf.executing_eagerly())
        return tf.constant(0)

    look()
    return seen + [tf.executing_eagerly(), tf.inside_function()]


def init_scope_lifts_a_constant(tf, np):
    made = []

    @tf.function
    def add(x):
        with tf.init_scope():
            table = tf.constant([10.0, 20.0])
            made.append(bool(table[0] > 5.0))
        return x + table

    return [add(tf.constant(1.0)).numpy(), made]


PROGRAMS = [
    decorated,
    decorated_with_parentheses,
    called_as_a_function,
    lambda_function,
    partial_function,
    partial_of_a_traced_function,
    method,
    bound_method_wrapped,
    static_and_class_methods,
    callable_object,
    method_under_inheritance,
    keywords_and_defaults,
    star_arguments,
    nested_arguments_and_results,
    named_tuple_passes_through,
    empty_and_missing_results,
    python_results_become_tensors,
    numpy_arguments_are_tensors,
    python_numbers_are_part_of_the_trace,
    python_bool_chooses_the_branch,
    strings_choose_the_branch,
    none_as_argument,
    functions_as_arguments,
    variable_as_argument,
    same_variable_twice,
    object_as_argument,
    functions_calling_functions,
    inner_function_traced_once,
    function_defined_inside_a_function,
    closure_over_a_tensor,
    closure_over_an_outer_traced_tensor,
    closure_over_python_is_read_when_traced,
    recursion_through_python,
    mutual_recursion_through_python,
    generator_of_traced_functions,
    original_function_is_reachable,
    same_result_eagerly,
    executing_eagerly_inside_and_outside,
    init_scope_lifts_a_constant,
]
