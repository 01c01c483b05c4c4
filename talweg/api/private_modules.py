"""Modules below `tensorflow` that are not its public namespaces, as far as Keras imports them.

Nothing here is exported under `tf.`: the modules exist only for `import tensorflow.python...` after
`as_tensorflow()`.  Each is a table of names: talweg's public ones, or what is defined here.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from talweg.api.export import look_up


def async_wait() -> None:
    """Wait for work that was begun: nothing is deferred here."""


class Context:
    """What runs operations, as `context()` gives it."""

    def clear_kernel_cache(self) -> None:
        """Forget prepared kernels: there are none, an operation is a call of NumPy."""

    def executing_eagerly(self) -> bool:
        """Whether operations run at once."""
        return look_up("executing_eagerly")()


CONTEXT = Context()


def context() -> Context:
    """The context of this process."""
    return CONTEXT


def is_op_determinism_enabled() -> bool:
    """Whether results are the same each time, at the price of speed: they are, at none."""
    return False


class ListWrapper(list):
    """A tracked list.  talweg tracks lists as they are, so that no value is one of these."""


class DictWrapper(dict):
    """A tracked dictionary.  talweg tracks dictionaries as they are."""


# Module -> its names.  A text is the public name of the object, or where it is: "module:name".
CONTENTS: dict[str, dict[str, Any]] = {
    "python.eager.context": {"async_wait": async_wait, "context": context},
    "python.ops.math_ops": {"is_nan": "math.is_nan"},
    "python.ops.linalg.sparse.sparse_csr_matrix_ops": {
        name: f"talweg.api.sparse.products:{name}"
        for name in (
            "sparse_tensor_to_csr_sparse_matrix",
            "csr_sparse_matrix_to_sparse_tensor",
            "sparse_matrix_sparse_mat_mul",
        )
    },
    "python.framework.config": {"is_op_determinism_enabled": is_op_determinism_enabled},
    "python.trackable.data_structures": {"ListWrapper": ListWrapper, "_DictWrapper": DictWrapper},
    "compiler.tf2xla.python.xla": {
        "dynamic_update_slice": "talweg.api.array.writing:placed_by_xla"
    },
}
NAMES = frozenset(
    name.rsplit(".", count)[0] for name in CONTENTS for count in range(name.count(".") + 1)
)


class PrivateModule(ModuleType):
    """A module of `CONTENTS`, or a package that leads to one."""

    def __getattr__(self, name: str) -> Any:
        own = self.__name__.partition(".")[2]
        value = CONTENTS.get(own, {}).get(name)
        if value is None:
            raise AttributeError(
                f"{self.__name__}.{name} is not there: talweg has only those private names of "
                "TensorFlow that Keras uses.  [TW402]"
            )
        if isinstance(value, str):
            place, _, own_name = value.rpartition(":")
            found = importlib.import_module(place) if place else None
            value = getattr(found, own_name) if found else look_up(value)
        setattr(self, name, value)
        return value


def module(name: str) -> PrivateModule:
    """The module ``tensorflow.<name>``."""
    full = f"tensorflow.{name}"
    found = sys.modules.get(full)
    if not isinstance(found, PrivateModule):
        found = PrivateModule(full, "A private module of TensorFlow, as far as Keras needs it.")
        found.__path__ = []
    return found
