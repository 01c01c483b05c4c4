"""Functions compiled as a whole, under the names that TensorFlow has for XLA."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from talweg.api.export import export, look_up
from talweg.core.errors import compose
from talweg.core.value import Tensor


@export("xla.experimental.compile")
def compile_(computation: Callable[..., Any], inputs: Sequence[Any] | None = None) -> Any:
    """Call a function with `inputs`, traced and compiled as one.

    A list of tensors for a tensor or a flat list of them, an operation for None, and any other
    structure as it is.  As `tf.function(computation, jit_compile=True)`, which keeps what it made.

    >>> import talweg as tf
    >>> tf.xla.experimental.compile(lambda x: x * 2.0, [3.0])[0].numpy()
    np.float32(6.0)
    """
    results = look_up("function")(computation, jit_compile=True)(
        *(() if inputs is None else inputs)
    )
    if results is None:
        return look_up("no_op")()
    parts = list(results) if isinstance(results, (list, tuple)) else [results]
    flat = all(isinstance(part, Tensor) or not hasattr(part, "__iter__") for part in parts)
    return [look_up("identity")(part) for part in parts] if flat else results


@export("xla.experimental.jit_scope")
@contextlib.contextmanager
def jit_scope(
    compile_ops: bool | Callable = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """Return a scope in a graph whose operations are compiled; here all of a function is.

    RuntimeError in eager mode.
    """
    if look_up("executing_eagerly")():
        text = "xla.experimental.jit_scope is not supported when eager execution is enabled."
        raise RuntimeError(compose("TW104", text, hint="use it inside a tf.function"))
    yield
