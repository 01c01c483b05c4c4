"""JAX, which this module alone imports: all of `execute/xla` has it from here.

Only what runs a program through XLA imports this module; then a JAX that is not there, or of a
version that talweg was not tried with, is a FailedPreconditionError that says what to install.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

from talweg.core.errors import FailedPreconditionError, compose
from talweg.execute import cache

LEAST, BELOW = (0, 10), (0, 12)  # versions of JAX: pyproject.toml says the same
WANTED = "jax>=0.10,<0.12"


def missing(found: str) -> FailedPreconditionError:
    """The error of a JAX that is not there, or is another one."""
    hint = "pip install talweg[xla]; or TALWEG_EXECUTOR=auto, which needs no JAX"
    text = compose("TW405", f"programs run through XLA by {WANTED}, and {found}", hint=hint)
    return FailedPreconditionError(None, None, text)


def check_version(version: str) -> None:
    """A FailedPreconditionError for a version of JAX that talweg was not tried with."""
    numbers = tuple([int(part) for part in version.split(".")[:2] if part.isdigit()])
    if not LEAST <= numbers < BELOW:
        raise missing(f"jax {version} is installed")


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise missing(f"none can be imported ({error})") from None


jax = _imported("jax")
check_version(jax.__version__)
lax, numpy = _imported("jax.lax"), _imported("jax.numpy")
io_callback = _imported("jax.experimental").io_callback
serialize_executable = _imported("jax.experimental.serialize_executable")
for _name in ("jax.scipy.special", "jax.scipy.linalg"):
    _imported(_name)


def wide() -> AbstractContextManager:
    """Where integers and floats of 64 bits are what they are: in this thread, not in the process.

    A user's own JAX code goes on as it was configured.
    """
    return jax.enable_x64(True)


def named(path: str) -> Callable[..., Any]:
    """A function of JAX by its dotted name below `jax`: "lax.lgamma"."""
    found = jax
    for part in path.split("."):
        found = getattr(found, part)
    return found


def text_of(function: Callable[..., Any], arguments: tuple, donated: tuple) -> Any:
    """A function traced and lowered for arguments of these kinds, for `compiled`."""
    return jax.jit(function, donate_argnums=donated).lower(*arguments)


def compiled(lowered: Any) -> Any:
    """The executable of what was lowered; from the disk if it is there."""
    key = None if cache.current() is None else _key(lowered)
    kept = None if key is None else cache.get(key)
    if kept is not None:
        try:
            return serialize_executable.deserialize_and_load(*pickle.loads(kept))
        except Exception:  # noqa: BLE001 -- of another machine, or damaged: it is made anew
            pass
    executable = lowered.compile()
    if key is not None:
        with contextlib.suppress(Exception):  # what cannot be kept is made every time
            cache.put(key, pickle.dumps(serialize_executable.serialize(executable)))
    return executable


def _key(lowered: Any) -> bytes | None:
    """What an executable is kept under; None if it is of this process only."""
    text = lowered.as_text()
    if "xla_python" in text or "xla_ffi_python" in text:  # it calls Python
        return None
    device = jax.devices()[0]
    about = (jax.__version__, device.platform, device.device_kind, len(jax.devices()))
    kind = str(lowered.args_info)  # donated or not
    return f"xla\n{about}\n{kind}\n{hashlib.sha256(text.encode()).hexdigest()}".encode()


def is_out_of_memory(error: Exception) -> bool:
    """Whether the device had too little memory."""
    return isinstance(error, jax.errors.JaxRuntimeError) and "RESOURCE_EXHAUSTED" in str(error)


def copy(array: Any) -> Any:
    """A copy of an array, on its device."""
    with wide():
        return numpy.copy(array)


def put(array: Any) -> Any:
    """A copy on the device of an array of NumPy."""
    with wide():
        return numpy.array(array)


def called_wide(executable: Callable[..., Any]) -> Callable[..., Any]:
    """An executable to which NumPy's arrays of 64 bits are given."""

    def call(donated: tuple, given: tuple) -> Any:
        with wide():
            return executable(donated, given)

    return call
