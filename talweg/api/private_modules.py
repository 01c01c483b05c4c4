"""Modules below `tensorflow` that are not its public namespaces, as far as libraries import them.

Nothing here is exported under `tf.`: the modules exist only for `import tensorflow.python...` after
`as_tensorflow()`.  Each is a table of names: talweg's public ones, or what is defined here.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

from talweg.api.export import look_up
from talweg.core.lazy import LazyModule

if TYPE_CHECKING:
    from talweg.api import config
else:
    config = LazyModule("talweg.api.config")


def async_wait() -> None:
    """Wait for work that was begun: nothing is deferred here."""


class EagerContext:
    """What runs operations, as `context()` gives it."""

    def clear_kernel_cache(self) -> None:
        """Forget prepared kernels: there are none, an operation is a call of NumPy."""

    def executing_eagerly(self) -> bool:
        """Whether operations run at once."""
        return look_up("executing_eagerly")()


CONTEXT = EagerContext()


def reset_context() -> None:
    """Begin anew with devices as they were when the program started."""
    config.settings.logical = None


def context() -> EagerContext:
    """The context of this process."""
    return CONTEXT


@contextmanager
def silence() -> Iterator[None]:
    """A context without warnings of what TensorFlow will drop: there are none of these here."""
    yield


class ListWrapper(list):
    """A tracked list.  talweg tracks lists as they are, so that no value is one of these."""


class DictWrapper(dict):
    """A tracked dictionary.  talweg tracks dictionaries as they are."""


DictWrapper.__name__ = DictWrapper.__qualname__ = "_DictWrapper"  # messages show it


# Module -> its names.  A text is the public name of the object, or where it is: "module:name".
CONTENTS: dict[str, dict[str, Any]] = {
    "python.eager.context": {
        "async_wait": async_wait,
        "context": context,
        "_reset_context": reset_context,
        "executing_eagerly": "executing_eagerly",
        "global_seed": "talweg.eager.randomness:global_seed",
    },
    "python.framework.ops": {"get_default_graph": "compat.v1.get_default_graph"},
    "python.util.deprecation": {"silence": silence},  # TensorBoard, where it reads files
    "python.ops.math_ops": {"is_nan": "math.is_nan"},
    "python.ops.linalg.sparse.sparse_csr_matrix_ops": {
        name: f"talweg.api.sparse.products:{name}"
        for name in (
            "sparse_tensor_to_csr_sparse_matrix",
            "csr_sparse_matrix_to_sparse_tensor",
            "sparse_matrix_sparse_mat_mul",
        )
    },
    "python.framework.config": {
        name: f"talweg.api.config:{name}"
        for name in (
            "is_op_determinism_enabled",
            "enable_op_determinism",
            "disable_op_determinism",
        )
    },
    "python.framework.type_spec_registry": {
        name: f"talweg.api.names.spec:{name}" for name in ("get_name", "lookup")
    },
    "python.framework.tensor_util": {
        "constant_value": "get_static_value",
        "is_tf_type": "is_tensor",
    },
    "python.data.experimental.ops.distribute": {
        "compute_batch_size": "talweg.pipeline.batch_size:compute_batch_size"
    },
    "python.lib.io.tf_record": {
        "tf_record_iterator": "compat.v1.io.tf_record_iterator",
        "TFRecordWriter": "io.TFRecordWriter",
        "TFRecordOptions": "io.TFRecordOptions",
    },
    "python.trackable.data_structures": {"ListWrapper": ListWrapper, "_DictWrapper": DictWrapper},
    "compiler.tf2xla.python.xla": {
        "dynamic_update_slice": "talweg.api.array.writing:placed_by_xla"
    },
}
# Classes that libraries recognise by the module that TensorFlow has them in.
CLASSES = {
    "python.framework.tensor": "talweg.core.value:Tensor",
    "python.framework.sparse_tensor": "talweg.eager.composite:SparseTensor",
    "python.ops.ragged.ragged_tensor": "talweg.eager.ragged:RaggedTensor",
    "python.data.ops.dataset_ops": "talweg.pipeline.dataset:DatasetV2",
    "python.distribute.input_lib": "talweg.api.distribute.datasets:DistributedDataset",
}
for _module, _place in CLASSES.items():
    CONTENTS[_module] = {_place.rpartition(":")[2]: _place}
# Modules of TensorFlow's messages, of which tensorboard (an optional package) has copies.
MESSAGES = {
    f"core.{folder}.{name}_pb2": f"tensorboard.compat.proto.{name}_pb2"
    for folder, names in {
        "framework": "attr_value cost_graph function graph node_def op_def resource_handle "
        "step_stats summary tensor tensor_shape types variable versions",
        "protobuf": "cluster config debug meta_graph saved_object_graph saver struct "
        "trackable_object_graph verifier_config",
        "util": "event",
    }.items()
    for name in names.split()
}
PRIVATE = frozenset(("python", "core", "compiler"))  # below `tensorflow`: not for its users
NAMES = frozenset(
    name.rsplit(".", count)[0]
    for name in (*CONTENTS, *MESSAGES)
    for count in range(name.count(".") + 1)
)


recognised: list[bool] = []
_noted: set[str] = set()  # private names that were not there, and of which that has been said


def absent(name: str) -> str:
    """What is said of a private name that talweg has not."""
    return (
        f"{name} is not there: talweg has only those private names of TensorFlow that Keras and a "
        "few other libraries use.  [TW402]"
    )


def note_absent(name: str) -> None:
    """Warn, once, of a private name that is not there.

    Many libraries catch the ImportError, and go on without a part of what they do.
    """
    parts = name.split(".")
    if name in _noted or parts[1] not in PRIVATE or parts[-1].startswith("__"):
        return
    _noted.add(name)
    text = "%s  A library that catches this error leaves something out."
    logging = importlib.import_module("logging")  # not loaded by `import talweg`
    logging.getLogger("talweg").warning(text, absent(name))


class PrivateModule(ModuleType):
    """A module of `CONTENTS`, or a package that leads to one or to one of `MESSAGES`."""

    def __getattr__(self, name: str) -> Any:
        own = self.__name__.partition(".")[2]
        value = CONTENTS.get(own, {}).get(name)
        if value is None:
            if f"{own}.{name}" not in NAMES:
                note_absent(f"{self.__name__}.{name}")
            raise AttributeError(absent(f"{self.__name__}.{name}"))
        value = found_at(value) if isinstance(value, str) else value
        setattr(self, name, value)
        return value


def found_at(place: str) -> Any:
    """The object of a public name, or of "module:name"."""
    module_name, _, name = place.rpartition(":")
    if not module_name:
        return look_up(name)
    return getattr(importlib.import_module(module_name), name)


def be_recognised() -> None:
    """Give the classes in `CLASSES` the modules by which libraries look for them.

    Done when a library first imports a private module of TensorFlow, and not before: pickles name
    classes by their modules, and these modules exist from then on.
    """
    for module_name, place in CLASSES.items():
        found_at(place).__module__ = f"tensorflow.{module_name}"


def module(name: str) -> ModuleType:
    """The module ``tensorflow.<name>``."""
    if name in MESSAGES:
        try:
            return importlib.import_module(MESSAGES[name])
        except ImportError as error:
            raise ImportError(
                f"tensorflow.{name}: TensorFlow's messages come from the package tensorboard: "
                "pip install talweg[graphdef]  [TW402]"
            ) from error
    full = f"tensorflow.{name}"
    found = sys.modules.get(full)
    if not isinstance(found, PrivateModule):
        found = PrivateModule(full, "A private module of TensorFlow, as far as Keras needs it.")
        found.__path__ = []
    if not recognised:
        recognised.append(True)
        be_recognised()
    return found
