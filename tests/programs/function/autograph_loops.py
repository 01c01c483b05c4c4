"""AutoGraph: `while` and `for`, `break`, `continue`, `return` in loops, and what loops carry."""

from programs.function import truth
from programs.support import raised


def while_loop(tf, np):
    @tf.function
    def halvings(x):
        n = 0
        while x > 1.0:
            x = x / 2.0
            n += 1
        return n, x

    return [[t.numpy() for t in halvings(tf.constant(x))] for x in (100.0, 0.5)]


def for_over_range(tf, np):
    @tf.function
    def total(n):
        result = 0
        for i in tf.range(n):
            result += i * i
        return result

    return [total(tf.constant(n)).numpy() for n in (0, 1, 10)]


def for_over_range_with_steps(tf, np):
    @tf.function
    def run(start, stop, step):
        result = 0
        for i in tf.range(start, stop, step):
            result = result * 10 + i
        return result

    cases = [(1, 6, 2), (5, 0, -2), (3, 3, 1)]
    return [run(*[tf.constant(v) for v in case]).numpy() for case in cases]


def for_over_a_float_range(tf, np):
    @tf.function
    def run(stop):
        result = 0.0
        for x in tf.range(0.0, stop, 0.5):
            result += x
        return result

    return run(tf.constant(2.0)).numpy()


def for_over_a_vector(tf, np):
    @tf.function
    def run(x):
        best = tf.constant(-np.inf, tf.float32)
        for value in x:
            if value > best:
                best = value
        return best

    return [run(tf.constant(x)).numpy() for x in ([3.0, 7.0, 5.0], [-1.0])]


def for_over_the_rows_of_a_matrix(tf, np):
    @tf.function
    def run(x):
        total = tf.zeros([2])
        for row in x:
            total = total * 10.0 + row
        return total

    return run(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).numpy()


def for_over_an_unknown_batch(tf, np):
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.int32)])
    def run(x):
        product = tf.ones([2], tf.int32)
        for row in x:
            product *= row
        return product

    return [run(tf.constant(np.full((n, 2), 2, np.int32))).numpy() for n in (0, 1, 5)]


def for_over_python_is_unrolled(tf, np):
    steps = []

    @tf.function
    def run(x):
        for factor in [2.0, 3.0, 4.0]:
            steps.append(factor)
            x = x * factor
        return x

    return [run(tf.constant(1.0)).numpy(), run(tf.constant(2.0)).numpy(), steps]


def for_over_python_range_enumerate_and_zip(tf, np):
    @tf.function
    def run(x, y):
        total = tf.constant(0.0)
        for i in range(3):
            total += x[i]
        for i, value in enumerate([10.0, 20.0]):
            total += i * value
        for a, b in zip([x, y], [1.0, 2.0]):
            total += tf.reduce_sum(a) * b
        return total

    return run(tf.constant([1.0, 2.0, 3.0]), tf.constant([1.0, 1.0])).numpy()


def for_over_a_dictionary(tf, np):
    @tf.function
    def run(table):
        total = tf.constant(0)
        for name, value in sorted(table.items()):
            if name != "skip":
                total = total * 10 + value
        return total

    return run({"b": tf.constant(2), "a": tf.constant(1), "skip": tf.constant(9)}).numpy()


@truth(lambda np: 20)
def for_over_enumerate_of_a_tensor(tf, np):
    @tf.function
    def run(x):
        total = tf.constant(0)
        for i, value in enumerate(x):
            total += tf.cast(i, tf.int32) * value
        return total

    return int(run(tf.constant([5, 6, 7])))


def for_over_a_python_list_with_a_tensor_bound(tf, np):
    @tf.function
    def run(n):
        total = tf.constant(0)
        for value in (1, 2, 3, 4):
            if value <= n:
                total += value
        return total

    return [run(tf.constant(n)).numpy() for n in (0, 2, 9)]


def nested_loops(tf, np):
    @tf.function
    def triangle(n):
        count, last = 0, 0
        for i in tf.range(n):
            for j in tf.range(i):
                count += 1
                last = i * 10 + j
        return count, last

    return [[t.numpy() for t in triangle(tf.constant(n))] for n in (1, 4)]


def while_with_and(tf, np):
    @tf.function
    def run(x, limit):
        n = 0
        while x > 1 and n < limit:
            x = x // 2
            n += 1
        return x, n

    return [[t.numpy() for t in run(tf.constant(100), tf.constant(k))] for k in (2, 50)]


def loop_else_branches(tf, np):
    @tf.function
    def gcd(a, b):
        while b != 0:
            a, b = b, a % b
        return a

    return [gcd(tf.constant(a), tf.constant(b)).numpy() for a, b in ((12, 18), (17, 5), (4, 0))]


def collatz_with_branches(tf, np):
    @tf.function
    def steps(n):
        count = 0
        while n > 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            count += 1
        return count

    return [steps(tf.constant(n)).numpy() for n in (1, 6, 27)]


def newton_iteration(tf, np):
    @tf.function
    def root(a):
        x, steps = a, 0
        while tf.abs(x * x - a) > 1e-12 and steps < 50:
            x = 0.5 * (x + a / x)
            steps += 1
        return x, steps

    return [[t.numpy() for t in root(tf.constant(a, tf.float64))] for a in (2.0, 9.0)]


def loop_carries_a_nest(tf, np):
    @tf.function
    def run(n):
        state = {"a": tf.constant(1), "b": (tf.constant(2), [tf.constant(3)])}
        for i in tf.range(n):
            state = {"a": state["a"] + i, "b": (state["b"][0] * 2, [state["a"]])}
        return state

    return [t.numpy() for t in tf.nest.flatten(run(tf.constant(3)))]


def python_list_built_in_an_unrolled_loop(tf, np):
    @tf.function
    def run(x):
        results = []
        for i in range(3):
            results.append(x * float(i))
        return tf.stack(results)

    return run(tf.constant([1.0, 2.0])).numpy()


def python_list_of_tensors_is_returned(tf, np):
    @tf.function
    def run(x):
        results = []
        for i in range(1, 4):
            results.append(x**i)
        results.pop(0)
        return results

    return [t.numpy() for t in run(tf.constant(2))]


def loop_variable_keeps_its_last_value(tf, np):
    @tf.function
    def run(n):
        i = -1
        for i in tf.range(n):
            pass
        return i

    return [run(tf.constant(n)).numpy() for n in (0, 4)]


def temporary_inside_the_loop(tf, np):
    @tf.function
    def run(n):
        total = 0
        for i in tf.range(n):
            square = i * i
            total += square
        return total

    return run(tf.constant(4)).numpy()


def loop_reads_a_closure(tf, np):
    weights = tf.constant([1, 10, 100])

    @tf.function
    def run(n):
        scale = n * 2
        total = 0
        for i in tf.range(3):
            total += weights[i] * scale
        return total

    return run(tf.constant(3)).numpy()


def rows_updated_through_scatter(tf, np):
    @tf.function
    def run(n):
        table = tf.zeros([4], tf.int32)
        for i in tf.range(n):
            table = tf.tensor_scatter_nd_update(table, [[i]], [i * i])
        return table

    return run(tf.constant(3)).numpy()


def bubble_sort(tf, np):
    @tf.function
    def sort(x):
        n = tf.size(x)
        swapped = tf.constant(True)
        while swapped:
            swapped = False
            for i in tf.range(n - 1):
                if x[i] > x[i + 1]:
                    pair = tf.stack([x[i + 1], x[i]])
                    x = tf.tensor_scatter_nd_update(x, tf.stack([[i], [i + 1]]), pair)
                    swapped = True
        return x

    return sort(tf.constant([5, 2, 9, 1, 3])).numpy()


def dtypes_of_loop_variables(tf, np):
    def python_number(n):
        s = 0.0
        for _ in tf.range(n):
            s = 1
        return s

    def element(n):
        s = 0.0
        for i in tf.range(n):
            s = i
        return s

    def truth_value(n):
        done = False
        for _ in tf.range(n):
            done = 1
        return done

    def alike(n):
        s, t, done = 0, 0.0, False
        for i in tf.range(n):
            s, t, done = 5, 2.5, i > 1
        return s, t, done

    def loop(first, then):
        return lambda n: tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, then), [0, first])

    refused = [
        python_number,
        element,
        truth_value,
        loop(0.0, 1),
        loop(0, 1.5),
        loop(0.0, tf.constant(1)),
    ]
    n = tf.constant(3)
    found = [raised(lambda f=f: tf.function(f)(n)) for f in refused]
    return [found, [t.numpy() for t in tf.function(alike)(n)]]


def names_that_loops_give_first(tf, np):
    """A loop that gives a name its first value must run at least once."""

    def while_loop(n):
        while n > 0:
            a = n
            n -= 1
        return a

    def for_loop(n):
        for i in tf.range(n):
            a = tf.cast(i, tf.float32) * 2.0
        return a + 1.0

    def over_rows(n):
        for row in tf.zeros([n, 2]):
            a = row
        return a

    def a_list(n):
        for i in tf.range(n):
            a = [i, i + 1]
        return a[1]

    def nested(n):
        for i in tf.range(n):
            for j in tf.range(3):
                a = i * j
        return a

    def not_used(n):
        for i in tf.range(n):
            a = i
            n += a
        return n

    found = []
    for f in (while_loop, for_loop, over_rows, a_list, nested, not_used):
        f, found_here = tf.function(f), []
        for n in (3, 0, 3, 2, 1, 4, 5, 6, 0, 2):  # often enough for it to be compiled
            error = raised(lambda f=f, n=n: f(tf.constant(n)))
            found_here.append(error or f(tf.constant(n)).numpy())
        found.append(found_here)
    return found


def gradients_of_names_that_loops_give_first(tf, np):
    @tf.function
    def f(n, x):
        while n > 0:
            a = x * x
            n -= 1
        return a

    @tf.function
    def gradient(n, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(n, x)
        return tape.gradient(y, x)

    x = tf.constant(3.0)
    return [raised(lambda: gradient(tf.constant(0), x)), gradient(tf.constant(2), x).numpy()]


PROGRAMS = [
    dtypes_of_loop_variables,
    names_that_loops_give_first,
    gradients_of_names_that_loops_give_first,
    while_loop,
    for_over_range,
    for_over_range_with_steps,
    for_over_a_float_range,
    for_over_a_vector,
    for_over_the_rows_of_a_matrix,
    for_over_an_unknown_batch,
    for_over_python_is_unrolled,
    for_over_python_range_enumerate_and_zip,
    for_over_a_dictionary,
    for_over_enumerate_of_a_tensor,
    for_over_a_python_list_with_a_tensor_bound,
    nested_loops,
    while_with_and,
    loop_else_branches,
    collatz_with_branches,
    newton_iteration,
    loop_carries_a_nest,
    python_list_built_in_an_unrolled_loop,
    python_list_of_tensors_is_returned,
    loop_variable_keeps_its_last_value,
    temporary_inside_the_loop,
    loop_reads_a_closure,
    rows_updated_through_scatter,
    bubble_sort,
]
