"""Modules below `tensorflow` that are not its public namespaces, as far as Keras imports them.

Nothing here is exported under `tf.`: the modules exist only for `import tensorflow.python...` after
`as_tensorflow()`.  Each is a table of names: talweg's public ones, or what is defined here.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from talweg.api.export import look_up


def async_wait() -> None:
    """Wait for work that was begun: nothing is deferred here."""


class ListWrapper(list):
    """A tracked list.  talweg tracks lists as they are, so that no value is one of these."""


class DictWrapper(dict):
    """A tracked dictionary.  talweg tracks dictionaries as they are."""


# Module -> its names; a text is the public name of the object.
CONTENTS: dict[str, dict[str, Any]] = {
    "python.eager.context": {"async_wait": async_wait},
    "python.ops.math_ops": {"is_nan": "math.is_nan"},
    "python.ops.linalg.sparse.sparse_csr_matrix_ops": {},
    "python.framework.config": {
        "is_op_determinism_enabled": "config.experimental.is_op_determinism_enabled"
    },
    "python.trackable.data_structures": {"ListWrapper": ListWrapper, "_DictWrapper": DictWrapper},
    "compiler.tf2xla.python.xla": {},
    "experimental.dtensor": {},
}  # fmt: skip
NAMES = frozenset(
    name.rsplit(".", count)[0] for name in CONTENTS for count in range(name.count(".") + 1)
) - {"experimental"}


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
        value = look_up(value) if isinstance(value, str) else value
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
