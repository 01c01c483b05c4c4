"""AutoGraph: `break`, `continue` and `return` in loops, and loop options."""

from programs.function import truth
from programs.support import raised


def break_in_while(tf, np):
    @tf.function
    def first_above(x, limit):
        i = 0
        while i < tf.size(x):
            if x[i] > limit:
                break
            i += 1
        return i

    x = tf.constant([1.0, 3.0, 2.0, 5.0])
    return [first_above(x, tf.constant(limit)).numpy() for limit in (0.0, 2.5, 9.0)]


def break_in_for(tf, np):
    @tf.function
    def run(x):
        total = 0
        for value in x:
            if value < 0:
                break
            total += value
        return total

    return [run(tf.constant(x)).numpy() for x in ([1, 2, -1, 5], [1, 2, 3], [-1])]


def continue_in_for(tf, np):
    @tf.function
    def run(n):
        total = 0
        for i in tf.range(n):
            if i % 3 == 0:
                continue
            total += i
        return total

    return [run(tf.constant(n)).numpy() for n in (1, 10)]


def break_and_continue(tf, np):
    @tf.function
    def run(x):
        total, seen = 0, 0
        for value in x:
            seen += 1
            if value == 0:
                continue
            if value < 0:
                break
            total += value
        return total, seen

    return [[t.numpy() for t in run(tf.constant(x))] for x in ([1, 0, 2, -1, 9], [0, 0])]


@truth(lambda np: [2, 0, -1])
def return_in_for(tf, np):
    @tf.function
    def find(x, wanted):
        for i in tf.range(tf.size(x)):
            if x[i] == wanted:
                return i
        return -1

    x = tf.constant([4, 8, 15, 16])
    return [int(find(x, tf.constant(w))) for w in (15, 4, 23)]


@truth(lambda np: [0, 12, 22, -1])
def return_in_nested_loops(tf, np):
    @tf.function
    def find(x):
        for i in tf.range(3):
            for j in tf.range(3):
                if x[i, j] < 0:
                    return i * 10 + j
        return -1

    x = np.arange(9).reshape(3, 3)
    return [int(find(tf.constant(np.where(x == k, -1, x)))) for k in (0, 5, 8, 99)]


def inner_break_leaves_only_the_inner_loop(tf, np):
    @tf.function
    def run(n):
        total = 0
        for i in tf.range(n):
            for j in tf.range(n):
                if j > i:
                    break
                total += 1
            if total > 12:
                continue
            total += 100
        return total

    return [run(tf.constant(n)).numpy() for n in (2, 4)]


def growing_shape_needs_an_invariant(tf, np):
    @tf.function
    def without(n):
        x = tf.constant([0])
        for i in tf.range(n):
            x = tf.concat([x, [i]], 0)
        return x

    @tf.function
    def given(n):
        x = tf.constant([0])
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([None]))]
            )
            x = tf.concat([x, [i]], 0)
        return x

    return [raised(lambda: without(tf.constant(3))), given(tf.constant(3)).numpy()]


def loop_options_are_accepted(tf, np):
    @tf.function
    def run(n):
        total = 0
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(
                parallel_iterations=1, maximum_iterations=4, swap_memory=True
            )
            total += i
        return total

    return run(tf.constant(4)).numpy()


@truth(lambda np: [0, 95])
def maximum_iterations_of_while(tf, np):
    @tf.function
    def run(x):
        while x > 0:
            tf.autograph.experimental.set_loop_options(maximum_iterations=5)
            x -= 1
        return x

    return [int(run(tf.constant(x))) for x in (3, 100)]


def primes_by_division(tf, np):
    @tf.function
    def count_primes(n):
        count = 0
        for candidate in tf.range(2, n):
            prime = True
            divisor = 2
            while divisor * divisor <= candidate and prime:
                if candidate % divisor == 0:
                    prime = False
                divisor += 1
            if prime:
                count += 1
        return count

    return count_primes(tf.constant(60)).numpy()


def binary_search(tf, np):
    @tf.function
    def search(x, wanted):
        low, high = 0, tf.size(x)
        while low < high:
            middle = (low + high) // 2
            if x[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    x = tf.constant([1, 3, 5, 7, 9, 11])
    return [search(x, tf.constant(w)).numpy() for w in (0, 5, 6, 12)]


@truth(lambda np: [4, 1, -1])
def return_in_while(tf, np):
    @tf.function
    def root(n):
        i = tf.constant(0)
        while i < 100:
            if i * i >= n:
                return i
            i += 1
        return -1

    return [int(root(tf.constant(n))) for n in (10, 1, 100000)]


@truth(lambda np: [15, -6])
def return_in_a_branch_of_a_loop_in_a_branch(tf, np):
    @tf.function
    def run(x, n):
        if n > 0:
            for i in tf.range(n):
                if x * i > 12:
                    return x * i
        return -x - n

    return [int(run(tf.constant(x), tf.constant(n))) for x, n in ((5, 9), (4, 2))]


def result_kept_until_the_loop_ends(tf, np):
    @tf.function
    def find(x, wanted):
        where = -1
        for i in tf.range(tf.size(x)):
            if x[i] == wanted:
                where = i
                break
        return where

    x = tf.constant([4, 8, 15, 16])
    return [find(x, tf.constant(w)).numpy() for w in (15, 4, 23)]


def break_out_of_two_loops(tf, np):
    @tf.function
    def find(x):
        row, column = -1, -1
        for i in tf.range(3):
            for j in tf.range(3):
                if x[i, j] < 0:
                    row, column = i, j
                    break
            if row >= 0:
                break
        return row, column

    x = np.arange(9).reshape(3, 3)
    return [[t.numpy() for t in find(tf.constant(np.where(x == k, -1, x)))] for k in (0, 5, 99)]


def return_in_an_unrolled_loop(tf, np):
    @tf.function
    def run(x, names):
        for i, name in enumerate(names):
            if name == "stop":
                return x * float(i)
            x = x + 1.0
        return x

    x = tf.constant(1.0)
    return [run(x, names).numpy() for names in (("a", "stop", "b"), ("a", "b"), ("stop",))]


def break_in_a_python_while(tf, np):
    @tf.function
    def run(x):
        n = 0
        while True:
            n += 1
            x = x * 2.0
            if n == 3:
                break
        return x, n

    return [t.numpy() for t in run(tf.constant(1.0))]


def maximum_iterations_of_for(tf, np):
    @tf.function
    def run(n):
        total = 0
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(maximum_iterations=5)
            total += i
        return total

    return [run(tf.constant(n)).numpy() for n in (3, 100)]


def invariants_of_two_variables(tf, np):
    @tf.function
    def run(n):
        x, y = tf.zeros([1, 2]), tf.zeros([0])
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([None, 2])), (y, tf.TensorShape([None]))]
            )
            x = tf.concat([x, tf.ones([1, 2]) * tf.cast(i, tf.float32)], axis=0)
            y = tf.concat([y, [tf.reduce_sum(x)]], axis=0)
        return x, y

    return [t.numpy() for t in run(tf.constant(3))]


PROGRAMS = [
    break_in_while,
    break_in_for,
    continue_in_for,
    break_and_continue,
    return_in_for,
    return_in_nested_loops,
    inner_break_leaves_only_the_inner_loop,
    growing_shape_needs_an_invariant,
    loop_options_are_accepted,
    maximum_iterations_of_while,
    primes_by_division,
    binary_search,
    return_in_while,
    return_in_a_branch_of_a_loop_in_a_branch,
    result_kept_until_the_loop_ends,
    break_out_of_two_loops,
    return_in_an_unrolled_loop,
    break_in_a_python_while,
    maximum_iterations_of_for,
    invariants_of_two_variables,
]
