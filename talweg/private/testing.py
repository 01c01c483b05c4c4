"""`tensorflow.python.framework.test_util`: decorators of tests."""

from __future__ import annotations

import faulthandler
import functools
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from talweg.api.export import look_up
from talweg.private.internal.kinds import eager_mode


def _leave_unchanged(
    func: Callable[..., Any] | None = None, *args: object, **kwargs: object
) -> Any:
    """Make a decorator that leaves functions unchanged, since its devices are not here."""
    return func if callable(func) else _leave_unchanged


disable_cudnn_autotune = disable_xla = disable_mlir_bridge = disable_tfrt = _leave_unchanged
run_without_tensor_float_32 = run_all_without_tensor_float_32 = _leave_unchanged
no_xla_auto_jit = xla_allow_fallback = enable_control_flow_v2 = _leave_unchanged


def is_xla_enabled() -> bool:
    """Return whether all is compiled by XLA."""
    return False


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Return whether there is a GPU."""
    return bool(look_up("config.list_physical_devices")("GPU"))


def _each_test(decorator: Callable[[Any], Any]) -> Callable[[type], type]:
    def decorate(cls: type) -> type:
        for name in dir(cls):
            if name.startswith("test") and name != "test_session" and callable(getattr(cls, name)):
                setattr(cls, name, decorator(getattr(cls, name)))
        return cls

    return decorate


def run_in_graph_and_eager_modes(
    func: Callable[..., Any] | None = None,
    config: Any = None,
    use_gpu: bool = True,
    assert_no_eager_garbage: bool = False,
) -> Any:
    """Make a decorator: the test runs in a graph with a session, then eagerly."""

    def decorate(method: Callable[..., Any]) -> Any:
        @functools.wraps(method)
        def test(self: Any, *args: object, **kwargs: object) -> None:
            with look_up("compat.v1.Graph")().as_default(), self.test_session(config=config):
                method(self, *args, **kwargs)
            self.tearDown()
            self._tempdir = None
            with eager_mode():
                self.setUp()
                method(self, *args, **kwargs)

        return test

    return decorate if func is None else decorate(func)


def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """Return a decorator: the tests of a class run in a graph, then eagerly."""
    return _each_test(run_in_graph_and_eager_modes)(cls)


def run_in_graph_mode(func: Callable[..., Any] | None = None) -> Any:
    """Return a decorator: the test runs in a graph."""

    def decorate(method: Callable[..., Any]) -> Any:
        @functools.wraps(method)
        def test(self: Any, *args: object, **kwargs: object) -> Any:
            with look_up("compat.v1.Graph")().as_default():
                return method(self, *args, **kwargs)

        return test

    if isinstance(func, type):
        return _each_test(decorate)(func)
    return decorate if func is None else decorate(func)


deprecated_graph_mode_only = run_in_graph_mode


def run_v1_only(reason: str = "", func: Callable[..., Any] | None = None) -> Any:
    """Return a decorator: the test is left out, since talweg behaves as TensorFlow 2."""
    if callable(reason):
        return unittest.skip("only for TensorFlow 1")(reason)
    skip = unittest.skip(reason or "only for TensorFlow 1")
    return skip if func is None else skip(func)


def run_v2_only(func: Callable[..., Any] | None = None, reason: str | None = None) -> Any:
    """Return a decorator: the test runs, since talweg behaves as TensorFlow 2."""
    return func if callable(func) else run_v2_only


def run_gpu_only(func: Callable[..., Any] | None = None) -> Any:
    """Return a decorator: the test is left out where there is no GPU."""

    def decorate(method: Callable[..., Any]) -> Any:
        @functools.wraps(method)
        def test(self: Any, *args: object, **kwargs: object) -> Any:
            if not is_gpu_available():
                self.skipTest("Test requires GPU")
            return method(self, *args, **kwargs)

        return test

    return decorate if func is None else decorate(func)


run_cuda_only = run_gpu_only


def assert_no_garbage_created(f: Callable[..., Any]) -> Any:
    """Return a decorator: the test runs."""
    return f


@contextmanager
def use_gpu() -> Iterator[None]:
    """Run the block on the device that there is."""
    yield


device = force_gpu = force_cpu = lambda *args, **kwargs: use_gpu()


class InstallStackTraceHandler:
    """Shows the stacks of all threads where a test is ended from outside."""

    def __init__(self) -> None:
        faulthandler.enable()
