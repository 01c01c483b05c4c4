"""tf.train.Checkpoint: the state of objects to files and back, by the names of attributes."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.array.shapes import ensure_shape
from talweg.api.export import export
from talweg.api.host import numpy_function
from talweg.compat_v1.sessions.session import get_default_session
from talweg.compat_v1.train.checkpoints import STATE_FILE, CheckpointState, write_state
from talweg.core import dispatch
from talweg.core.dtypes import int64, string
from talweg.core.errors import compose, value_error
from talweg.core.tracking import AutoTrackable, Trackable, catch_up
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor
from talweg.eager.graph_variable import GraphVariable
from talweg.eager.variable import Variable
from talweg.formats.bundle.reader import Bundle
from talweg.formats.bundle.writer import write_bundle
from talweg.formats.files import make_folder
from talweg.graph.function_graph import FunctionGraph
from talweg.interop.checkpoint import object_graph as messages
from talweg.interop.checkpoint.object_graph import VALUE, Attribute, SavedObject
from talweg.interop.checkpoint.object_walk import (
    CONTAINERS,
    Survey,
    check_names,
    children,
    escape_name,
    survey,
    tensors_of,
    variable_in,
)
from talweg.interop.checkpoint.options import CheckpointOptions
from talweg.interop.checkpoint.restoring import Restoration, object_graph
from talweg.interop.checkpoint.sharding import data_files
from talweg.interop.checkpoint.slots import add_slot_variables
from talweg.interop.checkpoint.status import CheckpointLoadStatus, InitializationOnlyStatus

if TYPE_CHECKING:
    from talweg.compat_v1.sessions.session import Session


OWN = frozenset({"_held", "_counter"})  # attributes that are not children


@export("train.Checkpoint")
class Checkpoint(AutoTrackable):
    """Saves and restores objects with state (`tf.train.Checkpoint`).

    root: an object whose children are saved.  Keyword arguments: more children, by name: variables,
    modules, Keras models and optimizers, iterators, tables, and lists and dictionaries of these.
    Files are TensorFlow's own, in both directions.  Attributes decide what belongs to what, not
    names of variables; objects made after `restore` get their values when they become attributes.

    ValueError for what has no state, or if the root has another child of such a name.

    >>> import tempfile
    >>> import talweg as tf
    >>> step, net = tf.Variable(3), tf.Module()
    >>> net.w = tf.Variable([1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = tf.train.Checkpoint(step=step, net=net).save(folder + "/ckpt")
    ...     later = tf.Module()
    ...     status = tf.train.Checkpoint(step=step, net=later).restore(path)
    ...     later.w = tf.Variable([0.0, 0.0])
    >>> later.w.numpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(self, root: Any = None, **kwargs: object):
        self._counter: Any = None
        # Keras 2 has a model's checkpoint not keep the model
        self._held = root if isinstance(root, weakref.ref) else (lambda: root)
        if isinstance(root, weakref.ref):
            root = root()
        if root is not None:
            _check("root", root, (Trackable,))
            there = children(root)
            for name, value in kwargs.items():
                if there.get(name, value) is not value:
                    raise value_error(
                        "TW507",
                        f"Cannot create a Checkpoint with keyword argument {name} if "
                        f"root.{name} already exists.",
                    )
        for name, value in sorted(kwargs.items()):
            _check(name, value, (Trackable, *CONTAINERS))
            setattr(self, name, value)

    @property
    def _root(self) -> Any:
        return self._held()

    def _trackable_children(self, save_type: str = "checkpoint", **options: object) -> dict:
        found = super()._trackable_children(save_type, **options)
        return {name: child for name, child in found.items() if name not in OWN}

    # -- what is saved

    @property
    def save_counter(self) -> Variable:
        """Counts the saves: an int64 variable, which is saved, too."""
        if isinstance(self._root, Checkpoint):
            return self._root.save_counter
        if self._counter is None:
            with dispatch.eagerly():
                self._counter = Variable(0, trainable=False, name="save_counter", dtype=int64)
        return self._counter

    def survey(self) -> Survey:
        """Survey all objects that belong to it now."""
        catch_up()
        return add_slot_variables(survey(self._start, self._beside()))

    @property
    def _start(self) -> Any:
        return self if self._root is None else self._root

    def _beside(self) -> dict[str, Any]:
        """Return the children of the root that are not its own."""
        own = {} if self._root is None else children(self)
        counter = self._counter
        if isinstance(self._root, Checkpoint):
            counter = self._root._counter
        return own if counter is None else {**own, "save_counter": counter}

    # -- saving

    def save(self, file_prefix: Any, options: CheckpointOptions | None = None) -> str:
        """Write ``file_prefix-N``, N one more each time, as the folder's latest; the path.

        The file `checkpoint` beside it then names this one only; `tf.train.CheckpointManager` keeps
        several.  Where writing fails nothing has changed.
        """
        return self._save(os.fsdecode(file_prefix), None, options)

    def write(self, file_prefix: Any, options: CheckpointOptions | None = None) -> str:
        """Write a checkpoint under exactly this path, and nothing else; the path.

        In a `tf.function` it is written whenever the function runs; the path may be a tensor there.
        """
        if isinstance(dispatch.context.base, FunctionGraph):
            return self._write_in_function(file_prefix, options)
        return self._write(os.fsdecode(file_prefix), None, options)

    def _write_in_function(self, file_prefix: Any, options: CheckpointOptions | None) -> Any:
        found = self.survey()
        check_names(found)
        nodes, tensors = describe(found, None, tracing=True)
        names, message = list(tensors), np.array(messages.encode(nodes), object)

        def write(path: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
            written = {**dict(zip(names, arrays)), messages.KEY: message}
            self._write_files(os.fsdecode(np.asarray(path).item()), written, options, {})
            return path

        if not isinstance(file_prefix, Tensor):
            file_prefix = convert_to_tensor(os.fsdecode(file_prefix))
        return ensure_shape(numpy_function(write, [file_prefix, *tensors.values()], string), [])

    def _save(self, prefix: str, session: Any, options: Any) -> str:
        _outside_functions()
        path = self.write_numbered(
            lambda number: self._write(f"{prefix}-{number}", session, options)
        )
        folder = os.path.dirname(path)
        name = os.path.basename(path)
        write_state(os.path.join(folder, STATE_FILE), CheckpointState(name, [name]))
        return path

    def write_numbered(self, write: Any) -> str:
        """Call `write(number of this save)`; the counter goes back where that fails."""
        with dispatch.eagerly():
            before = self.save_counter.numpy()
            self.save_counter.assign_add(1)
        try:
            return write(int(before) + 1)
        except BaseException:
            with dispatch.eagerly():
                self.save_counter.assign(before)
            raise

    def _write(self, path: str, session: Any, options: CheckpointOptions | None) -> str:
        found = self.survey()
        check_names(found)
        nodes, tensors = describe(found, session)
        tensors[messages.KEY] = np.array(messages.encode(nodes), object)
        owners = {
            each.key: obj for node, obj in zip(nodes, found.objects) for each in node.attributes
        }
        self._write_files(path, tensors, options, owners)
        return path

    def _write_files(
        self, path: str, tensors: dict, options: CheckpointOptions | None, owners: dict
    ) -> None:
        with dispatch.eagerly():
            parts = data_files(tensors, owners, options)
        make_folder(os.path.dirname(path))
        write_bundle(path, tensors, parts)
        if options is not None:
            options.run_callbacks(path)

    def sync(self) -> None:
        """Wait for writing that was begun: nothing is deferred here."""

    # -- restoring

    def restore(self, save_path: Any, options: CheckpointOptions | None = None) -> Any:
        """Give the objects the values that `save` wrote; a status, which can be asked about it.

        save_path: what `save` returned, or `tf.train.latest_checkpoint(folder)`; None does nothing.
        Objects that are made later get their values as they become attributes.  NotFoundError if
        there is no such checkpoint, ValueError for other shapes, InvalidArgumentError for other
        dtypes, DataLossError for damaged files; nothing has changed then.
        """
        if save_path is not None:
            _ = self.save_counter  # it is restored, too
        return self.read(save_path, options)

    def read(self, save_path: Any, options: CheckpointOptions | None = None) -> Any:
        """Restore the values that `write` wrote: the counter of saves is left alone."""
        if save_path is None:
            return InitializationOnlyStatus(self)
        catch_up()
        bundle = Bundle(os.fsdecode(save_path))
        if messages.KEY in bundle.entries:
            nodes = messages.decode(object_graph(bundle, messages.KEY))
        else:
            nodes = _by_name(self.survey(), bundle)
        restoration = Restoration(bundle, nodes)
        try:
            restoration.bind(0, self._start, self._beside())
        except BaseException:
            restoration.quiet = True
            raise
        return CheckpointLoadStatus(self, restoration)


@export("compat.v1.train.Checkpoint")
class CheckpointV1(Checkpoint):
    """`tf.train.Checkpoint` for variables of a graph, too, whose values are in a session.

    >>> import tempfile
    >>> import talweg.compat.v1 as tf
    >>> with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
    ...     v = tf.Variable(2.0)
    ...     checkpoint = tf.train.Checkpoint(v=v)
    ...     with tf.Session() as session:
    ...         session.run(v.initializer)
    ...         path = checkpoint.save(folder + "/ckpt", session)
    ...     with tf.Session() as session:
    ...         status = checkpoint.restore(path).initialize_or_restore(session)
    ...         print(session.run(v))
    2.0
    """

    def __init__(self, **kwargs: object):
        super().__init__(**kwargs)

    def save(self, file_prefix: Any, session: Session | None = None, options: Any = None) -> str:
        """Save as `tf.train.Checkpoint.save`; values of a graph's variables come from the
        session.
        """
        return self._save(os.fsdecode(file_prefix), session, options)

    def write(self, file_prefix: Any, session: Session | None = None, options: Any = None) -> str:
        """Write as `tf.train.Checkpoint.write`; values of a graph's variables come from the
        session.
        """
        return self._write(os.fsdecode(file_prefix), session, options)


def _check(name: str, value: object, kinds: tuple) -> None:
    if not isinstance(value, kinds):
        raise value_error(
            "TW507",
            f"`Checkpoint` was expecting {name} to be a trackable object (an object "
            f"derived from `Trackable`), got {value}.",
            "a variable, a module, a Keras model, ...",
        )


def _outside_functions() -> None:
    if isinstance(dispatch.context.base, FunctionGraph):
        raise NotImplementedError(
            compose(
                "TW507",
                "tf.train.Checkpoint.save() was called inside a tf.function, where it would count "
                "once, while the function is traced",
                hint="checkpoint.write(path), or save between the function's calls",
            )
        )


def describe(
    reached: Survey, session: Any, tracing: bool = False
) -> tuple[list[SavedObject], dict[str, Any]]:
    """Describe the saved objects, and their tensors as arrays by key, as of one moment.

    tracing: the tensors are those of the graph in force.
    """
    nodes: list[SavedObject] = []
    tensors: dict[str, Any] = {}
    symbolic: dict[str, Any] = {}
    for number, obj in enumerate(reached.objects):
        node = SavedObject(reached.children[number], slots=reached.slots.get(number, []))
        nodes.append(node)
        variable = variable_in(obj)
        if variable is not None:
            key = reached.key(number, VALUE)
            node.attributes.append(Attribute(VALUE, variable._shared_name, key))
            if tracing:
                tensors[key] = variable.value()
            elif isinstance(variable, GraphVariable):
                symbolic[key] = variable
            else:
                tensors[key] = variable.handle_read().numpy()
            continue
        if tracing:
            parts = tensors_of(obj)
        else:
            with dispatch.eagerly():
                parts = {n: np.asarray(tensor) for n, tensor in tensors_of(obj).items()}
        _add_parts(
            node, parts, getattr(obj, "_checkpoint_attribute", None), reached, number, tensors
        )
    if symbolic:
        session = session or get_default_session()
        if session is None:
            raise RuntimeError(
                "Variables of a graph are saved in a session: give one, or enter it.  [TW507]"
            )
        tensors.update(session.run(symbolic))
    return nodes, tensors


def _add_parts(
    node: SavedObject, parts: dict, whole: str | None, found: Survey, number: int, tensors: dict
) -> None:
    """Note the tensors of an object that serializes itself."""
    if whole is not None and parts:
        key = found.key(number, whole)
        node.attributes.append(Attribute(whole, "", key))
        tensors.update({key + name: array for name, array in parts.items()})
        return
    for name, array in parts.items():
        key = found.key(number, escape_name(name))
        node.attributes.append(Attribute(escape_name(name), "", key))
        tensors[key] = array


def _by_name(reached: Survey, bundle: Bundle) -> list[SavedObject]:
    """Name the objects of a program as a checkpoint of tf.compat.v1.train.Saver would have them.

    Such a checkpoint knows names of variables only; what no variable is called is left.
    """
    nodes, known = [], set()
    for obj, edges in zip(reached.objects, reached.children):
        node = SavedObject(edges)
        variable = variable_in(obj)
        if variable is not None and variable._shared_name in bundle.entries:
            name = variable._shared_name
            known.add(name)
            node.attributes.append(Attribute(VALUE, name, name))
        nodes.append(node)
    left = sorted(set(bundle.entries) - known)
    return nodes + [SavedObject([], [Attribute(VALUE, name, name)]) for name in left]
