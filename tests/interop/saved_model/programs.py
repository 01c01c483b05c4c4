"""Programs whose objects are saved, for talweg and TensorFlow alike.

Each takes the library and a folder for files, and gives the object, its signatures (or None), and
calls: names that lead to a function, its arguments, its keywords.  The calls are made in order on
the object that was loaded; arguments are arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Program = Callable[[Any, Path], tuple]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Register a program."""
    PROGRAMS[function.__name__] = function
    return function


def floats(*shape: int) -> np.ndarray:
    """Numbers, the same each time."""
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


@program
def dense(tf: Any, folder: Path) -> tuple:
    """A layer with an input signature: matrix, bias, a captured constant."""
    module = tf.Module()
    module.w = tf.Variable(floats(3, 2), name="w")
    module.b = tf.Variable([0.5, -1.0], name="b", trainable=False)
    scale = tf.constant(np.arange(1.0, 3.0, dtype=np.float32))

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def apply(x: Any) -> Any:
        return {"y": tf.tanh(x @ module.w + module.b) * scale, "size": tf.shape(x)[0]}

    module.apply = apply
    calls = [("apply", [floats(4, 3)], {}), ("signatures/serving_default", [], {"x": floats(2, 3)})]
    return module, None, calls


@program
def counter(tf: Any, folder: Path) -> tuple:
    """State that functions change, read before and after."""
    module = tf.Module()
    module.count = tf.Variable(np.int64(3))
    module.history = tf.Variable(np.zeros(3, np.float32))

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def step(x: Any) -> Any:
        before = module.count.read_value()
        module.count.assign_add(2)
        module.history.assign(tf.concat([module.history[1:], [x]], 0))
        module.history.scatter_nd_update([[0]], [x * 2.0])
        return before, module.count.read_value(), module.history.read_value()

    @tf.function(input_signature=[])
    def reset() -> None:
        module.count.assign(0)

    module.step, module.reset = step, reset
    calls = [
        ("step", [np.float32(1)], {}),
        ("step", [np.float32(5)], {}),
        ("reset", [], {}),
        ("step", [np.float32(-1)], {}),
    ]
    return module, {"serving_default": module.step}, calls


@program
def flows(tf: Any, folder: Path) -> tuple:
    """Branches and loops on tensors, with variables inside."""
    module = tf.Module()
    module.total = tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.int32)])
    def walk(x: Any, n: Any) -> Any:
        y = tf.reduce_sum(x)
        for i in tf.range(n):
            if tf.cast(i, tf.float32) < y:
                y -= 0.5
                module.total.assign_add(y)
            else:
                y += tf.cast(i, tf.float32)
        while y > 3.0:
            y /= 2.0
        return y, module.total.read_value()

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def mapped(x: Any) -> Any:
        return tf.map_fn(lambda row: tf.sort(row) * 2.0, x), tf.scan(lambda a, b: a + b, x)

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def chosen(k: Any) -> Any:
        return tf.switch_case(k, [lambda: 1.0, lambda: module.total * 1.0, lambda: -1.0])

    module.walk, module.mapped, module.chosen = walk, mapped, chosen
    calls = [
        ("walk", [floats(5), np.int32(4)], {}),
        ("walk", [floats(2) + 20, np.int32(7)], {}),
        ("mapped", [floats(3, 2)], {}),
        ("chosen", [np.int32(1)], {}),
        ("chosen", [np.int32(2)], {}),
    ]
    return module, None, calls


@program
def polymorphic(tf: Any, folder: Path) -> tuple:
    """Several traces of one function: dtypes, ranks, Python values, nests, defaults."""

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rate = tf.Variable(0.25)

        @tf.function
        def __call__(self, x: Any, training: bool = False, *, power: int = 1) -> Any:
            found = x**power
            return found * tf.cast(self.rate, x.dtype) if training else found

        @tf.function
        def nests(self, pair: Any, options: Any) -> Any:
            a, b = pair
            return {"sum": a + b, "parts": [a, (b * options["scale"], None)]}

    model = Model()
    x, n = np.float32([1, 2]), np.int32([[3]])
    model(tf.constant(x))
    model(tf.constant(x), training=True)
    model(tf.constant(n), power=2)
    model.nests((tf.constant(x), tf.constant(x)), {"scale": 3.0})
    calls = [
        ("", [x], {}),
        ("", [x, True], {}),
        ("", [x], {"training": True}),
        ("", [n], {"power": 2}),
        ("nests", [(x, x + 1), {"scale": 3.0}], {}),
    ]
    return model, None, calls


@program
def containers(tf: Any, folder: Path) -> tuple:
    """Variables in lists, dictionaries, tuples and modules inside modules."""
    root, inner = tf.Module(), tf.Module()
    inner.v = tf.Variable([1.0, 2.0])
    shared = tf.Variable(10.0)
    root.parts = [tf.Variable(1.0), {"deep": tf.Variable(2.0), "inner": inner}, shared]
    root.table = {"a": shared, "b": [tf.Variable(4.0)]}
    root.pair = (tf.Variable(5.0), inner)
    root.flag = tf.Variable(True, trainable=False)
    root.name_ = tf.Variable("text")
    root.half = tf.Variable(np.float16([1, 2]))

    @tf.function(input_signature=[])
    def total() -> Any:
        deep = root.parts[1]["deep"] + root.table["b"][0] + root.pair[0]
        return deep + root.parts[0] + shared + tf.reduce_sum(inner.v), root.name_.read_value()

    root.total = total
    return root, None, [("total", [], {})]


@program
def nothing_but_state(tf: Any, folder: Path) -> tuple:
    """An object without functions; a variable of unknown shape."""
    module = tf.Module()
    module.v = tf.Variable(floats(2, 3), shape=tf.TensorShape([None, None]))
    return module, None, []


@program
def tables(tf: Any, folder: Path) -> tuple:
    """Lookup tables: static, of numbers, mutable; a file with words; strings."""
    module = tf.Module()
    init = tf.lookup.KeyValueTensorInitializer
    module.words = tf.lookup.StaticHashTable(init(["a", "b"], np.int64([1, 2])), -1)
    module.names = tf.lookup.StaticHashTable(init(np.int64([5, 7]), ["five", "seven"]), "?")
    module.seen = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -5)
    module.seen.insert(tf.constant(["k", "l"]), tf.constant([8, 9], tf.int64))
    path = folder / "vocabulary.txt"
    path.write_text("zero\none\ntwo\n")
    module.file = tf.saved_model.Asset(str(path))
    module.vocabulary = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            str(path),
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        -1,
    )

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def find(x: Any) -> Any:
        low = tf.strings.lower(tf.strings.strip(x))
        found = module.words.lookup(low)
        module.seen.insert(low, found)
        return found, module.seen.lookup(x), module.seen.size(), module.vocabulary.lookup(x)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])
    def name(x: Any) -> Any:
        return tf.strings.join([module.names.lookup(x), tf.strings.as_string(x)], "-")

    @tf.function(input_signature=[])
    def text() -> Any:
        return tf.io.read_file(module.file.asset_path)

    module.find, module.name_of, module.text = find, name, text
    words = np.array([b"A", b" b", b"k", b"two"], object)
    calls = [
        ("find", [words], {}),
        ("find", [words], {}),
        ("name_of", [np.int64([7, 1])], {}),
        ("text", [], {}),
    ]
    return module, {"serving_default": module.name_of}, calls


@program
def composites(tf: Any, folder: Path) -> tuple:
    """Sparse and ragged tensors as arguments and results."""
    module = tf.Module()

    @tf.function(input_signature=[tf.SparseTensorSpec([None, 3], tf.float32)])
    def dense_of(x: Any) -> Any:
        return tf.sparse.to_dense(x) * 2.0, tf.sparse.transpose(x)

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
    def doubled(x: Any) -> Any:
        return x.with_flat_values(x.flat_values * 2.0)

    module.dense_of, module.doubled = dense_of, doubled
    sparse = ("sparse", np.int64([[0, 1], [2, 2]]), np.float32([1, 2]), np.int64([3, 3]))
    ragged = ("ragged", np.float32([1, 2, 3]), np.int64([0, 2, 2, 3]))
    return module, None, [("dense_of", [sparse], {}), ("doubled", [ragged], {})]


@program
def signatures(tf: Any, folder: Path) -> tuple:
    """Several signatures: of a method, of a concrete function, with results in a list."""
    module = tf.Module()
    module.v = tf.Variable(2.0)

    @tf.function
    def two(a: Any, b: Any) -> Any:
        return [a * module.v, a + b]

    spec = tf.TensorSpec([None], tf.float32)
    concrete = two.get_concrete_function(spec, b=tf.TensorSpec([], tf.float32, name="offset"))
    one = tf.function(lambda x: x - module.v, input_signature=[spec])
    module.two = two
    found = {"serving_default": concrete, "one": one}
    calls = [
        ("signatures/serving_default", [], {"a": floats(3), "offset": np.float32(1)}),
        ("signatures/one", [], {"x": floats(2)}),
        ("two", [floats(2), np.float32(3)], {}),
    ]
    return module, found, calls


@program
def convolutions(tf: Any, folder: Path) -> tuple:
    """A small network of images, with a batch of any size."""
    module = tf.Module()
    module.kernel = tf.Variable(floats(3, 3, 1, 4) * 0.3)
    module.dense = tf.Variable(floats(4 * 4 * 4, 3) * 0.1)
    module.mean = tf.Variable(np.zeros(4, np.float32), trainable=False)

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 1], tf.float32)])
    def predict(x: Any) -> Any:
        y = tf.nn.relu(tf.nn.conv2d(x, module.kernel, 1, "SAME"))
        y = tf.nn.max_pool2d(y, 2, 2, "VALID") - module.mean
        return tf.nn.softmax(tf.reshape(y, [-1, 64]) @ module.dense)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 8, 8, 1], tf.float32),
            tf.TensorSpec([None], tf.int32),
        ]
    )
    def train(x: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            picked = tf.reduce_sum(predict(x) * tf.one_hot(labels, 3), -1)
            loss = -tf.reduce_mean(tf.math.log(picked))
        weights = [module.kernel, module.dense]
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(0.1 * gradient)
        return loss

    module.predict, module.train = predict, train
    x, labels = floats(5, 8, 8, 1), np.int32([0, 1, 2, 1, 0])
    calls = [
        ("predict", [x], {}),
        ("train", [x, labels], {}),
        ("train", [x, labels], {}),
        ("predict", [x[:2]], {}),
    ]
    return module, {"serving_default": predict}, calls


@program
def generators(tf: Any, folder: Path) -> tuple:
    """Random numbers of generators, whose states are saved, and a gradient of one's own."""
    module = tf.Module()
    module.philox = tf.random.Generator.from_seed(5)

    @tf.custom_gradient
    def halved(x: Any) -> tuple:
        return x * 0.5, lambda g: g * 100.0

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def draw(x: Any) -> Any:
        noise = module.philox.uniform([2]) + module.philox.normal([])
        return halved(x) + noise, module.philox.uniform([3], maxval=9, dtype=tf.int32)

    module.draw = draw
    return module, None, [("draw", [floats(2)], {}), ("draw", [floats(2)], {})]
