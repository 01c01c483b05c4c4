"""What a case may call beside `tf` and `np`: tape idioms in one word each.

Every helper takes its functions and operands as TensorFlow would; floats and lists become float32
tensors, variables are used as they are. `grad` has cotangents of ones, as a tape has by default;
`pull`, `pull2` and `push` use ramps (0.1, 0.2, ...), which a mis-placed axis cannot survive.
"""

import collections
import copy
import math
import pickle
import warnings

import numpy as np


def namespace(tf):
    """The names a case sees, for this `tf`; copied afresh for each case."""
    return {
        "tf": tf,
        "np": np,
        "nan": math.nan,
        "inf": math.inf,
        **_operands(tf),
        "math": math,
        "copy": copy,
        "pickle": pickle,
        "collections": collections,
        **_structures(),
        **_calls(tf),
        **_gradients(tf),
        **_operators(),
    }


def _operands(tf):
    """Tensors with telling numbers: `seq(2, 3)` counts, `wave(2, 3)` goes up and down."""

    def seq(*shape, dtype=tf.float32, start=0, step=1):
        values = start + step * np.arange(int(np.prod(shape)))
        return tf.cast(tf.constant(values.reshape(shape), tf.float64), dtype)

    def wave(*shape, dtype=tf.float32, start=0.3, scale=2.0):
        angles = start + 1.7 * np.arange(int(np.prod(shape)))
        values = np.round(scale * np.sin(angles), 2).reshape(shape)
        if dtype in (tf.complex64, tf.complex128):
            values = values + 1j * np.round(scale * np.cos(2.3 * angles), 2).reshape(shape)
            return tf.constant(values.astype(dtype.as_numpy_dtype))
        return tf.cast(tf.constant(values), dtype)

    def channels_first(function, x):
        """Call with an NCHW operand; TensorFlow, which cannot on a CPU, takes the long way."""
        formats = {3: ("NCW", "NWC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}[x.shape.rank]
        if tf.__name__ != "tensorflow":
            return function(x, formats[0])
        last = [0, *range(2, x.shape.rank), 1]
        first = [0, x.shape.rank - 1, *range(1, x.shape.rank - 1)]
        return tf.transpose(function(tf.transpose(x, last), formats[1]), first)

    return {"seq": seq, "wave": wave, "channels_first": channels_first}


def _structures():
    """Types for nested structures."""
    point = collections.namedtuple("Point", ["x", "y"])
    return {
        "Point": point,
        "namedtuple": collections.namedtuple,
        "OrderedDict": collections.OrderedDict,
    }


def _calls(tf):
    """Printed forms, and calls in special circumstances."""

    def text(value):
        return (repr(value), str(value))

    def quiet(function):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function()

    def raised(function):
        """Whether calling raises; for errors inside longer programs."""
        try:
            function()
        except Exception as error:  # the class is what the case asks about
            return type(error).__name__
        return None

    def compiled(function):
        """Call; in TensorFlow through XLA, where alone it has the ThreeFry algorithm."""
        if tf.__name__ == "tensorflow":
            return tf.function(function, jit_compile=True)()
        return function()

    return {"text": text, "quiet": quiet, "raised": raised, "compiled": compiled}


def _operators():
    """What a linear operator says of itself, and what it does."""
    names = ("to_dense", "diag_part", "trace", "determinant", "log_abs_determinant", "cond")
    names += ("eigvals",)
    hints = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")

    def attempt(function):
        try:
            return function()
        except Exception as error:  # the class is what the case asks about
            return type(error).__name__

    def facts(operator, x=None):
        """Hints, shapes, numbers; products and solutions with [..., n, r] if one is given."""
        found = {name: attempt(lambda name=name: getattr(operator, name)()) for name in names}
        found["hints"] = [getattr(operator, name) for name in hints]
        found["shapes"] = [operator.shape, operator.batch_shape, operator.shape_tensor()]
        found["dtype"] = operator.dtype
        if x is not None:
            found["matmul"] = attempt(lambda: operator.matmul(x))
            found["matvec"] = attempt(lambda: operator.matvec(x[..., 0]))
            found["adjoint matmul"] = attempt(lambda: operator.matmul(x, adjoint=True))
            found["solve"] = attempt(lambda: operator.solve(x))
            found["solvevec"] = attempt(lambda: operator.solvevec(x[..., 0], adjoint=True))
            found["adjoint solve"] = attempt(lambda: operator.solve(x, adjoint=True))
            found["add_to_tensor"] = attempt(lambda: operator.add_to_tensor(operator.to_dense()))
        return found

    def algebra(operator):
        """The classes and matrices of the adjoint, the inverse and the Cholesky factor."""
        found = []
        for name in ("adjoint", "inverse", "cholesky"):
            made = attempt(lambda name=name: getattr(operator, name)())
            found.append(made if isinstance(made, str) else kind(made))
        return found

    def kind(operator):
        """The class, hints and matrix of an operator."""
        return [
            type(operator).__name__,
            [getattr(operator, name) for name in hints],
            operator.to_dense(),
        ]

    return {"facts": facts, "algebra": algebra, "kind": kind}


def _gradients(tf):
    """First and second derivatives by tape, forward derivatives by accumulator."""

    def operands(values):
        return [x if isinstance(x, tf.Variable) else tf.convert_to_tensor(x) for x in values]

    def ramp(like):
        if isinstance(like, (tuple, list)):
            return type(like)(ramp(part) for part in like)
        size = int(np.prod(like.shape.as_list()))
        steps = (np.arange(1, size + 1) / 10).reshape(like.shape.as_list())
        return tf.cast(tf.constant(steps, tf.float64), like.dtype)

    def dense(results):
        return tf.nest.map_structure(tf.convert_to_tensor, results)

    def single(results):
        return results[0] if len(results) == 1 else tuple(results)

    def differentiate(function, values, seed=None, **options):
        xs = operands(values)
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = function(*xs)
        return tape.gradient(y, xs, output_gradients=seed(y) if seed else None, **options)

    def grad(function, *values, **options):
        """The tape's gradient, by default cotangents."""
        return single(differentiate(function, values, **options))

    def pull(function, *values):
        """The gradient for a ramp as cotangent."""
        return single(differentiate(function, values, seed=ramp))

    def total(gradients):
        return [tf.reduce_sum(g * ramp(g)) for g in dense([g for g in gradients if g is not None])]

    def pull2(function, *values):
        """The gradient of the ramp-weighted first gradient; dense, zero where there is none."""
        xs = operands(values)
        with tf.GradientTape() as outer:
            outer.watch(xs)
            first = total(differentiate(function, xs, seed=ramp))
        return single(dense(outer.gradient(first, xs, unconnected_gradients="zero")))

    def grad2(function, x):
        """The plain second derivative: gradient of gradient."""
        return grad(lambda x: grad(function, x), x)

    def grad3(function, x):
        """The plain third derivative."""
        return grad(lambda x: grad2(function, x), x)

    def jvp(function, x, tangent):
        """The forward derivative along a tangent (a list of operands: lists of tangents)."""
        with tf.autodiff.ForwardAccumulator(x, tangent) as accumulator:
            y = function(*x) if isinstance(x, (list, tuple)) else function(x)
        return accumulator.jvp(y)

    def push(function, *values):
        """The forward derivative along ramps in every operand; dense, zero where there is none."""
        xs = operands(values)
        with tf.autodiff.ForwardAccumulator(xs, [ramp(x) for x in xs]) as accumulator:
            y = function(*xs)
        return dense(accumulator.jvp(y, unconnected_gradients="zero"))

    def jac(function, x, **options):
        """The jacobian by tape."""
        x = operands([x])[0]
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = function(x)
        return tape.jacobian(y, x, **options)

    def batch_jac(function, x, **options):
        """The batch jacobian by tape."""
        x = operands([x])[0]
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = function(x)
        return tape.batch_jacobian(y, x, **options)

    return {
        "grad": grad,
        "pull": pull,
        "pull2": pull2,
        "grad2": grad2,
        "grad3": grad3,
        "jvp": jvp,
        "push": push,
        "jac": jac,
        "batch_jac": batch_jac,
        "ramp": ramp,
    }
