"""Calls of concrete functions with the structure they were traced with, and with flat tensors."""

import tempfile

from programs.support import answers


def python_values(tf, np):
    c = tf.constant

    @tf.function
    def times(x, n):
        return x * n

    f = times.get_concrete_function(c(1), 2)
    return answers(
        {
            "same": lambda: f(c(3), 2),
            "left out": lambda: f(c(3)),
            "other": lambda: f(c(3), 3),
            "by name": lambda: f(x=c(3), n=2),
            "other by name": lambda: f(x=c(3), n=4),
            "number": lambda: f(3, 2),
            "too many": lambda: f(c(3), 2, 3),
            "nothing": lambda: f(),
            "twice": lambda: f(c(3), 2, x=c(3)),
            "unknown name": lambda: f(c(3), z=1),
            "other dtype": lambda: f(c(3.0), 2),
        }
    )


def text_and_flags(tf, np):
    c, x = tf.constant, tf.TensorSpec([], tf.float32)

    @tf.function
    def scaled(x, mode):
        return x * (2.0 if mode == "a" else 3.0)

    class Layer(tf.Module):
        @tf.function
        def call(self, x, training=False):
            return x * (2.0 if training else 1.0)

    layer = Layer()
    f = scaled.get_concrete_function(x, "a")
    g = layer.call.get_concrete_function(x, training=True)
    return answers(
        {
            "same text": lambda: f(c(1.0), "a"),
            "other text": lambda: f(c(1.0), "b"),
            "text by name": lambda: f(c(1.0), mode="a"),
            "flag": lambda: g(c(1.0), True),
            "flag by name": lambda: g(c(1.0), training=True),
            "other flag": lambda: g(c(1.0), training=False),
            "flag left out": lambda: g(c(1.0)),
            "with self": lambda: g(layer, c(1.0)),
        }
    )


def nests(tf, np):
    c, x = tf.constant, tf.TensorSpec([], tf.float32)

    @tf.function
    def apply(d):
        return d["a"] * 2.0 + d["b"][0] - d["b"][1]

    @tf.function
    def rows(r):
        return r

    f = apply.get_concrete_function({"a": x, "b": (x, x)})
    g = rows.get_concrete_function([x, x])
    return answers(
        {
            "same": lambda: f({"a": c(1.0), "b": (c(2.0), c(3.0))}),
            "by name": lambda: f(d={"a": c(1.0), "b": (c(2.0), c(3.0))}),
            "a list for a tuple": lambda: f({"a": c(1.0), "b": [c(2.0), c(3.0)]}),
            "flat": lambda: f(c(1.0), c(2.0), c(3.0)),
            "flat by name": lambda: f(d=c(1.0), d_1=c(2.0), d_2=c(3.0)),
            "a key less": lambda: f({"a": c(1.0)}),
            "a key more": lambda: f({"a": c(1.0), "b": (c(2.0), c(3.0)), "c": c(1.0)}),
            "a tensor less": lambda: f({"a": c(1.0), "b": (c(2.0),)}),
            "list": lambda: g([c(1.0), c(2.0)]),
            "tuple for a list": lambda: g((c(1.0), c(2.0))),
            "short list": lambda: g([c(1.0)]),
            "long list": lambda: g([c(1.0), c(2.0), c(3.0)]),
            "list of numbers": lambda: g([1.0, 2.0]),
            "array": lambda: g(np.float32([1, 2])),
            "two tensors": lambda: g(c(1.0), c(2.0)),
        }
    )


def names_of_specs(tf, np):
    """Names of parameters come before names of specs."""
    c = tf.constant

    @tf.function
    def decimal(x, y):
        return x + 10.0 * y

    f = decimal.get_concrete_function(
        tf.TensorSpec([], tf.float32, name="y"), tf.TensorSpec([], tf.float32, name="x")
    )
    return [f(x=c(5.0), y=c(6.0)), f(c(5.0), c(6.0))]


def keywords(tf, np):
    c, x = tf.constant, tf.TensorSpec([], tf.float32)

    @tf.function
    def total(a, b=3.0, *, key=None):
        return a + b + (0.0 if key is None else key["t"])

    @tf.function
    def loose(*args, **kwargs):
        return args[0] - args[1] + kwargs["z"]

    f = total.get_concrete_function(x, key={"t": x})
    g = total.get_concrete_function(x, x)
    h = loose.get_concrete_function(x, x, z=x)
    return answers(
        {
            "all": lambda: f(c(1.0), 3.0, key={"t": c(2.0)}),
            "other value": lambda: f(c(1.0), 4.0, key={"t": c(2.0)}),
            "flat": lambda: f(c(1.0), c(2.0)),
            "no key": lambda: f(c(1.0)),
            "two": lambda: g(c(1.0), c(2.0)),
            "second by name": lambda: g(c(1.0), b=c(2.0)),
            "one": lambda: g(c(1.0)),
            "loose": lambda: h(c(1.0), c(2.0), z=c(3.0)),
            "loose flat": lambda: h(c(1.0), c(2.0), c(3.0)),
            "loose short": lambda: h(c(1.0), z=c(3.0)),
        }
    )


def composites_and_variables(tf, np):
    c, v = tf.constant, tf.Variable(2.0)
    ragged = tf.function(lambda r: r.values * 2.0).get_concrete_function(
        tf.RaggedTensorSpec([None, None], tf.float32)
    )
    product = tf.function(lambda w, x: w * x)
    f = product.get_concrete_function(v, tf.TensorSpec([], tf.float32))
    return answers(
        {
            "ragged": lambda: ragged(tf.ragged.constant([[1.0], [2.0, 3.0]])),
            "not ragged": lambda: ragged(c([[1.0]])),
            "variable": lambda: f(v, c(3.0)),
            "other variable": lambda: f(tf.Variable(4.0), c(3.0)),
            "variable by name": lambda: f(w=v, x=c(3.0)),
        }
    )


def functions_that_were_saved(tf, np):
    c, x = tf.constant, tf.TensorSpec([], tf.float32)

    class Sum(tf.Module):
        @tf.function
        def total(self, d, k):
            return d["a"] + k

    module = Sum()
    module.total.get_concrete_function({"a": x}, 2.0)
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder)
        loaded = tf.saved_model.load(folder)
        f = loaded.total.concrete_functions[0]
        return answers(
            {
                "function": lambda: loaded.total({"a": c(1.0)}, 2.0),
                "same": lambda: f({"a": c(1.0)}, 2.0),
                "by name": lambda: f(d={"a": c(1.0)}, k=2.0),
                "other": lambda: f({"a": c(1.0)}, 3.0),
                "flat": lambda: f(c(1.0)),
            }
        )


PROGRAMS = [
    python_values,
    text_and_flags,
    nests,
    names_of_specs,
    keywords,
    composites_and_variables,
    functions_that_were_saved,
]
