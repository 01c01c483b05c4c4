"""Programs whose results are recorded from TensorFlow by `tools/record_random.py`.

Each is a few statements and an expression, evaluated with `tf`, `r` (tf.random), `np`; the results
are compared exactly, errors by class.
"""

KERNEL = "r.set_seed(7); a = r.uniform([2], seed=3); {again}"

SHARING = [
    KERNEL.format(again=again)
    for again in (
        "r.uniform([2], seed=3)",
        "r.uniform([2, 2], seed=3)",
        "r.uniform(np.array([2]), seed=3)",
        "r.uniform(tf.constant([2], tf.int64), seed=3)",
        "r.uniform(tf.constant([2]), seed=3)",
        "r.uniform([np.int64(2)], seed=3)",
        "r.uniform([tf.constant(2, tf.int64)], seed=3)",
        "r.uniform(tf.TensorShape([2]), seed=3)",
        "r.uniform(tf.Variable([2]), seed=3)",
        "r.uniform([2], 0.0, 5.0, seed=3)",
        "r.uniform([2], dtype=tf.float64, seed=3)",
        "r.uniform([2], 0, 100, tf.int32, seed=3)",
        "r.normal([2], seed=3)",
        "r.truncated_normal([2], seed=3)",
        "r.uniform([2], seed=4)",
        "r.uniform([2])",
        "tf.compat.v1.random_uniform([2], seed=3)",
        "r.set_seed(7); r.uniform([2], seed=3)",
    )
]

TWICE = [
    f"r.set_seed(11); {call}; {call}"
    for call in (
        "r.normal([3], seed=5)",
        "r.truncated_normal([5], seed=5)",
        "r.uniform([3], -4, 9, tf.int64, seed=5)",
        "r.shuffle(tf.range(7), seed=5)",
        "r.shuffle(tf.range(1), seed=5); r.shuffle(tf.range(6), seed=5)",
        "r.shuffle(tf.reshape(tf.range(12), [6, 2]), seed=5)",
        "r.shuffle([], seed=5)",
        "r.categorical([[0.1, 0.2, 0.7]], 5, seed=5)",
        "r.categorical([[0.1, 0.2, 0.7], [3.0, 1.0, 2.0], [0.0, 0.0, 0.0]], 9, seed=5)",
        "r.categorical([[0.1, 0.2, 0.7]], 5, tf.int32, seed=5)",
        "tf.compat.v1.multinomial([[0.1, 0.2, 0.7]], 5, seed=5)",
        "r.gamma([3], 0.4, seed=5)",
        "r.gamma([2], [0.5, 2.0], [[1.0], [2.0], [3.0]], seed=5)",
        "r.gamma([2, 1], [[0.5, 2.0]], dtype=tf.float64, seed=5)",
        "r.poisson([3], 4.0, seed=5)",
        "r.poisson([2], [0.5, 20.0], tf.int32, seed=5)",
        "r.poisson([2], tf.constant([3, 4]), tf.float64, seed=5)",
        "tf.compat.v1.random_poisson([0.5, 20.0], [2], seed=5)",
    )
]

SEEDS = (
    [
        f"r.set_seed({seed}); r.uniform([2])"
        for seed in (
            "0",
            "-1",
            "2**31 - 1",
            "2**31 + 5",
            "2**64",
            "2**70",
            "2.7",
            "True",
            "tf.constant(5)",
        )
    ]
    + [
        f"r.set_seed(5); r.uniform([2], seed={seed})"
        for seed in ("0", "-1", "2**31 - 1", "2**40", "tf.constant(3)", "2.0")
    ]
    + [
        "r.set_seed(0); r.uniform([2], seed=0)",
        "r.set_seed(42); [r.uniform([2]), r.normal([1]), r.shuffle(tf.range(4)), r.uniform([2])]",
        "r.set_seed(42); r.normal([1]); r.uniform([2], seed=1); r.normal([1])",
        "r.set_seed(3); tf.compat.v1.random.get_seed(9)",
        "r.set_seed(3); tf.compat.v1.get_seed(None)",
    ]
)

PARAMETERS = [
    f"r.set_seed(1); {call}"
    for call in (
        "r.uniform([2], [0.0, 10.0], [1.0, 20.0], seed=1)",
        "r.uniform([2], 0, 5, seed=1)",
        "r.uniform([2], 1, seed=1)",
        "r.uniform([2], -5, maxval=None, seed=1)",
        "r.uniform([2], dtype='float64', seed=1)",
        "r.uniform([2], dtype=np.float32, seed=1)",
        "r.uniform([0], 5, 1, tf.int32)",
        "r.uniform([2], 5, 1, tf.int32)",
        "r.uniform([2], tf.constant([0, 1]), 5, tf.int32)",
        "r.uniform([2], 0.0, 5.0, tf.int32)",
        "r.uniform([2], tf.constant(0), 5, tf.int64)",
        "r.uniform([2], None, 5.0)",
        "r.uniform(3)",
        "r.normal(3)",
        "r.gamma(3, 1.0)",
        "r.poisson(3, 1.0)",
        "r.uniform([2.0])",
        "r.uniform('a')",
        "r.uniform(None)",
        "r.uniform([None])",
        "r.uniform([[2]])",
        "r.uniform(tf.TensorShape(None))",
        "r.uniform(tf.TensorShape([None]))",
        "r.uniform([True])",
        "r.gamma([-1], 1.0)",
        "r.poisson([-1], 1.0)",
        "r.normal([2, 1], [0.0, 100.0], [1.0, 2.0], seed=1)",
        "r.normal([2], [0.0, 1.0, 2.0])",
        "r.normal([2], tf.constant(0.0, tf.float64))",
        "r.normal([2], 1, 2, tf.float64, seed=1)",
        "r.normal([2], dtype=tf.complex64)",
        "r.gamma([2], 1, seed=1)",
        "r.gamma([2], tf.constant(1), seed=1)",
        "r.gamma([2], tf.constant(1.0, tf.float64), seed=1)",
        "r.gamma([2], 1.0, dtype=tf.int32, seed=1)",
        "r.gamma([2], -1.0, seed=1)",
        "r.gamma([], [1.0, 2.0], [1.0, 2.0, 3.0], seed=1)",
        "r.poisson([2], 1.0, dtype=tf.bfloat16, seed=1)",
        "r.poisson([2], -1.0, seed=1)",
        "r.categorical([[0.0, 1.0]], 3.0)",
        "r.categorical([[0.0, 1.0]], 3, dtype=tf.float32)",
        "r.categorical([[]], 3)",
        "r.categorical(np.zeros([0, 3], 'f4'), 2)",
        "r.categorical([[0.0, 1.0]], [3])",
        "r.shuffle(5)",
        "r.truncated_normal([2], 1.0, 2.0, seed=1)",
    )
]

STATELESS = [
    "r.stateless_gamma([2, 3], [1, 2], [3.0, 3.0, 3.0])",
    "r.stateless_gamma([2, 3], [1, 2], [[3.0], [3.0]])",
    "r.stateless_gamma([2, 3], [1, 2], [3.0, 3.0, 3.0], [[1.0], [1.0]])",
    "r.stateless_gamma([2], [1, 2], 3.0, [1.0, 2.0])",
    "r.stateless_gamma([3, 2, 2], [1, 2], [[3.0, 1.0], [0.2, 3.0]])",
    "r.stateless_gamma([], [1, 2], [3.0, 3.0])",
    "r.stateless_gamma([2], [1, 2], [3.0])",
    "r.stateless_gamma([2], [1, 2], -1.0)",
    "r.stateless_gamma([2], [1, 2], 1)",
    "r.stateless_gamma([2], [1, 2], tf.constant(1.0, tf.float64))",
    "r.stateless_gamma([2], [1, 2], 1, dtype=tf.int32)",
    "r.stateless_gamma([4], [1, 2], 0.0)",
    "r.stateless_gamma(3, [1, 2], 1.0)",
    "r.stateless_poisson([2, 3], [1, 2], [3.0, 0.5, 30.0])",
    "r.stateless_poisson([2, 3], [1, 2], [[3.0], [3.0]])",
    "r.stateless_poisson([3], [1, 2], 3.0, tf.uint8)",
    "r.stateless_poisson([3], [1, 2], tf.constant(3), tf.float64)",
    "r.stateless_poisson([3], [1, 2], tf.constant(3, tf.uint8))",
    "r.stateless_binomial([2, 3], [1, 2], [100.0, 5.0, 100.0], 0.3)",
    "r.stateless_binomial([2, 3], [1, 2], [[100.0], [100.0]], [0.3, 0.4, 0.5])",
    "r.stateless_binomial([3], [1, 2], [100.0, 100.0], 0.3)",
    "r.stateless_binomial([3], [1, 2], 10, 0.5)",
    "r.stateless_binomial([3], [1, 2], 10.0, 0.5, tf.float16)",
    "r.stateless_parameterized_truncated_normal([2, 3], [1, 2], [0.0, 1.0, 2.0], 1.0, -9.0, 9.0)",
    "r.stateless_parameterized_truncated_normal([2, 3], [1, 2], [[0.0], [1.0]], [1.0, 2.0, 3.0])",
    "r.stateless_parameterized_truncated_normal([3], [1, 2], [0.0, 0.0])",
    "r.stateless_parameterized_truncated_normal([2], [1, 2], 0.0, -1.0)",
    "r.stateless_parameterized_truncated_normal([2], [1, 2], 0, 1, -1, 1)",
    "r.stateless_parameterized_truncated_normal([2], [1, 2], 0.0, tf.constant(1.0, tf.float64))",
    "r.split([1, 2], 0)",
    "r.split([1, 2], -1)",
    "r.split([1, 2, 3])",
    "r.split(1)",
    "r.split([1, 2], tf.constant(2))",
    "r.fold_in([1, 2], [3, 4])",
    "r.fold_in([1, 2], 2**40)",
    "r.fold_in(tf.constant([1, 2], tf.int64), 5)",
    "r.split(tf.constant([1, 2], tf.uint32), 2)",
    "r.experimental.stateless_shuffle(5, [1, 2])",
    "r.experimental.stateless_shuffle(['a', 'b'], [1, 2])",
    "r.experimental.stateless_shuffle(tf.zeros([3, 0]), [1, 2])",
    "r.experimental.index_shuffle([1, 2], [1, 2], [5, 9])",
    "r.experimental.index_shuffle(tf.constant([[1, 2]]), [1, 2], 9)",
    "r.experimental.index_shuffle(3, [1, -2], 100000)",
    "r.experimental.index_shuffle(10, [1, 2], 9)",
    "r.experimental.index_shuffle(-1, [1, 2], 5)",
    "r.experimental.index_shuffle(1.5, [1, 2], 5)",
    "r.experimental.index_shuffle(1, [1.0, 2], 5)",
    "r.experimental.index_shuffle(3, [1, 2, 3], 9)",
    "r.experimental.index_shuffle(0, [1, 2], 0)",
    "r.stateless_normal(3, [1, 2])",
    "r.stateless_uniform([2], [1, 2], 0, 5, tf.uint32)",
]

STATES = [
    f"r.create_rng_state({seed}, 'philox')"
    for seed in (
        "5",
        "-5",
        "2**63 + 5",
        "2**80 + 5",
        "-2**70",
        "2**130 + 7",
        "2**200",
        "[1]",
        "[1, 2]",
        "[1, 2, 3, 4]",
        "[]",
        "1.5",
        "True",
        "tf.constant(5)",
        "[[1, 2], [3, 4]]",
    )
] + [
    "r.create_rng_state(2**70, 'threefry')",
    "r.create_rng_state([1, 2, 3], 2)",
    "r.create_rng_state(5, None)",
    "r.create_rng_state([2**70], 'philox')",
]

GENERATOR = [
    f"g = r.Generator.from_seed(1); {calls}"
    for calls in (
        "g.binomial([4], 5.0, 0.3); g.state.numpy()",
        "g.binomial([3, 2], [5.0, 100.0], [0.3, 0.4]); g.state.numpy()",
        "g.binomial([3, 2], [5.0, 100.0], [0.3, 0.4])",
        "g.binomial([2], 10.0, 0.5, tf.float32)",
        "g.uniform([3]); g.uniform([5, 2]); g.normal([7]); g.truncated_normal([2]); g.state + 0",
        "g.skip(3)",
        "g.skip(-3); g.state.numpy()",
        "g.skip([1])",
        "g.make_seeds(2)",
        "g.make_seeds()",
        "g.make_seeds(0)",
        "g.make_seeds([2])",
        "[h.state.numpy() for h in g.split(3)]",
        "g.split(0)",
        "g.split(-1)",
        "g.uniform([2], None, None, tf.int32)",
        "g.uniform([2], 5, 5, tf.int32)",
        "g.uniform([2], None, None)",
        "g.uniform([2], dtype=tf.uint32)",
        "g.uniform(3)",
        "g.uniform([2], dtype=tf.bool)",
        "g.uniform_full_int([2], tf.float32)",
        "g.uniform_full_int([2], tf.int8)",
        "g.normal([2], dtype=tf.int32)",
        "g.binomial([2], 10.0, tf.constant(0.5, tf.float64))",
        "g.reset([1])",
        "g.reset_from_key_counter(1, [1])",
        "g.reset_from_key_counter([1], [1, 2])",
        "g.reset_from_seed([1, 2, 3]); g.state.numpy()",
        "g.reset_from_seed('a')",
        "g.uniform([], 0, 10, tf.int32), g.state.numpy()",
        "g.reset([2**63 - 10, -1, 3]); g.uniform([100]); g.state.numpy()",
        "g.reset([-1, 5, 3]); g.uniform([3]), g.state.numpy()",
    )
] + [
    "r.Generator(state=[1, 2, 3])",
    "r.Generator(alg='philox')",
    "r.Generator()",
    "r.Generator.from_state([1, 2, 3], None)",
    "r.Generator.from_key_counter(1, [2], 'philox')",
    "r.Generator.from_key_counter([1], [2, 3], 'philox')",
    "r.Generator.from_key_counter(1, [2, 3], 'philox').state.numpy()",
    "r.Generator.from_state([1, 2, 3], 'auto_select').algorithm",
    "r.Generator.from_non_deterministic_state('threefry').state.shape",
    "r.Generator.from_state([1, 2, 3, 4], 'philox')",
    "[kind.value for kind in r.Algorithm]",
]

_TRUE = "t = tf.constant([[1, 2], [3, 0]], tf.int64); r.set_seed(7); "
CANDIDATES = [
    _TRUE + f"f = lambda: r.{call}; [f(), f()]"
    for call in (
        "uniform_candidate_sampler(t, 2, 4, True, 10, seed=3)",
        "uniform_candidate_sampler(t, 2, 40, False, 10, seed=3)",
        "uniform_candidate_sampler(t, 2, 5, True, 2**40, seed=3)",
        "uniform_candidate_sampler(t, 2, 60, True, 64)",
        "log_uniform_candidate_sampler(t, 2, 4, True, 10, seed=3)",
        "log_uniform_candidate_sampler(t, 2, 50, False, 1000, seed=3)",
        "all_candidate_sampler(t, 2, 4, True, seed=3)",
        "fixed_unigram_candidate_sampler(t, 2, 4, True, 5, unigrams=(1., 2., 3., 4., 5.), seed=3)",
        "fixed_unigram_candidate_sampler(t, 2, 30, False, 5, unigrams=(1., 2., 3., 4.),"
        " num_reserved_ids=1, distortion=.5, seed=3)",
        "learned_unigram_candidate_sampler(t, 2, 4, True, 5, seed=3)",
        "learned_unigram_candidate_sampler(t, 2, 9, False, 6, seed=3)",
        "uniform_candidate_sampler(t, 2, 11, True, 10)",
        "uniform_candidate_sampler(t, 3, 4, True, 10)",
        "uniform_candidate_sampler([1, 2], 2, 4, True, 10)",
        "uniform_candidate_sampler(t, 2, 0, True, 10)",
        "uniform_candidate_sampler(t + 20, 2, 2, True, 10)",
        "uniform_candidate_sampler(tf.cast(t, tf.int32), 2, 2, True, 10)",
    )
]

_BOUNDED = (
    "def f(*p):\n return r.stateless_parameterized_truncated_normal([4], [1, 2], *p)\n"
    "p = [tf.constant(v, tf.float64) for v in {values}]\n"
    "with tf.GradientTape() as t:\n t.watch(p)\n y = f(*p)\n"
    "\nt.gradient(y, p)"
)
GRADIENTS = [
    _BOUNDED.format(values=values)
    for values in (
        "(0.0, 1.0, -2.0, 2.0)",
        "(1.0, 2.0, -1.0, 3.0)",
        "(0.0, 1.0, 0.5, 0.7)",
        "(0.0, 1.0, 3.0, 5.0)",
        "(0.0, 1.0, -6.0, -4.0)",
        "(0.0, 1.0, 6.0, 9.0)",
    )
] + [
    f"a = tf.constant({alpha}, tf.{dtype}); b = tf.constant(2.0, tf.{dtype})\n"
    "with tf.GradientTape() as t:\n t.watch([a, b])\n"
    f" y = r.stateless_gamma([3, 2], [1, 2], a, b, tf.{dtype})\n"
    "\nt.gradient(y, [a, b])"
    for alpha in ("[0.3, 1.0]", "[5.0, 60.0]")
    for dtype in ("float32", "float64")
]


def programs():
    """All programs, in the order of the recorded results."""
    exact = SHARING + TWICE + SEEDS + PARAMETERS + STATELESS + STATES + GENERATOR
    return [*exact, *CANDIDATES, *GRADIENTS]


def run(program, tf, np):
    """What a program gives: nested lists of numbers, text, or the name of an error class."""
    names = {"tf": tf, "np": np, "r": tf.random}
    head, _, last = program.replace("; ", "\n").rpartition("\n")
    try:
        exec(head, names)
        return describe(eval(last, names), np)
    except Exception as error:  # noqa: BLE001 -- an error is an answer
        return {"raises": type(error).__name__}


def describe(value, np):
    """A result as plain values."""
    if isinstance(value, (list, tuple)) and type(value).__name__ != "TensorShape":
        return [describe(part, np) for part in value]
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype == object or array.dtype.kind == "S":
            return [str(array.dtype.kind), array.astype(str).tolist()]
        numbers = array.astype(np.float64) if array.dtype.kind in "fV" else array
        return [array.dtype.name, numbers.tolist()]
    return value if isinstance(value, (int, float, str, type(None))) else str(value)
