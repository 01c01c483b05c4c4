"""AutoGraph: helpers, lambdas and methods called from traced functions; conversion by hand."""

from programs.function import truth
from programs.support import raised


def call_of_a_helper_with_branches(tf, np):
    def clip(x, low=-1.0, high=1.0):
        if x < low:
            return low
        if x > high:
            return high
        return x

    @tf.function
    def run(x):
        return clip(x) + clip(x, high=5.0)

    return [run(tf.constant(x)).numpy() for x in (-3.0, 0.5, 3.0, 9.0)]


def lambda_with_a_branch(tf, np):
    @tf.function
    def run(x):
        pick = lambda v: v * 2 if v > 0 else -v  # noqa: E731
        return pick(x) + 1

    return [run(tf.constant(x)).numpy() for x in (2, -2)]


def method_helper_with_branches(tf, np):
    class Account:
        def __init__(self, limit):
            self.limit = limit

        def allowed(self, amount):
            if amount > self.limit:  # noqa: SIM103
                return False
            return True

        @tf.function
        def pay(self, amount):
            return amount if self.allowed(amount) else 0.0

    account = Account(10.0)
    return [account.pay(tf.constant(a)).numpy() for a in (5.0, 50.0)]


def inner_function_with_branches(tf, np):
    @tf.function
    def run(x):
        offset = 100

        def step(v):
            if v % 2 == 0:
                return v + offset
            return v - offset

        return step(step(x))

    return [run(tf.constant(x)).numpy() for x in (4, 7)]


def assertion_as_a_feature(tf, np):
    feature = tf.autograph.experimental.Feature.ASSERT_STATEMENTS

    @tf.function(experimental_autograph_options=feature)
    def root(x):
        assert x >= 0.0, "negative"
        return tf.sqrt(x)

    return [root(tf.constant(4.0)).numpy(), raised(lambda: root(tf.constant(-4.0)))]


@truth(lambda np: [np.float32(2.0), "InvalidArgumentError"])
def assertion(tf, np):
    @tf.function
    def root(x):
        assert x >= 0.0, "negative"
        return tf.sqrt(x)

    return [root(tf.constant(4.0)).numpy(), raised(lambda: root(tf.constant(-4.0)))]


def python_assertion(tf, np):
    @tf.function
    def run(x, n):
        assert n > 0, f"n is {n}"
        return x * n

    return [run(tf.constant(4), 2).numpy(), raised(lambda: run(tf.constant(4), 0))]


@truth(lambda np: [3, 12, "InvalidArgumentError"])
def assertion_in_a_branch(tf, np):
    @tf.function
    def run(x):
        if x > 10:
            assert x % 2 == 0, "odd"
        return x

    values = [int(run(tf.constant(3))), int(run(tf.constant(12)))]
    return values + [raised(lambda: run(tf.constant(13)))]


def exception_raised_for_python_values(tf, np):
    @tf.function
    def run(x, kind):
        if kind == "good":
            return x
        raise KeyError if kind == "key" else ValueError("bad kind")

    return [run(tf.constant(1), "good").numpy(), raised(lambda: run(tf.constant(1), "bad"))]


def try_and_finally(tf, np):
    seen = []

    @tf.function
    def run(x):
        try:
            if x > 0:
                y = x * 2
            else:
                y = x
        finally:
            seen.append("finally")
        try:
            raise ValueError("caught")
        except ValueError:
            y += 1
        return y

    return [run(tf.constant(2)).numpy(), run(tf.constant(-2)).numpy(), seen]


def with_statement(tf, np):
    @tf.function
    def run(x):
        with tf.name_scope("scope"):
            if x > 0:
                x = x * 3
        with tf.control_dependencies([x]):
            return x + 1

    return [run(tf.constant(2)).numpy(), run(tf.constant(-2)).numpy()]


def helper_with_a_loop(tf, np):
    def power(x, n):
        result = tf.ones_like(x)
        for _ in tf.range(n):
            result *= x
        return result

    @tf.function
    def run(x, n):
        if n > 3:
            return power(x, n)
        return power(x, n) + power(x, 1)

    return [run(tf.constant(2.0), tf.constant(n)).numpy() for n in (2, 5)]


def generator_expression_and_comprehension(tf, np):
    @tf.function
    def run(x):
        parts = [x[i] * 2 for i in range(3) if i != 1]
        return sum(parts), tf.add_n([p + 1 for p in parts])

    return [t.numpy() for t in run(tf.constant([1, 2, 3]))]


def not_converted_helper(tf, np):
    @tf.autograph.experimental.do_not_convert
    def helper(x):
        return x * 2 if isinstance(x, tf.Tensor) else None

    @tf.function
    def run(x):
        return helper(x) + 1

    return run(tf.constant(3)).numpy()


def conversion_is_passed_on_to_helpers(tf, np):
    def inner(x):
        total = 0
        while x > 0:
            total += x
            x -= 1
        return total

    def middle(x):
        return inner(x) * 2

    @tf.function
    def run(x):
        return middle(x)

    return run(tf.constant(4)).numpy()


def default_arguments_of_helpers(tf, np):
    def helper(x, factor=3, *rest, scale=2, **others):
        if x > 0:
            x = x * factor
        for value in rest:
            x += value
        return x * scale + others.get("extra", 0)

    @tf.function
    def run(x):
        first = helper(x)
        second = helper(x, 10, 1, 2, scale=1, extra=1000)
        return first, second

    return [t.numpy() for t in run(tf.constant(5))]


def helper_changes_an_outer_name(tf, np):
    @tf.function
    def run(x):
        count = 0

        def bump(value):
            nonlocal count
            count += 1
            return value + 1

        x = bump(bump(x))
        return x, count

    return [t.numpy() for t in run(tf.constant(5))]


def generator_helper(tf, np):
    def factors(n):
        for i in range(n):
            yield float(i + 1)

    @tf.function
    def run(x):
        for factor in factors(4):
            x = x * factor
        return x

    return run(tf.constant(1.0)).numpy()


def builtins_of_tensors(tf, np):
    @tf.function
    def run(x):
        return len(x), abs(x[0]), max(3, 4) * x[1], min(1, 2), sum([x[0], x[1]]), pow(x[1], 2)

    return [t.numpy() for t in run(tf.constant([-1.0, 2.0, 5.0]))]


def casts_of_tensors(tf, np):
    @tf.function
    def run(x):
        return int(x), float(x) / 2.0

    return [t.numpy() for t in run(tf.constant(7.9))]


def range_of_a_tensor(tf, np):
    @tf.function
    def run(n):
        total = 0
        for i in range(n):
            total += i
        return total

    return [run(tf.constant(n)).numpy() for n in (0, 5)]


def length_of_an_unknown_batch(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def run(x):
        if len(x) > 1:
            return len(x) * 10
        return len(x)

    return [run(tf.ones([n, 2])).numpy() for n in (0, 1, 4)]


def converted_by_hand(tf, np):
    def collatz(n):
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    converted = tf.autograph.to_graph(collatz)
    traced = tf.function(converted, autograph=False)
    return [traced(tf.constant(6)).numpy(), converted(6)]


def converted_code_is_shown(tf, np):
    def absolute(x):
        if x < 0:
            x = -x
        return x

    code = tf.autograph.to_code(absolute)
    return ["def" in code, "absolute" in code, "if_stmt" in code]


def converted_functions_are_left_alone_outside(tf, np):
    def absolute(x):
        if x < 0:
            return -x
        return x

    traced = tf.function(absolute)
    return [traced(tf.constant(-3)).numpy(), absolute(-3), traced.python_function(-4)]


def function_without_source(tf, np):
    space = {}
    exec("def double(x):\n    return x * 2\n", space)
    traced = tf.function(space["double"])
    return traced(tf.constant(4)).numpy()


def decorated_helper(tf, np):
    import functools

    def twice(function):
        @functools.wraps(function)
        def call(x):
            return function(function(x))

        return call

    @twice
    def step(x):
        if x > 10:
            return x + 1
        return x * 2

    @tf.function
    def run(x):
        return step(x)

    return [run(tf.constant(x)).numpy() for x in (3, 6, 20)]


def recursion_in_python_with_tensors(tf, np):
    def power(x, n):
        if n == 0:
            return tf.ones_like(x)
        half = power(x, n // 2)
        return half * half if n % 2 == 0 else half * half * x

    @tf.function
    def run(x):
        return power(x, 10)

    return run(tf.constant(2.0)).numpy()


def class_with_a_call_method(tf, np):
    class Clip:
        def __init__(self, low, high):
            self.low, self.high = low, high

        def __call__(self, x):
            if x < self.low:
                return self.low
            elif x > self.high:
                return self.high
            else:
                return x

    clip = Clip(0.0, 1.0)
    traced = tf.function(clip)
    return [traced(tf.constant(x)).numpy() for x in (-1.0, 0.5, 2.0)]


PROGRAMS = [
    call_of_a_helper_with_branches,
    lambda_with_a_branch,
    method_helper_with_branches,
    inner_function_with_branches,
    assertion_as_a_feature,
    assertion,
    python_assertion,
    assertion_in_a_branch,
    exception_raised_for_python_values,
    try_and_finally,
    with_statement,
    helper_with_a_loop,
    generator_expression_and_comprehension,
    not_converted_helper,
    conversion_is_passed_on_to_helpers,
    default_arguments_of_helpers,
    helper_changes_an_outer_name,
    generator_helper,
    builtins_of_tensors,
    casts_of_tensors,
    range_of_a_tensor,
    length_of_an_unknown_batch,
    converted_by_hand,
    converted_code_is_shown,
    converted_functions_are_left_alone_outside,
    function_without_source,
    decorated_helper,
    recursion_in_python_with_tensors,
    class_with_a_call_method,
]
