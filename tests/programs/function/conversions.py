"""What becomes a tensor, what stands beside one, and classes of errors in and out of functions."""

import array
import collections
import weakref

from programs.support import raised


class Interface:
    """An object that NumPy reads by `__array_interface__`."""

    def __init__(self, values):
        self.values = values

    @property
    def __array_interface__(self):
        return self.values.__array_interface__


class Places:
    """An object that is read like a list."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, place):
        return self.values[place]


class Reflecting:
    """An object that knows what to do beside a tensor."""

    def __radd__(self, other):
        return "radd"

    def __rsub__(self, other):
        return "rsub"

    def __rmatmul__(self, other):
        return "rmatmul"

    def __rpow__(self, other):
        return NotImplemented

    def __gt__(self, other):
        return "gt"


def arrays_by_their_interface(tf, np):
    x = tf.constant([1, 2, 3], tf.int64)
    return [
        tf.constant(Interface(np.arange(3))),
        tf.convert_to_tensor(Interface(np.arange(3.0))),
        tf.constant(Interface(np.arange(3)), tf.float32),
        x + Interface(np.arange(3)),
        tf.function(lambda: tf.constant(Interface(np.arange(3))))(),
        tf.constant(array.array("i", [1, 2])),
        tf.constant(bytearray(b"ab")),
        tf.constant(memoryview(np.arange(3))),
    ]


def sequences(tf, np):
    return [
        tf.constant(Places([1, 2, 3])),
        tf.constant([Places([1, 2]), Places([3, 4])]),
        tf.constant(Places([[1, 2], [3.0, 4]])),
        tf.constant(collections.deque([1, 2])),
        tf.constant([1, 2]) + Places([1, 2]),
        raised(lambda: tf.constant({1: 2}.keys())),
        raised(lambda: tf.constant(i for i in range(2))),
        raised(lambda: tf.constant({1: 2})),
    ]


def operators_of_the_other(tf, np):
    x, v, other = tf.constant([1, 2]), tf.Variable([1.0]), Reflecting()
    return [
        x + other,
        x - other,
        x @ other,
        v + other,
        raised(lambda: x**other),
        raised(lambda: x * other),
        raised(lambda: x < other),
        raised(lambda: x + object()),
        raised(lambda: x + None),
        raised(lambda: x * "a"),
        tf.function(lambda: x + other)(),
    ]


def stopped_composites(tf, np):
    ragged = tf.ragged.constant([[1.0, 2.0], [3.0]])
    sparse = tf.sparse.SparseTensor([[0, 1]], [2.0], [1, 3])
    with tf.GradientTape() as tape:
        tape.watch(ragged.values)
        y = tf.reduce_sum(ragged.values * tf.stop_gradient(ragged).values)
    return [
        tf.stop_gradient(ragged).to_list(),
        tf.stop_gradient(sparse).values,
        tf.function(lambda: tf.stop_gradient(ragged).values)(),
        tape.gradient(y, ragged.values),
    ]


def references(tf, np):
    x = tf.constant([1.0])
    reference = x.ref()
    table = weakref.WeakKeyDictionary({reference: 1})
    return [weakref.ref(reference)() is reference, table[x.ref()]]


def empty_segments(tf, np):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    return [
        tf.sparse.segment_sum(x, [], []),
        tf.sparse.segment_mean(x, [], [], num_segments=2),
        tf.sparse.segment_sqrt_n(x, [], []),
        raised(lambda: tf.sparse.segment_sum(x, [0.5], [0])),
        raised(lambda: tf.math.segment_sum(tf.constant([]), [])),
    ]


def short_ids_of_segments(tf, np):
    x, ids = tf.constant([1.0, 2.0]), tf.constant([0, 1], tf.int16)
    return [
        tf.math.unsorted_segment_sum(x, ids, 2),
        tf.math.unsorted_segment_mean(x, ids, 2),
        tf.math.unsorted_segment_sqrt_n(x, ids, 2),
        tf.function(lambda: tf.math.unsorted_segment_sum(x, ids, 2))(),
        raised(lambda: tf.math.unsorted_segment_max(x, ids, 2)),
        raised(lambda: tf.math.unsorted_segment_sum(x, tf.cast(ids, tf.int8), 2)),
    ]


def numbers_that_are_too_large(tf, np):
    return [
        raised(lambda: tf.constant([10**400], tf.float64)),
        raised(lambda: tf.constant(10**400, tf.float64)),
        raised(lambda: tf.constant([10**400])),
        raised(lambda: tf.constant(10**30)),
        tf.constant([10**30], tf.float32),
    ]


def methods_with_gradients(tf, np):
    class Layer:
        @tf.custom_gradient
        def twice(self, x):
            return x * 2.0, lambda upstream: upstream * 10.0

        @tf.custom_gradient
        def product(self, x, y):
            return x * y, lambda upstream: (upstream * 10.0, upstream * 20.0)

        @staticmethod
        @tf.custom_gradient
        def same(x):
            return x * 1.0, lambda upstream: upstream * 7.0

    def gradients(function, *values):
        tensors = [tf.constant(value) for value in values]
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            y = function(*tensors)
        return tape.gradient(y, tensors)

    layer = Layer()
    inside = tf.function(lambda: gradients(layer.product, 3.0, 4.0))
    return [
        gradients(layer.twice, 3.0),
        gradients(layer.product, 3.0, 4.0),
        gradients(layer.same, 3.0),
        gradients(Layer.same, 3.0),
        inside(),
    ]


def functions_of_numpy_as_decorators(tf, np):
    @tf.numpy_function(Tout=tf.float32)
    def product(x, y):
        return np.float32(x * y)

    @tf.py_function(Tout=tf.float32)
    def twice(x):
        return x * 2.0

    x, y = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = twice(x)
    return [
        product(x, y),
        tf.function(lambda: product(x, y))(),
        tape.gradient(z, x),
        tf.function(lambda: twice(y))(),
        product.__name__,
        raised(lambda: product(x=x, y=y)),
    ]


def classes_of_errors(tf, np):
    """Eagerly and in a function: some things are looked at only when they run."""
    x = tf.reshape(tf.range(6.0), [2, 3])
    calls = {
        "begin": lambda: tf.slice(x, [0, -1], [2, 2]),
        "size": lambda: tf.slice(x, [0, 2], [2, 2]),
        "negative size": lambda: tf.slice(x, [0, 0], [-2, 1]),
        "length of begin": lambda: tf.slice(x, [0], [3]),
        "reflect": lambda: tf.pad(x, [[2, 0], [0, 0]], "REFLECT"),
        "symmetric": lambda: tf.pad(x, [[3, 0], [0, 0]], "SYMMETRIC"),
        "paddings": lambda: tf.pad(x, [[-1, 0], [0, 0]]),
        "mode": lambda: tf.pad(x, [[1, 0], [0, 0]], "AROUND"),
        "thing": lambda: tf.constant(object()),
        "list of things": lambda: tf.constant([object(), 1]),
        "mixed": lambda: tf.constant([1, "a"]),
        "none": lambda: tf.constant(None),
        "not rectangular": lambda: tf.constant([[1, 2], [3]]),
        "set": lambda: tf.constant({1, 2}),
        "sum of a thing": lambda: tf.add(x, object()),
        "permutation": lambda: tf.transpose(x, [0, 0]),
        "short permutation": lambda: tf.transpose(x, [0]),
        "multiples": lambda: tf.tile(x, [1, -1]),
        "short multiples": lambda: tf.tile(x, [1]),
        "axis of one_hot": lambda: tf.one_hot([1], 3, axis=5),
        "axis of roll": lambda: tf.roll(x, [1], [5]),
        "axis of cumsum": lambda: tf.cumsum(x, 5),
        "axis of softmax": lambda: tf.nn.softmax(x, axis=4),
        "axis of sum": lambda: tf.reduce_sum(x, 5),
        "axis of gather": lambda: tf.gather(x, [0], axis=4),
        "shape of numbers": lambda: tf.random.uniform([-1]),
        "shape": lambda: tf.reshape(x, [4]),
        "product": lambda: tf.matmul(x, x),
        "sum": lambda: x + tf.transpose(x),
        "dtypes": lambda: x + tf.cast(x, tf.int32),
    }
    return {
        name: [raised(call), raised(tf.function(call, autograph=False))]
        for name, call in calls.items()
    }


PROGRAMS = [
    arrays_by_their_interface,
    sequences,
    operators_of_the_other,
    stopped_composites,
    references,
    empty_segments,
    short_ids_of_segments,
    numbers_that_are_too_large,
    methods_with_gradients,
    functions_of_numpy_as_decorators,
    classes_of_errors,
]
