"""Variables, modules and side effects in traced functions: what happens, once a call, in order."""

import tempfile
from pathlib import Path

from programs.support import raised


def reads_and_writes_keep_their_order(tf, np):
    v = tf.Variable(1.0)

    @tf.function
    def run(x):
        before = v.read_value()
        v.assign_add(x)
        between = v * 1.0
        v.assign(v * 10.0)
        return before, between, v.read_value()

    return [t.numpy() for t in run(tf.constant(2.0))] + [v.numpy()]


def two_variables_swap(tf, np):
    a, b = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function
    def swap():
        old = a.read_value()
        a.assign(b)
        b.assign(old)

    swap()
    once = [a.numpy(), b.numpy()]
    swap()
    return [once, a.numpy(), b.numpy()]


def every_call_counts(tf, np):
    counter = tf.Variable(0)

    @tf.function
    def count():
        return counter.assign_add(1)

    values = [count().numpy() for _ in range(4)]
    return values + [counter.numpy()]


def effects_without_a_result_happen(tf, np):
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def double():
        v.assign(v * 2.0)

    for _ in range(3):
        double()
    return v.numpy()


def effects_of_inner_functions_in_order(tf, np):
    v = tf.Variable(1.0)

    @tf.function
    def add(x):
        v.assign_add(x)
        return v.read_value()

    @tf.function
    def double():
        v.assign(v * 2.0)

    @tf.function
    def run():
        first = add(1.0)
        double()
        second = add(1.0)
        double()
        return first, second

    return [t.numpy() for t in run()] + [v.numpy()]


def kept_read_does_not_change(tf, np):
    v = tf.Variable(3.0)

    @tf.function
    def run():
        kept = tf.identity(v)
        v.assign(100.0)
        return kept + 1.0

    return [run().numpy(), v.numpy()]


def slices_of_a_variable_are_assigned(tf, np):
    v = tf.Variable(np.zeros((2, 3), np.float32))

    @tf.function
    def fill(x):
        v[0, 1:].assign(x)
        v[1].assign(tf.ones([3]))
        return tf.reduce_sum(v)

    return [fill(tf.constant([5.0, 6.0])).numpy(), v.numpy()]


def scattered_updates(tf, np):
    v = tf.Variable([1.0, 2.0, 3.0, 4.0])

    @tf.function
    def run(rows, x):
        v.scatter_nd_add(rows[:, None], x)
        v.scatter_sub(tf.IndexedSlices(x, rows))
        v.scatter_update(tf.IndexedSlices(tf.constant([9.0]), tf.constant([3])))
        v.scatter_nd_update([[0]], [7.0])

    run(tf.constant([0, 2]), tf.constant([10.0, 20.0]))
    return v.numpy()


def created_on_the_first_call(tf, np):
    holder = []

    @tf.function
    def layer(x):
        if not holder:
            holder.append(tf.Variable(2.0))
        return x * holder[0]

    first = layer(tf.constant(3.0)).numpy()
    holder[0].assign(5.0)
    return [first, layer(tf.constant(3.0)).numpy(), layer(tf.constant([1.0, 2.0])).numpy()]


def created_in_a_class_when_first_called(tf, np):
    class Dense:
        weights = None

        @tf.function
        def __call__(self, x):
            if self.weights is None:
                self.weights = tf.Variable(tf.ones([x.shape[-1], 2]) * 0.5)
                self.bias = tf.Variable(tf.zeros([2]))
            return tf.matmul(x, self.weights) + self.bias

    dense = Dense()
    first = dense(tf.ones([1, 3])).numpy()
    dense.bias.assign([1.0, 2.0])
    return [first, dense(tf.ones([2, 3])).numpy()]


def created_on_every_call_is_an_error(tf, np):
    @tf.function
    def run(x):
        v = tf.Variable(1.0)
        return x * v

    return raised(lambda: run(tf.constant(1.0)))


def created_on_a_later_call_is_an_error(tf, np):
    made = []

    @tf.function
    def run(x, more):
        if more:
            made.append(tf.Variable(1.0))
        return x

    run(tf.constant(1.0), False)
    return raised(lambda: run(tf.constant(1.0), True))


def initial_value_from_an_argument(tf, np):
    holder = []

    @tf.function
    def remember(x):
        if not holder:
            holder.append(tf.Variable(tf.zeros_like(x)))
        holder[0].assign_add(x)
        return holder[0].read_value()

    x = tf.constant([1.0, 2.0])
    return [remember(x).numpy(), remember(x).numpy()]


def init_scope_creates_variables(tf, np):
    holder = {}

    @tf.function
    def run(x):
        with tf.init_scope():
            if "v" not in holder:
                holder["v"] = tf.Variable(4.0)
        return holder["v"].assign_add(x)

    return [run(tf.constant(1.0)).numpy(), run(tf.constant(1.0)).numpy(), holder["v"].numpy()]


def assigned_in_a_branch(tf, np):
    v = tf.Variable(0.0)

    @tf.function
    def run(x):
        if x > 0.0:
            v.assign_add(x)
        else:
            v.assign(-1.0)
        return v.read_value()

    return [run(tf.constant(x)).numpy() for x in (2.0, 3.0, -5.0, 4.0)]


def assigned_in_one_branch_only(tf, np):
    best = tf.Variable(0.0)

    @tf.function
    def track(x):
        if x > best:
            best.assign(x)

    for x in (1.0, 0.5, 3.0, 2.0):
        track(tf.constant(x))
    return best.numpy()


def assigned_in_a_loop(tf, np):
    v = tf.Variable(1.0)

    @tf.function
    def run(n):
        for i in tf.range(n):
            v.assign(v * 2.0 + tf.cast(i, tf.float32))
        return v.read_value()

    return [run(tf.constant(3)).numpy(), run(tf.constant(0)).numpy(), run(tf.constant(1)).numpy()]


def variable_decides_when_a_loop_ends(tf, np):
    v = tf.Variable(100.0)

    @tf.function
    def halve():
        steps = 0
        while v > 1.0:
            v.assign(v / 2.0)
            steps += 1
        return steps

    return [halve().numpy(), v.numpy(), halve().numpy()]


def assigned_in_nested_control_flow(tf, np):
    even, odd = tf.Variable(0), tf.Variable(0)

    @tf.function
    def count(n):
        for i in tf.range(n):
            if i % 2 == 0:
                even.assign_add(1)
            else:
                for _ in tf.range(i):
                    odd.assign_add(1)

    count(tf.constant(6))
    return [even.numpy(), odd.numpy()]


def assigned_in_cond_and_while_loop(tf, np):
    v = tf.Variable(1)

    @tf.function
    def run(flag):
        tf.cond(flag, lambda: v.assign_add(10), lambda: v.assign_sub(1))
        tf.while_loop(lambda i: i < 3, lambda i: [i + v.assign_add(1) * 0 + 1], [tf.constant(0)])
        return v.read_value()

    return [run(tf.constant(True)).numpy(), run(tf.constant(False)).numpy()]


def moving_average(tf, np):
    mean, seen = tf.Variable([0.0, 0.0]), tf.Variable(0.0)

    @tf.function
    def update(x):
        seen.assign_add(1.0)
        mean.assign_add((x - mean) / seen)
        return mean.read_value()

    rows = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]], np.float32)
    return [update(row).numpy() for row in rows]


def numpy_functions_run_once_in_order(tf, np):
    seen = []

    def note(text):
        def record(x):
            seen.append(f"{text} {float(x):g}")
            return np.float32(x)

        return record

    @tf.function
    def run(x):
        y = tf.numpy_function(note("first"), [x], tf.float32)
        tf.numpy_function(note("second"), [x + 1.0], tf.float32)
        tf.numpy_function(note("third"), [x + 2.0], tf.float32)
        return y

    values = [run(tf.constant(1.0)).numpy(), run(tf.constant(5.0)).numpy()]
    return [values, seen]


def python_functions_see_values_between_writes(tf, np):
    seen, v = [], tf.Variable(1.0)

    @tf.function
    def run(x):
        tf.py_function(lambda value: seen.append(float(value)), [v.read_value()], [])
        v.assign_add(x)
        tf.py_function(lambda value: seen.append(float(value)), [v.read_value()], [])
        v.assign_add(x)

    run(tf.constant(1.0))
    run(tf.constant(10.0))
    return seen + [v.numpy()]


def python_function_in_a_loop(tf, np):
    seen = []

    @tf.function
    def run(n):
        for i in tf.range(n):
            if i != 2:
                tf.py_function(lambda k: seen.append(int(k)), [i], [])

    run(tf.constant(5))
    return seen


def python_effects_happen_when_traced(tf, np):
    traced = []

    @tf.function
    def run(x):
        traced.append("trace")
        return x + 1

    for i in range(3):
        run(tf.constant(i))
    return traced


def unused_numpy_function_still_runs(tf, np):
    seen = []

    @tf.function
    def run(x):
        tf.numpy_function(lambda v: seen.append(int(v)) or v, [x], tf.int32)
        return x

    run(tf.constant(3))
    return seen


def printed_lines(tf, np):
    @tf.function
    def run(x, path):
        tf.print("start", x, output_stream=path)
        for i in tf.range(3):
            if i != 1:
                tf.print("step", i, x * i, output_stream=path)
        tf.print("end", output_stream=path)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.txt"
        run(tf.constant([1, 2]), f"file://{path}")
        run(tf.constant([5, 6]), f"file://{path}")
        return path.read_text().splitlines()


def printed_and_assigned_in_order(tf, np):
    v = tf.Variable(1.5)

    @tf.function
    def run(path):
        tf.print("before", v, output_stream=path)
        v.assign(2.5)
        tf.print("after", v, output_stream=path, sep=": ", end=".\n")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.txt"
        run(f"file://{path}")
        return path.read_text()


def asserts_stop_the_call(tf, np):
    v = tf.Variable(0)

    @tf.function
    def run(x):
        v.assign_add(1)
        tf.debugging.assert_positive(x)
        return v.read_value()

    first = run(tf.constant([1, 2])).numpy()
    return [first, raised(lambda: run(tf.constant([1, -2]))), run(tf.constant([3])).numpy() > 1]


def control_dependencies_order_effects(tf, np):
    v = tf.Variable(1.0)

    @tf.function
    def run():
        with tf.control_dependencies([v.assign_add(1.0)]):
            first = tf.identity(v)
        with tf.control_dependencies([v.assign_add(1.0)]):
            second = v.read_value()
        return first, second

    return [t.numpy() for t in run()]


def random_generator_moves_on(tf, np):
    generator = tf.random.Generator.from_seed(7)

    @tf.function
    def draw():
        return generator.uniform([2], dtype=tf.float64), generator.uniform([2], dtype=tf.float64)

    first, second = draw(), draw()
    values = np.concatenate([t.numpy() for t in first + second])
    return [len(set(values.tolist())), bool(np.all((values >= 0) & (values < 1)))]


def initial_values_from_arguments(tf, np):
    """A variable that a function makes in its first call starts with what that call gives."""

    class Centred(tf.Module):
        mean = None

        @tf.function
        def __call__(self, x):
            if self.mean is None:
                self.mean = tf.Variable(tf.reduce_mean(x))
                self.double = tf.Variable(lambda: 2.0 * tf.reduce_mean(x) + self.mean)
            self.double.assign_add(1.0)
            return x - self.mean

    made, x = Centred(), tf.constant([1.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(made(x) ** 2 * [1.0, 2.0])
    gradients = tape.gradient(y, [x, made.mean])
    found = [made(x * 5.0), made(tf.constant([1.0, 2.0, 9.0])), made.mean, made.double, *gradients]
    return [t.numpy() for t in found]


def initial_values_from_arguments_of_callers(tf, np):
    made = []

    @tf.function
    def inner(x, n):
        if not made:
            made.append(tf.Variable(x))
            made.append(tf.Variable(made[0] * n))
        made[0].assign_add(1.0)
        return made[0] + made[1]

    scale = tf.Variable(10.0)

    @tf.function
    def outer(x):
        return inner(x * scale, 2.0)

    return [outer(tf.constant(value)).numpy() for value in (1.0, 5.0)] + [v.numpy() for v in made]


def initial_values_of_unknown_size(tf, np):
    made = []

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def f(x):
        if not made:
            made.append(tf.Variable(x))
        return made[0]

    first = f(tf.constant([1.0, 2.0])).numpy()
    made[0].assign([1.0, 2.0, 3.0])
    return [first, f(tf.constant([4.0])).numpy(), made[0].shape.as_list()]


def initial_values_that_nobody_gives(tf, np):
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(x + 1.0))
        return made[0]

    try:
        f.get_concrete_function(tf.TensorSpec([]))
    except Exception:
        return "refused"


PROGRAMS = [
    initial_values_from_arguments,
    initial_values_from_arguments_of_callers,
    initial_values_of_unknown_size,
    initial_values_that_nobody_gives,
    reads_and_writes_keep_their_order,
    two_variables_swap,
    every_call_counts,
    effects_without_a_result_happen,
    effects_of_inner_functions_in_order,
    kept_read_does_not_change,
    slices_of_a_variable_are_assigned,
    scattered_updates,
    created_on_the_first_call,
    created_in_a_class_when_first_called,
    created_on_every_call_is_an_error,
    created_on_a_later_call_is_an_error,
    initial_value_from_an_argument,
    init_scope_creates_variables,
    assigned_in_a_branch,
    assigned_in_one_branch_only,
    assigned_in_a_loop,
    variable_decides_when_a_loop_ends,
    assigned_in_nested_control_flow,
    assigned_in_cond_and_while_loop,
    moving_average,
    numpy_functions_run_once_in_order,
    python_functions_see_values_between_writes,
    python_function_in_a_loop,
    python_effects_happen_when_traced,
    unused_numpy_function_still_runs,
    printed_lines,
    printed_and_assigned_in_order,
    asserts_stop_the_call,
    control_dependencies_order_effects,
    random_generator_moves_on,
]
