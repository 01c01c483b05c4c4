"""tf.test: checking gradients by differences, questions about the build, and the runner.

The class of test cases: `test_case.py`.
"""

from __future__ import annotations

import functools
import platform
import sys
import time
import unittest
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export, look_up
from talweg.api.scopes import executing_eagerly
from talweg.core import dispatch
from talweg.core.dtypes import COMPLEX, INEXACT, bfloat16
from talweg.core.errors import value_error
from talweg.eager.convert import convert_to_tensor
from talweg.eager.tape import GradientTape
from talweg.testing.test_case import evaluate_nest

STEP = 1.0 / 1024


@export("test.compute_gradient")
def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float | None = None
) -> tuple[tuple, tuple]:
    """Return the Jacobians of f(*x), by the tape and by central differences.

    f: a function of tensors that returns one tensor.  x: a list of what its arguments are, floats
    or complex numbers.  delta: the step of the differences (1/1024).  Returns two tuples with an
    array [elements of y, elements of an argument] for each argument; a complex element counts as
    two, its real and its imaginary part.  ValueError if x is no list or holds other dtypes.  In a
    graph, f is called once, with placeholders, and the default session computes; ValueError where
    there is none.

    >>> import talweg as tf
    >>> exact, estimated = tf.test.compute_gradient(lambda x: x * x, [[1.0, 2.0]])
    >>> exact[0]
    array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    if not isinstance(x, (list, tuple)):
        raise value_error(
            "TW104", f"compute_gradient: x has type {type(x)}", "a list of the arguments of f"
        )
    arguments = [tensor(argument) for argument in x]
    for position, argument in enumerate(arguments):
        if argument.dtype not in INEXACT:
            raise value_error(
                "TW102",
                f"compute_gradient: x[{position}] has dtype {argument.dtype.name}",
                "floats or complex numbers",
            )
    step = STEP if delta is None else delta
    differentiated = (_eagerly if executing_eagerly() else _in_a_graph)(f, arguments)
    exact = _exact_jacobians(differentiated)
    positions = range(len(arguments))
    return exact, tuple(_estimate_jacobian(differentiated, i, step) for i in positions)


class _Differentiated(NamedTuple):
    """A function of arrays with its value at `arrays`, and its pullback there."""

    dtypes: list
    arrays: list[np.ndarray]
    value: Callable[[list[np.ndarray]], np.ndarray]
    pullback: Callable[[np.ndarray], list]


def _eagerly(f: Callable[..., Any], arguments: list) -> _Differentiated:
    with GradientTape(persistent=True) as tape:
        tape.watch(arguments)
        y = convert_to_tensor(f(*arguments))

    def value(arrays: list[np.ndarray]) -> np.ndarray:
        return convert_to_tensor(f(*[tensor(array.copy()) for array in arrays])).numpy()

    def pullback(seed: np.ndarray) -> list:
        gradients = tape.gradient(y, arguments, output_gradients=tensor(seed.copy()))
        return [None if g is None else convert_to_tensor(g).numpy() for g in gradients]

    arrays = [argument.numpy() for argument in arguments]
    return _Differentiated([argument.dtype for argument in arguments], arrays, value, pullback)


def _in_a_graph(f: Callable[..., Any], arguments: list) -> _Differentiated:
    session = look_up("compat.v1.get_default_session")()
    if session is None:
        raise value_error(
            "TW503", "compute_gradient needs a default session in a graph", "with Session():"
        )
    placeholder = look_up("compat.v1.placeholder")
    fed = [placeholder(argument.dtype, argument.shape) for argument in arguments]
    y = convert_to_tensor(f(*fed))
    seed_fed = placeholder(y.dtype, y.shape)
    gradients = look_up("compat.v1.gradients")([y], fed, [seed_fed])
    wanted = [convert_to_tensor(g) for g in gradients if g is not None]
    arrays = session.run(arguments)

    def value(arrays: list[np.ndarray]) -> np.ndarray:
        return session.run(y, dict(zip(fed, arrays)))

    def pullback(seed: np.ndarray) -> list:
        values = iter(session.run(wanted, {seed_fed: seed, **dict(zip(fed, arrays))}))
        return [None if g is None else next(values) for g in gradients]

    return _Differentiated([argument.dtype for argument in arguments], arrays, value, pullback)


def _reals(array: np.ndarray) -> np.ndarray:
    """Return an array as a vector of reals, complex numbers as pairs;
    contiguous arrays are not copied.
    """
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat


def _exact_jacobians(differentiated: _Differentiated) -> tuple:
    y = np.asarray(differentiated.value(differentiated.arrays))
    seed = np.zeros(y.shape, y.dtype)
    seed_reals = seed.reshape(-1).view(seed.real.dtype if np.iscomplexobj(y) else seed.dtype)
    columns = [_reals(array).size for array in differentiated.arrays]
    types = [dtype.real_dtype.numpy_dtype for dtype in differentiated.dtypes]
    jacobians = [np.zeros((seed_reals.size, n), kind) for n, kind in zip(columns, types)]
    for row in range(seed_reals.size):
        seed_reals[row] = 1
        for jacobian, gradient in zip(jacobians, differentiated.pullback(seed)):
            if gradient is not None:
                jacobian[row] = _reals(np.asarray(gradient))
        seed_reals[row] = 0
    return tuple(jacobians)


def _estimate_jacobian(differentiated: _Differentiated, position: int, step: float) -> Any:
    arrays = [np.array(array, order="C", ndmin=0) for array in differentiated.arrays]
    dtype = differentiated.dtypes[position]
    if dtype is bfloat16 and executing_eagerly():  # its 8 bits do not resolve the step
        arrays = [
            array.astype(np.float32) if array.dtype.itemsize == 2 else array for array in arrays
        ]
    flat = arrays[position].reshape(-1)
    reals = flat.view(flat.real.dtype) if dtype in COMPLEX else flat

    def value() -> np.ndarray:
        return _reals(np.asarray(differentiated.value(arrays)))

    size = value().size
    jacobian = np.zeros((size, reals.size), dtype.real_dtype.numpy_dtype)
    for column in range(reals.size):
        center = reals[column]
        reals[column] = center + step
        above = value()
        reals[column] = center - step
        jacobian[:, column] = (above - value()) / (2 * step)
        reals[column] = center
    return jacobian


# -- what there is


@export("test.is_gpu_available")
def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Return False: everything runs on the CPU.

    >>> import talweg as tf
    >>> tf.test.is_gpu_available()
    False
    """
    return False


@export("test.gpu_device_name")
def gpu_device_name() -> str:
    """Return the name of a GPU: empty, since there is none.

    >>> import talweg as tf
    >>> tf.test.gpu_device_name()
    ''
    """
    return ""


@export("test.is_built_with_cuda", "test.is_built_with_rocm", "test.is_built_with_gpu_support")
def is_built_with_cuda() -> bool:
    """Return False: no kernels for GPUs are part of talweg.

    >>> import talweg as tf
    >>> tf.test.is_built_with_cuda()
    False
    """
    return False


@export("test.is_built_with_xla")
def is_built_with_xla() -> bool:
    """Return True, as TensorFlow answers: programs ask before they pass `jit_compile=True`.

    >>> import talweg as tf
    >>> tf.test.is_built_with_xla()
    True
    """
    return True


@export("test.is_cpu_target_available")
def is_cpu_target_available(target: str) -> bool:
    """Return whether this machine's processor is a `target`, such as "x86_64" or "aarch64".

    >>> import talweg as tf
    >>> tf.test.is_cpu_target_available("pdp11")
    False
    """
    return platform.machine().lower() in {target.lower(), {"x86_64": "amd64"}.get(target, target)}


# -- decorators and the runner


@export("test.disable_with_predicate")
def disable_with_predicate(pred: Callable[[], bool], skip_message: str) -> Callable[..., Any]:
    """Return a decorator of test methods: skipped with this message where `pred()` is true.

    >>> import talweg as tf
    >>> class Example(tf.test.TestCase):
    ...     @tf.test.disable_with_predicate(lambda: True, "not today")
    ...     def test(self):
    ...         self.fail()
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def run(self: Any, *args: object, **kwargs: object) -> Any:
            if pred():
                self.skipTest(skip_message)
            return method(self, *args, **kwargs)

        return run

    return decorate


@export("test.with_eager_op_as_function")
def with_eager_op_as_function(cls: Any = None, only_as_function: bool = False) -> Any:
    """Return the class it decorates: there is one way to run an operation.

    >>> import talweg as tf
    >>> tf.test.with_eager_op_as_function(int)
    <class 'int'>
    """
    return cls if cls is not None else lambda decorated: decorated


@export("test.main")
def main(argv: list[str] | None = None) -> None:
    """Run the tests of the main module, as `unittest.main` does.

    >>> import talweg as tf
    >>> callable(tf.test.main)
    True
    """
    unittest.main(module="__main__", argv=sys.argv if argv is None else argv)


@export("test.experimental.sync_devices", "compat.v1.test.experimental.sync_devices")
def sync_devices() -> None:
    """Wait until all devices are done: operations here are when their calls return.

    RuntimeError inside a `tf.function` or graph.

    >>> import talweg as tf
    >>> tf.test.experimental.sync_devices()
    """
    if dispatch.context.base is not None:
        raise RuntimeError(
            "sync_devices() must only be called in Eager mode, outside tf.functions  [TW503]"
        )


@export("test.Benchmark")
class Benchmark:
    """A base of benchmarks: methods whose names start with "benchmark", which report measurements.

    >>> import talweg as tf
    >>> benchmark = tf.test.Benchmark()
    >>> benchmark.report_benchmark(iters=10, wall_time=0.5, name="addition")
    >>> benchmark.reports[0]["wall_time"]
    0.5
    """

    def __init__(self) -> None:
        self.reports: list[dict] = []

    @classmethod
    def is_abstract(cls) -> bool:
        """Return whether this class defines no benchmark of its own."""
        return not any(name.startswith("benchmark") for name in dir(cls))

    def evaluate(self, tensors: Any) -> Any:
        """Return a nest of tensors as NumPy values."""
        return evaluate_nest(tensors)

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict | None = None,
        name: str | None = None,
        metrics: list | None = None,
    ) -> None:
        """Keep one result in `reports`; seconds, and anything in `extras`."""
        if name is None:
            name = sys._getframe(1).f_code.co_name
        self.reports.append(
            {
                "name": f"{type(self).__name__}.{name}",
                "iters": iters,
                "cpu_time": cpu_time,
                "wall_time": wall_time,
                "throughput": throughput,
                "extras": extras or {},
                "metrics": metrics or [],
            }
        )

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        *,
        min_iters: int = 10,
        burn_iters: int = 2,
        **options: object,
    ) -> dict:
        """Time a function without arguments, and report and return the median in seconds."""
        call = op_or_tensor if callable(op_or_tensor) else lambda: sess.run(op_or_tensor)
        for _ in range(burn_iters):
            call()
        times = []
        for _ in range(min_iters):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        result = {
            "iters": min_iters,
            "wall_time": float(np.median(times)),
            "name": options.get("name"),
        }
        self.report_benchmark(**result)
        return result
