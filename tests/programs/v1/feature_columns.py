"""`tf.feature_column`: layers and linear models of columns of all kinds, and what they read."""

from programs.support import raised


def features(tf, np):
    return {
        "a": np.array([[1.0, 2.0], [3.0, 4.0]], "f"),
        "b": np.array([0.5, 1.5], "f"),
        "c": np.array([[0, 2], [1, -1]]),
        "v": tf.constant([["x"], ["q"]]),
        "h": tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["p", "q", "r"], [2, 2]),
        "w": tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [1.0, 2.0, 3.0], [2, 2]),
        "i": np.array([5, 9]),
        "z": tf.constant([["x", "y"], ["y", ""]]),
    }


def columns(tf, np):
    """Columns by a short name."""
    make = tf.feature_column
    number, single = make.numeric_column("a", shape=[2]), make.numeric_column("b")
    buckets = make.bucketized_column(single, [0.0, 1.0])
    hashed = make.categorical_column_with_hash_bucket("h", 7)
    return {
        "number": number,
        "normalized": make.numeric_column("a", shape=[2], normalizer_fn=lambda x: x * 2),
        "buckets": buckets,
        "two_buckets": make.bucketized_column(number, [2.0, 3.0]),
        "ids": make.categorical_column_with_identity("c", 3),
        "words": make.categorical_column_with_vocabulary_list("v", ["x", "y"]),
        "open_words": make.categorical_column_with_vocabulary_list("v", ["x"], num_oov_buckets=2),
        "hashed": hashed,
        "hashed_numbers": make.categorical_column_with_hash_bucket("i", 7, dtype=tf.int32),
        "weighted": make.weighted_categorical_column(hashed, "w"),
        "crossed": make.crossed_column(["v", buckets], 11),
        "crossed_twice": make.crossed_column(["v", "h"], 11, hash_key=3),
    }


def embedded(tf, np, column):
    rows = np.arange(100).reshape(-1, 2)[: column.num_buckets]
    return tf.feature_column.embedding_column(column, 2, initializer=tf.constant_initializer(rows))


def layer(tf, np, chosen):
    """What an input layer gives, and the names of its variables."""
    with tf.Session() as session:
        found = tf.feature_column.input_layer(features(tf, np), chosen)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(found), sorted([v.name for v in tf.global_variables()])


def dense_columns(tf, np):
    known = columns(tf, np)
    return layer(tf, np, [known["number"], known["buckets"]]), known["number"].parse_example_spec


def normalized(tf, np):
    return layer(tf, np, columns(tf, np)["normalized"])


def buckets_of_two_numbers(tf, np):
    return layer(tf, np, [columns(tf, np)["two_buckets"]])


def indicators(tf, np):
    found = {}
    for name, column in columns(tf, np).items():
        if isinstance(column.name, str) and hasattr(column, "num_buckets"):
            found[name] = layer(tf, np, [tf.feature_column.indicator_column(column)])
    return found


def embeddings(tf, np):
    found = {}
    for name in ("ids", "words", "hashed", "weighted"):
        with tf.Graph().as_default():
            found[name] = layer(tf, np, [embedded(tf, np, columns(tf, np)[name])])
    return found


def shared(tf, np):
    words = [
        tf.feature_column.categorical_column_with_vocabulary_list(name, ["x", "y"]) for name in "vz"
    ]
    rows = tf.constant_initializer(np.arange(4).reshape(2, 2))
    return layer(tf, np, tf.feature_column.shared_embedding_columns(words, 2, initializer=rows))


def linear(tf, np, names, combiner):
    known = columns(tf, np)
    with tf.Session() as session:
        found = tf.feature_column.linear_model(
            features(tf, np), [known[name] for name in names], units=2, sparse_combiner=combiner
        )
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        for place, variable in enumerate(sorted(tf.global_variables(), key=lambda v: v.name), 1):
            dims = variable.shape.as_list()
            session.run(variable.assign(np.arange(np.prod(dims)).reshape(dims) * place))
        return session.run(found), sorted([v.name for v in tf.trainable_variables()])


def linear_sums(tf, np):
    return linear(tf, np, ["number", "buckets", "words", "hashed"], "sum")


def linear_means(tf, np):
    return linear(tf, np, ["weighted", "crossed", "ids"], "mean")


def what_is_read(tf, np):
    known = columns(tf, np)
    chosen = [known[name] for name in ("number", "buckets", "crossed_twice", "weighted")]
    spec = tf.feature_column.make_parse_example_spec(chosen)
    return {key: [type(kind).__name__, kind.dtype.name] for key, kind in spec.items()}


def names(tf, np):
    known = columns(tf, np)
    found = {key: column.name for key, column in known.items()}
    ids = known["ids"]
    return found, tf.feature_column.indicator_column(ids).name, embedded(tf, np, ids).name


def mistakes(tf, np):
    make, known = tf.feature_column, columns(tf, np)
    given = features(tf, np)
    return [
        raised(lambda: make.numeric_column("a", dtype=tf.string)),
        raised(lambda: make.numeric_column(3)),
        raised(lambda: make.numeric_column("a", shape=[0])),
        raised(lambda: make.numeric_column("a", normalizer_fn=3)),
        raised(lambda: make.bucketized_column(known["number"], [1, 0])),
        raised(lambda: make.bucketized_column(known["ids"], [0])),
        raised(lambda: make.categorical_column_with_identity("c", 0)),
        raised(lambda: make.categorical_column_with_identity("c", 5, default_value=7)),
        raised(lambda: make.categorical_column_with_vocabulary_list("v", [])),
        raised(lambda: make.categorical_column_with_vocabulary_list("v", ["x", "x"])),
        raised(lambda: make.categorical_column_with_hash_bucket("h", 0)),
        raised(lambda: make.crossed_column(["a"], 10)),
        raised(lambda: make.crossed_column([known["hashed"], "b"], 10)),
        raised(lambda: make.embedding_column(known["ids"], 0)),
        raised(lambda: make.indicator_column(known["number"])),
        raised(lambda: make.make_parse_example_spec([3])),
        raised(lambda: make.input_layer(given, [known["ids"]])),
        raised(lambda: make.input_layer(given, [known["number"], known["number"]])),
        raised(lambda: make.input_layer({}, [known["number"]])),
    ]


PROGRAMS = [
    dense_columns,
    normalized,
    buckets_of_two_numbers,
    indicators,
    embeddings,
    shared,
    linear_sums,
    linear_means,
    what_is_read,
    names,
    mistakes,
]
