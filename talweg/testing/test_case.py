"""tf.test.TestCase: unittest's, with assertions about tensors and arrays.

Everything that a comparison takes may be a tensor, a variable, an array, a number or a list; what
is compared is the NumPy value.
"""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import tempfile
import threading
import unittest
from collections import namedtuple
from collections.abc import Callable, Iterator, KeysView
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.export import export, look_up
from talweg.core.dtypes import EXTENDED, as_dtype
from talweg.core.errors import OpError, type_error
from talweg.core.value import IndexedSlices
from talweg.eager.convert import is_tensor_like
from talweg.graph import structure
from talweg.testing.absl_asserts import AbslAsserts
from talweg.testing.sessions import (
    drop_session,
    enter_kept_session,
    enter_new_session,
    run_in_session,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import DTypeLike, TensorLike

SEED = 87654321  # TensorFlow's; each test starts with it

SparseTensorValue = namedtuple("SparseTensorValue", "indices values dense_shape")
IndexedSlicesValue = namedtuple("IndexedSlicesValue", "values indices dense_shape")


def evaluate_nest(tensors: object) -> Any:
    """Return the NumPy values of a nest of tensors, or of a function's result; None stays None.

    What is of a graph gets them from the default session, or the one that the test keeps.
    """
    if callable(tensors) and not is_tensor_like(tensors):
        return evaluate_nest(tensors())
    if not look_up("executing_eagerly")():
        tensors = run_in_session(tensors)
    return structure.map_leaves(_evaluate_leaf, tensors)


def _called(leaf: Any) -> Any:
    """Return the result of a function; other leaves as they are."""
    is_function = callable(leaf) and not is_tensor_like(leaf) and not isinstance(leaf, type)
    return leaf() if is_function else leaf


def _evaluate_leaf(leaf: object) -> Any:
    if isinstance(leaf, IndexedSlices):
        parts = (leaf.values, leaf.indices, leaf.dense_shape)
        return IndexedSlicesValue(
            *(None if part is None else evaluate_nest(part) for part in parts)
        )
    if hasattr(leaf, "with_values") and hasattr(leaf, "dense_shape"):
        return SparseTensorValue(
            *(evaluate_nest(p) for p in (leaf.indices, leaf.values, leaf.dense_shape))
        )
    if hasattr(leaf, "numpy"):
        return leaf.numpy()
    return leaf


def _array(value: object) -> np.ndarray:
    """Return the array that an assertion compares; bfloat16 as float32."""
    if hasattr(value, "to_list") and hasattr(value, "ragged_rank"):
        return np.array(value.to_list(), dtype=object)
    if not isinstance(value, (np.ndarray, np.generic, KeysView)):  # keys are compared as a set
        value = evaluate_nest(value)
        if isinstance(value, (list, tuple)) and any(map(is_tensor_like, structure.flatten(value))):
            value = tensor(value).numpy()
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths are compared as lists
        array = np.array(value, dtype=object)
    if array.dtype.name in EXTENDED:
        array = array.astype(np.float32)
    return array


def _text(array: np.ndarray) -> np.ndarray:
    """Return strings as bytes, so that "a" equals b"a"."""
    encode = [v.encode() if isinstance(v, str) else v for v in array.reshape(-1).tolist()]
    result = np.empty(array.size, dtype=object)
    result[:] = encode
    return result.reshape(array.shape)


class EagerSession:
    """A session of a test in eager execution: `run` evaluates tensors that have values already."""

    def __init__(self) -> None:
        self.graph = None

    def run(self, fetches: list[Any], *args: object, **kwargs: object) -> Any:
        """Return the NumPy values of a nest of tensors; TypeError for a feed_dict."""
        if args or kwargs.get("feed_dict"):
            raise type_error("TW402", "session.run: a feed_dict needs a graph; tensors have values")
        return evaluate_nest(fetches)


@export("test.TestCase")
class TestCase(AbslAsserts, unittest.TestCase):
    """A `unittest.TestCase` with assertions about tensors.

    Before each test the generators of Python, NumPy and `tf.random` get a fixed seed, and the
    default graph is a new one, unless a test is set up again inside a graph of its own.

    >>> import talweg as tf
    >>> class Squares(tf.test.TestCase):
    ...     def test_square(self):
    ...         self.assertAllClose(tf.square([1.0, 2.0]), [1.0, 4.0])
    >>> Squares("test_square").run().wasSuccessful()
    True
    """

    def __init__(self, methodName: str = "runTest"):
        super().__init__(methodName)
        self._directory: str | None = None

    def setUp(self) -> None:
        """Seed the generators, and begin with an empty graph."""
        super().setUp()
        drop_session()
        self.addCleanup(drop_session)
        with contextlib.suppress(AssertionError):  # inside a graph that a test has made
            look_up("compat.v1.reset_default_graph")()
        random.seed(SEED)
        np.random.seed(SEED)
        with contextlib.suppress(AttributeError):
            look_up("random.set_seed")(SEED)

    # -- values and sessions

    def evaluate(self, tensors: dict[Any, Any]) -> Any:
        """Return a nest of tensors, or of functions that give some, as NumPy values."""
        return evaluate_nest(structure.map_leaves(_called, tensors))

    def evaluate_if_both_tensors(self, a: TensorLike, b: TensorLike) -> tuple:
        """Return (a, b), evaluated if both are tensors."""
        if is_tensor_like(a) and is_tensor_like(b):
            return evaluate_nest(a), evaluate_nest(b)
        return a, b

    @contextlib.contextmanager
    def session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Any]:
        """Return a context with a new session, the default one in its block.

        In eager execution its `run` evaluates tensors, and all arguments are without effect.
        """
        eager = look_up("executing_eagerly")()
        entered = (
            contextlib.nullcontext(EagerSession()) if eager else enter_new_session(graph, config)
        )
        with entered as found:
            yield found

    @contextlib.contextmanager
    def cached_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Any]:
        """Return a context with the session that the test keeps from one call to the next."""
        eager = look_up("executing_eagerly")()
        kept = (
            contextlib.nullcontext(EagerSession()) if eager else enter_kept_session(graph, config)
        )
        with kept as found:
            yield found

    def test_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Any:
        """Return the older name of `cached_session`, or with a graph, of `session`.

        A runner that takes it for a test skips it.
        """
        if self._testMethodName == "test_session":
            self.skipTest("a context, not a test")
        return (self.cached_session if graph is None else self.session)(graph, config)

    def get_temp_dir(self) -> str:
        """Return a directory for this test, the same at every call, removed after it."""
        if self._directory is None:
            self._directory = tempfile.mkdtemp(prefix=f"{type(self).__name__}_")
            self.addCleanup(shutil.rmtree, self._directory, ignore_errors=True)
        return self._directory

    def checkedThread(self, target: Callable, args: Any = None, kwargs: Any = None) -> Any:
        """Return a thread whose `join` fails the test if `target` raised."""
        return CheckedThread(self, target, args or (), kwargs or {})

    # -- closeness

    def assertAllClose(
        self,
        a: TensorLike,
        b: TensorLike,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        msg: str | None = None,
    ) -> None:
        """Assert |a - b| <= atol + rtol |b| everywhere, in nests of one structure; NaN is close to
        NaN."""
        self._assert_close(a, b, rtol, atol, msg, "")

    def _assert_close(
        self, a: Any, b: Any, rtol: float, atol: float, msg: str | None, path: str
    ) -> None:
        nested = [self._is_nest(value) for value in (a, b)]
        if isinstance(a, dict) or isinstance(b, dict):
            if not (isinstance(a, dict) and isinstance(b, dict)) or a.keys() != b.keys():
                self.fail(self._formatMessage(msg, f"a{path} and b{path} have different keys"))
            for key in a:
                self._assert_close(a[key], b[key], rtol, atol, msg, f"{path}[{key!r}]")
        elif all(nested):
            if len(a) != len(b):
                text = f"a{path} has {len(a)} elements, b{path} has {len(b)}"
                self.fail(self._formatMessage(msg, text))
            for position, (one, other) in enumerate(zip(a, b)):
                self._assert_close(one, other, rtol, atol, msg, f"{path}[{position}]")
        else:
            self._assert_arrays_close(_array(a), _array(b), rtol, atol, msg, path)

    @staticmethod
    def _is_nest(value: object) -> bool:
        """Return whether a list is a nest to be compared part by part, not an array."""
        if isinstance(value, dict):
            return True
        if not isinstance(value, (list, tuple)):
            return False
        return any(
            isinstance(item, (list, tuple, dict, np.ndarray)) or is_tensor_like(item)
            for item in value
        )

    def _assert_arrays_close(
        self, a: np.ndarray, b: np.ndarray, rtol: float, atol: float, msg: str | None, path: str
    ) -> None:
        self._assert_same_shape(a, b, msg, path)
        if np.allclose(a, b, rtol, atol, equal_nan=True):
            return
        close = np.isclose(a, b, rtol, atol, equal_nan=True)
        lines = [f"a{path} and b{path} are not within rtol={rtol}, atol={atol}"]
        lines += self._differences(a, b, ~close)
        self.fail(self._formatMessage(msg, "\n".join(lines)))

    def _assert_same_shape(
        self, a: np.ndarray, b: np.ndarray, msg: str | None, path: str = ""
    ) -> None:
        if a.shape != b.shape:
            text = f"a{path} has shape {a.shape}, b{path} has shape {b.shape}"
            self.fail(self._formatMessage(msg, text))

    @staticmethod
    def _differences(a: np.ndarray, b: np.ndarray, wrong: np.ndarray) -> list[str]:
        wrong = np.asarray(wrong)
        where = np.argwhere(wrong)[:10].tolist() if wrong.ndim else "the only place"
        lines = [
            f"  they differ at {int(wrong.sum())} of {wrong.size} places: {where}",
            f"  a there: {np.asarray(a)[wrong][:10]}",
            f"  b there: {np.asarray(b)[wrong][:10]}",
        ]
        if a.dtype.kind in "iufc" and b.dtype.kind in "iufc":
            lines.append(f"  |a - b| there: {abs(a - b)[wrong][:10]}")
        return lines

    def assertAllCloseAccordingToType(
        self,
        a: TensorLike,
        b: TensorLike,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """Call `assertAllClose` with the tolerance of the coarser dtype of the two."""
        names = {str(getattr(value, "dtype", None) or _array(value).dtype) for value in (a, b)}
        names = {re.sub(r"<dtype: '(.*)'>", r"\1", name) for name in names}
        for kinds, relative, absolute in (
            ({"float32", "complex64"}, float_rtol, float_atol),
            ({"float16"}, half_rtol, half_atol),
            ({"bfloat16"}, bfloat16_rtol, bfloat16_atol),
        ):
            if names & kinds:
                rtol, atol = max(rtol, relative), max(atol, absolute)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(
        self,
        a: TensorLike,
        b: TensorLike,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        msg: str | None = None,
    ) -> None:
        """Assert that the two are not close in the sense of `assertAllClose`."""
        try:
            self.assertAllClose(a, b, rtol, atol)
        except AssertionError:
            return
        self.fail(self._formatMessage(msg, "a and b are close at all places"))

    # -- equality and order

    def assertAllEqual(self, a: TensorLike, b: TensorLike, msg: str | None = None) -> None:
        """Assert equal shapes and elements; NaN equals NaN, text equals its bytes."""
        a, b = _array(a), _array(b)
        self._assert_same_shape(a, b, msg)
        if a.dtype.kind in "OUS" or b.dtype.kind in "OUS":
            a, b = _text(a), _text(b)
        same = np.asarray(a == b)
        if a.dtype.kind in "fc" and b.dtype.kind in "fc":
            same = same | (np.isnan(a) & np.isnan(b))
        if not same.all():
            lines = ["a and b are not equal", *self._differences(a, b, ~same)]
            self.fail(self._formatMessage(msg, "\n".join(lines)))

    def assertNotAllEqual(self, a: TensorLike, b: TensorLike, msg: str | None = None) -> None:
        """Assert that the shapes or at least one element differ."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        self.fail(self._formatMessage(msg, "a and b are equal at all places"))

    def assertAllGreater(self, a: TensorLike, comparison_target: TensorLike) -> None:
        """Assert that each element of a is above the number."""
        self.assertGreater(np.min(_array(a)), comparison_target)

    def assertAllGreaterEqual(self, a: TensorLike, comparison_target: TensorLike) -> None:
        """Assert that no element of a is below the number."""
        self.assertGreaterEqual(np.min(_array(a)), comparison_target)

    def assertAllLess(self, a: TensorLike, comparison_target: TensorLike) -> None:
        """Assert that each element of a is below the number."""
        self.assertLess(np.max(_array(a)), comparison_target)

    def assertAllLessEqual(self, a: TensorLike, comparison_target: TensorLike) -> None:
        """Assert that no element of a is above the number."""
        self.assertLessEqual(np.max(_array(a)), comparison_target)

    def assertAllInRange(
        self,
        target: TensorLike,
        lower_bound: TensorLike,
        upper_bound: TensorLike,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Assert that all elements lie between the bounds, which count unless open; NaN lies
        nowhere."""
        values = _array(target)
        if values.dtype.kind not in "iuf":
            self.fail(f"target has dtype {values.dtype}, which has no order")
        above = values > lower_bound if open_lower_bound else values >= lower_bound
        below = values < upper_bound if open_upper_bound else values <= upper_bound
        inside = np.asarray(above & below)
        if not inside.all():
            left, right = "(" if open_lower_bound else "[", ")" if open_upper_bound else "]"
            self.fail(
                f"{int((~inside).sum())} of {inside.size} elements lie outside "
                f"{left}{lower_bound}, {upper_bound}{right}: {values[~inside][:10]}"
            )

    def assertAllInSet(self, target: TensorLike, expected_set: Sequence[Any]) -> None:
        """Assert that each element is one of those of the set."""
        values = _array(target)
        strange = np.setdiff1d(values.reshape(-1), np.asarray(list(expected_set)))
        if strange.size:
            self.fail(f"{strange.size} values are not in the set {expected_set}: {strange[:10]}")

    # -- nearness, shapes, dtypes

    def assertNear(self, f1: Any, f2: Any, err: float, msg: str | None = None) -> None:
        """Assert |f1 - f2| <= err, for two numbers."""
        if not (f1 == f2 or abs(f1 - f2) <= err):
            self.fail(self._formatMessage(msg, f"{f1!r} and {f2!r} differ by more than {err!r}"))

    def assertArrayNear(
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Call `assertNear` for each pair of two lists of equal length."""
        self.assertEqual(len(farray1), len(farray2), msg=msg)
        for one, other in zip(farray1, farray2):
            self.assertNear(float(one), float(other), err, msg=msg)

    def assertNDArrayNear(
        self, ndarray1: TensorLike, ndarray2: TensorLike, err: float, msg: str | None = None
    ) -> None:
        """Assert that the norm of the difference is below err."""
        distance = np.linalg.norm(_array(ndarray1) - _array(ndarray2))
        if not distance < err:
            self.fail(
                self._formatMessage(msg, f"the norm of the difference is {distance}, not < {err}")
            )

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Assert that two arrays or tensors have equal shapes; TypeError for anything else."""
        for value in (input_a, input_b):
            if not isinstance(value, (np.ndarray, np.generic)) and not is_tensor_like(value):
                raise type_error("TW104", f"assertShapeEqual: {value!r}", "an array or a tensor")
        self.assertEqual(tuple(input_a.shape), tuple(input_b.shape), msg=msg)

    def assertDTypeEqual(self, target: TensorLike, expected_dtype: DTypeLike) -> None:
        """Assert that an array or tensor has this dtype."""
        found = target.dtype if hasattr(target, "dtype") else _array(target).dtype
        self.assertEqual(as_dtype(found), as_dtype(expected_dtype))

    def assertDeviceEqual(self, device1: object, device2: object, msg: str | None = None) -> None:
        """Assert that two device names mean the same device."""
        names = [look_up("DeviceSpec").from_string(str(x or "")) for x in (device1, device2)]
        self.assertEqual(names[0].to_string(), names[1].to_string(), msg=msg)

    # -- errors

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """Assert that the block raises such an exception that the predicate or expression
        accepts."""
        wanted = expected_err_re_or_predicate
        try:
            yield
        except exception_type as error:
            text = error.message if isinstance(error, OpError) else str(error)
            fits = wanted(error) if callable(wanted) else re.search(wanted, text)
            if not fits:
                raise AssertionError(
                    f"{type(error).__name__} was raised, but {wanted!r} does not accept {text!r}"
                ) from error
            return
        self.fail(f"{exception_type} was not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """Assert that the block raises a `tf.errors.OpError` that the predicate or expression
        accepts."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(self, exception_type: object = OpError) -> Any:
        """Assert that the block raises an error about shapes that do not go together."""
        return self.assertRaisesWithPredicateMatch(
            exception_type, r"(?i)incompatible shapes|broadcast|must match|dimensions"
        )


class CheckedThread:
    """A thread of a test; an exception in it fails the test when it is joined."""

    def __init__(self, test: TestCase, target: Callable, args: tuple, kwargs: dict):
        self._test, self._error = test, None
        self._call = lambda: target(*args, **kwargs)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self._call()
        except Exception as error:  # noqa: BLE001 -- told to the test by join
            self._error = error

    def start(self) -> None:
        """Start it."""
        self._thread.start()

    def join(self) -> None:
        """Wait for its end; the test fails if it raised."""
        self._thread.join()
        if self._error is not None:
            self._test.fail(f"the thread raised {type(self._error).__name__}: {self._error}")

    def is_alive(self) -> bool:
        """Return whether it runs."""
        return self._thread.is_alive()
