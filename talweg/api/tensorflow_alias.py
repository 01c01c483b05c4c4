"""`talweg.as_tensorflow()` makes `import tensorflow` give talweg in this process.

A finder in front of `sys.meta_path` answers for the name `tensorflow` and everything below it.  The
modules are talweg's own objects, not copies: `sys.modules["tensorflow.nn"] is talweg.nn`.  Nothing
answers before `as_tensorflow` is called, so a TensorFlow that is installed stays what it was for
programs that did not ask; where it has been imported already, two of them would meet in one
process, and that is refused.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from talweg.api.export import export, export_lazily, look_up
from talweg.api.table import NAMESPACES
from talweg.core.errors import compose
from talweg.core.hooks import hooks

KERAS = "keras._tf_keras.keras"  # Keras's namespace with the names that tf.keras has
ADAPTED = (  # modules of libraries that are given, when they are loaded, what they lack
    "keras.src.backend.tensorflow",
    "keras.src.backend.tensorflow.trainer",
    "tf2onnx.convert",
    "tf2onnx.tf_loader",
)
KERAS_TWO = "tf_keras.api._v2.keras"  # Keras 2, which is tf.keras with TF_USE_LEGACY_KERAS=1
KERAS_TWO_FIRST = "tf_keras.api._v1.keras"  # what tf.compat.v1.keras is then


class TensorFlowFinder:
    """Answers for `alias` and the modules below it with `tf.<root>` and those below it.

    A finder and loader by its methods alone: importing their base classes takes longer than talweg.
    """

    def __init__(self, alias: str, root: str = ""):
        self.alias, self.root = alias, root

    def name(self, fullname: str) -> str:
        """Return the name of a module under the alias relative to `tf`."""
        return (self.root + fullname[len(self.alias) :]).removeprefix(".")

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        """Find the spec of a module; ModuleNotFoundError for one that talweg has not.

        Not None for those: the next finder would look into talweg's own folder for it.
        """
        if fullname != self.alias and not fullname.startswith(self.alias + "."):
            if self is FINDER and fullname.startswith("tensorflow_"):
                hooks.refuse_library(fullname)
            if self is FINDER and fullname in ADAPTED:
                return hooks.adapt_library_spec(fullname, path)
            return None
        if not exists(self.name(fullname)):
            hooks.note_absent_module(f"tensorflow.{self.name(fullname)}")
            raise ModuleNotFoundError(
                compose(
                    "TW402",
                    f"No module named {fullname!r}: {self.alias} is talweg here, and talweg "
                    "has no such module yet",
                ),
                name=fullname,
            )
        loader: Any = self
        return ModuleSpec(fullname, loader, is_package=True)

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None: `exec_module` puts the existing module in place of the empty one."""

    def exec_module(self, module: ModuleType) -> None:
        """Put talweg's module in place of the empty one that was made."""
        sys.modules[module.__name__] = resolve(self.name(module.__name__))


def exists(name: str) -> bool:
    """Return whether `name`, relative to `tf`, is a module."""
    name = without_v2(name)
    head = name.split(".")[0]
    return (
        name == ""
        or name in NAMESPACES
        or head in KERAS_NAMESPACES
        or name.startswith("compat.v1.keras")
        or hooks.is_private_module(name)
    )


def resolve(name: str) -> Any:
    """Return the module of `name`, relative to `tf`."""
    name = without_v2(name)
    if name == "":
        return sys.modules["talweg"]
    if hooks.is_private_module(name):
        return hooks.private_module(name)
    own = name.removeprefix("compat.v1.") if name.startswith("compat.v1.keras") else name
    if own.split(".")[0] in KERAS_NAMESPACES:
        return keras_module(own.removeprefix("keras").removeprefix("."), own is not name)
    return look_up(name)


def without_v2(name: str) -> str:
    """Return a name as it is without `compat.v2`, which is all of `tf` once more."""
    return "" if name == "compat.v2" else name.removeprefix("compat.v2.")


export_lazily(lambda: sys.modules["talweg"], "compat.v2")
KERAS_NAMESPACES = ("keras", "optimizers", "losses", "metrics", "initializers")
FINDER = TensorFlowFinder("tensorflow")
OWN_KERAS = TensorFlowFinder("talweg.keras", "keras")  # for `from talweg.keras import layers`


@export("as_tensorflow")
def as_tensorflow() -> Any:
    """Make `import tensorflow`, and its submodules, give talweg in this process; returns talweg.

    `import keras` afterwards uses its TensorFlow backend on talweg, unless `KERAS_BACKEND` in the
    environment names another one.  ImportError if the real TensorFlow has been imported already.
    A second call changes nothing.

    >>> import talweg
    >>> talweg.as_tensorflow().__name__
    'talweg'
    >>> import tensorflow
    >>> tensorflow is talweg
    True
    """
    talweg = sys.modules["talweg"]
    present = sys.modules.get("tensorflow")
    if present is not None and present is not talweg:
        raise ImportError(
            compose(
                "TW403",
                "talweg cannot answer to the name `tensorflow`: TensorFlow itself has been "
                f"imported in this process, from {getattr(present, '__file__', 'somewhere')}",
                "a process that has imported only one of them",
                "call talweg.as_tensorflow() (or use tf.keras) before anything imports "
                "TensorFlow, or start the program with `talweg run`",
            ),
            name="tensorflow",
        )
    if FINDER not in sys.meta_path:
        sys.meta_path.insert(0, FINDER)
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    sys.modules["tensorflow"] = talweg
    return talweg


def wants_keras_two() -> bool:
    """Return whether the environment says that `tf.keras` is Keras 2, the package `tf_keras`."""
    return os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True")


def keras_two_module(name: str, first: bool) -> Any:
    """Find a module of Keras 2; `first`: as `tf.compat.v1.keras` has it."""
    root = KERAS_TWO_FIRST if first else KERAS_TWO
    try:
        return importlib.import_module(f"{root}.{name}" if name else root)
    except ModuleNotFoundError as error:
        if error.name != "tf_keras":
            raise
        raise ImportError(
            compose(
                "TW402",
                "TF_USE_LEGACY_KERAS=1 makes tf.keras the package tf_keras, which is not installed",
                hint="pip install --no-deps tf_keras",
            ),
            name="tf_keras",
        ) from None


def keras_module(name: str = "", first: bool = False) -> Any:
    """Find a module of Keras as `tf.keras` has it, Keras running on talweg; '' is `tf.keras`
    itself.

    first: as `tf.compat.v1.keras` has it, which makes a difference for Keras 2.
    """
    as_tensorflow()
    if wants_keras_two():
        return keras_two_module(name, first)
    loaded = sys.modules.get("keras")
    if loaded is None:
        os.environ["KERAS_BACKEND"] = "tensorflow"
    try:
        module = importlib.import_module(f"{KERAS}.{name}" if name else KERAS)
    except ModuleNotFoundError as error:
        if error.name != "keras":
            raise
        raise ImportError(
            compose(
                "TW402",
                "tf.keras is Keras 3, which is not installed",
                hint="pip install 'talweg[keras]'",
            ),
            name="keras",
        ) from None
    backend = sys.modules["keras"].config.backend()
    if backend != "tensorflow":
        raise ImportError(
            compose(
                "TW403",
                f"tf.keras needs Keras on its TensorFlow backend, and Keras is running on "
                f"{backend!r} in this process",
                hint="use tf.keras before `import keras`, or set KERAS_BACKEND=tensorflow",
            ),
            name="keras",
        )
    return module
