"""Modules below `tensorflow` that are not its public namespaces, made when they are imported.

Nothing here is exported under `tf.`: the modules exist only for `import tensorflow.python...` after
`as_tensorflow()`.  A private name is that of a public object (`public_names.txt`, recorded from
TensorFlow), an operation of `tf.raw_ops` under its name in Python, or stands in `contents.py`.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from talweg.api.export import implement_hook, look_up
from talweg.core.lazy import LazyModule
from talweg.core.tracking import WRAPPED
from talweg.private.contents import CONTENTS, MODULES

if TYPE_CHECKING:
    from talweg.raw import ops as raw_ops
else:
    raw_ops = LazyModule("talweg.raw.ops")

# Classes that libraries recognise by the module that TensorFlow has them in.
CLASSES = {
    "python.framework.tensor": "talweg.core.value:Tensor",
    "python.framework.sparse_tensor": "talweg.eager.composite:SparseTensor",
    "python.ops.ragged.ragged_tensor": "talweg.eager.ragged:RaggedTensor",
    "python.data.ops.dataset_ops": "talweg.pipeline.dataset:DatasetV2",
    "python.distribute.input_lib": "talweg.strategies.datasets:DistributedDataset",
}
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
PRIVATE = frozenset(("python", "core", "compiler", "tools", "dtensor"))  # below `tensorflow`
PUBLIC_NAMES = Path(__file__).with_name("public_names.txt")


@cache
def public_names() -> dict[str, dict[str, str]]:
    """Map each private module to its names that hold public objects, and these to their public
    names.
    """
    found = {}
    for line in PUBLIC_NAMES.read_text("utf-8").splitlines():
        module_name, *entries = line.split()
        pairs = [entry.rpartition("=") for entry in entries]
        found[module_name] = {own or public.rpartition(".")[2]: public for own, _, public in pairs}
    return found


@cache
def names() -> frozenset[str]:
    """List all private modules that there are, and the packages they are in."""
    modules = (*CONTENTS, *MODULES, *MESSAGES, *CLASSES, *public_names())
    return frozenset(
        [name.rsplit(".", count)[0] for name in modules for count in range(name.count(".") + 1)]
    )


@implement_hook("is_private_module")
def is_private(name: str) -> bool:
    """Return whether a name, relative to `tf`, is that of a private module that there is."""
    return name.split(".")[0] in PRIVATE and (name in names() or is_of_operations(name))


def is_of_operations(name: str) -> bool:
    """Return whether a module has operations by their names in Python:
    `python.ops.gen_sparse_ops`.
    """
    last = name.rpartition(".")[2]
    return name.startswith("python.") and last.startswith("gen_") and last.endswith("_ops")


@cache
def operations() -> dict[str, str]:
    """Return the operations of `tf.raw_ops` by their names in Python."""
    rows = raw_ops.rows()
    return {snake_case(row.name): row.name for row in rows}


def snake_case(name: str) -> str:
    """Return the name of an operation as TensorFlow's Python has it:
    `SparseReorder` -> sparse_reorder.
    """
    found = ""
    for place, letter in enumerate(name):
        following = name[place + 1 : place + 2]
        new_word = name[place - 1 : place].islower() or name[place - 1 : place].isdigit()
        if letter.isupper() and found and (new_word or following.islower()):
            found += "_" if not found.endswith("_") else ""
        found += letter.lower()
    return found


def by_position(raw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of `tf.raw_ops` that takes its arguments without names, too."""
    order = list(inspect.signature(raw).parameters)

    def call(*args: object, **kwargs: object) -> Any:
        return raw(**dict(zip(order, args)), **kwargs)

    call.__name__, call.__doc__ = raw.__name__, raw.__doc__
    return call


def find_in(module_name: str, name: str) -> Any:
    """Find the object of a private module by its name; AttributeError if there is none."""
    if name in CONTENTS.get(module_name, ()):
        return find_at(CONTENTS[module_name][name])
    if CLASSES.get(module_name, "").endswith(f":{name}"):
        return find_at(CLASSES[module_name])
    if module_name in MODULES and not name.startswith("__"):
        own = importlib.import_module(MODULES[module_name])
        if hasattr(own, name):
            return getattr(own, name)
    public = public_names().get(module_name, {}).get(name)
    # `array_ops` and its like take all names of their operations over
    if public is None and module_name.startswith("python.ops.") and name in operations():
        return by_position(look_up(f"raw_ops.{operations()[name]}"))
    return look_up(public or f"{module_name}.{name}")


recognised: list[bool] = []
_noted: set[str] = set()  # private names that were not there, and of which that has been said


def absent(name: str) -> str:
    """Explain that talweg has no such private name."""
    return (
        f"{name} is not there: talweg has only those private names of TensorFlow that libraries "
        "are known to use.  [TW402]"
    )


@implement_hook("note_absent_module")
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
        if is_private(f"{own}.{name}"):
            value: Any = module(f"{own}.{name}")
        else:
            try:
                value = find_in(own, name)
            except AttributeError:
                note_absent(f"{self.__name__}.{name}")
                raise AttributeError(absent(f"{self.__name__}.{name}")) from None
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        own = self.__name__.partition(".")[2]
        return sorted({*CONTENTS.get(own, ()), *public_names().get(own, ())})


def find_at(place: Any) -> Any:
    """Return the object of a public name, or of "module:name";
    what is no text is the object itself.
    """
    if not isinstance(place, str):
        return place
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
        find_at(place).__module__ = f"tensorflow.{module_name}"


@implement_hook("private_module")
def module(name: str) -> ModuleType:
    """Make the module ``tensorflow.<name>``."""
    if name in MESSAGES:
        try:
            return importlib.import_module(MESSAGES[name])
        except ImportError as error:
            raise ImportError(
                f"tensorflow.{name}: TensorFlow's messages come from the package tensorboard: "
                "pip install talweg[graphdef]  [TW402]"
            ) from error
    full = f"tensorflow.{name}"
    loaded = sys.modules.get(full)
    if not isinstance(loaded, PrivateModule):
        loaded = PrivateModule(full, "A private module of TensorFlow, as far as libraries use it.")
        loaded.__path__ = []
    if name.startswith("compiler."):
        # Lists, tuples and dictionaries with state that become attributes of modules are trackable
        # themselves from then on, as in TensorFlow: jax2tf makes pytrees of their classes.
        WRAPPED.update((list, tuple, dict))
    if not recognised:
        recognised.append(True)
        be_recognised()
    return loaded
