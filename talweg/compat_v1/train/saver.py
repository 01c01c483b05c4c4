"""tf.train.Saver: variables of a session to checkpoints and back."""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import export, look_up
from talweg.compat_v1.partitions import PartitionedVariable, join_parts
from talweg.compat_v1.sessions.session import get_default_session
from talweg.compat_v1.train.checkpoints import (
    CheckpointState,
    checkpoint_exists,
    generate_checkpoint_state_proto,
    get_checkpoint_mtimes,
    remove_checkpoint,
    value_for,
    write_state,
)
from talweg.core import dispatch
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import as_shape
from talweg.eager.graph_variable import GraphVariable
from talweg.eager.variable import Variable
from talweg.formats.bundle.reader import Bundle
from talweg.formats.bundle.writer import write_bundle
from talweg.graph.symbol import Symbol

if TYPE_CHECKING:
    from talweg.compat_v1.sessions.session import Session


SAVEABLE_OBJECTS = "saveable_objects"


@export("compat.v1.train.Saver")
class Saver:
    """Saves variables to checkpoints and restores them (`tf.compat.v1.train.Saver`).

    var_list: a list of variables, or a dictionary from the names they have in checkpoints; all
    variables of the graph by default.  At most `max_to_keep` checkpoints are kept (None or 0: all);
    of those that go, one for every `keep_checkpoint_every_n_hours` stays.  `reshape` accepts saved
    values of another shape with as many elements.  A `saver_def` brings these two numbers with it.
    The other arguments are accepted.

    Checkpoints are TensorFlow's own (format V2), in both directions.  A variable in parts is saved
    as a whole, under its name, which TensorFlow restores parts from.

    >>> import tempfile
    >>> import talweg.compat.v1 as tf
    >>> with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
    ...     v = tf.Variable([1.0, 2.0], name="v")
    ...     saver = tf.train.Saver()
    ...     with tf.Session() as session:
    ...         session.run(v.initializer)
    ...         path = saver.save(session, folder + "/model", global_step=3)
    ...     with tf.Session() as session:
    ...         saver.restore(session, path)
    ...         print(path.endswith("/model-3"), session.run(v))
    True [1. 2.]
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: Any = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ):
        if saver_def is not None:
            max_to_keep = saver_def.max_to_keep
            keep_checkpoint_every_n_hours = saver_def.keep_checkpoint_every_n_hours
        if var_list is None and dispatch.context.base is None and not defer_build:
            raise RuntimeError(
                "When eager execution is enabled, `var_list` must specify a list or dict of "
                "variables to save  [TW507]"
            )
        self._var_list, self._reshape, self._allow_empty = var_list, reshape, allow_empty
        self._max_to_keep = max_to_keep or 0
        self._keep_hours = keep_checkpoint_every_n_hours
        self._pad_step_number = pad_step_number
        self._relative = save_relative_paths
        self._variables: dict[str, Any] | None = None
        self._last: list[tuple[str, float]] = []
        self._next_kept = time.time() + self._keep_hours * 3600
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Settle which variables are meant; ValueError if there are none."""
        if self._variables is not None:
            return
        wanted = self._var_list
        if wanted is None:
            wanted = look_up("compat.v1.global_variables")()
            wanted = [*wanted, *look_up("compat.v1.get_collection")(SAVEABLE_OBJECTS)]
        if not wanted and not self._allow_empty:
            raise value_error("TW507", "No variables to save")
        self._variables = name_variables(wanted)

    def _all(self) -> dict[str, Any]:
        if self._variables is None:
            raise RuntimeError("The saver was made with defer_build: call build() first.  [TW507]")
        return self._variables

    # -- saving

    def save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str:
        """Write a checkpoint; its path, which is `save_path` with the step behind it.

        FailedPreconditionError for variables without a value, TypeError if `sess` is no session,
        ValueError if the folder does not exist.  Nothing is changed where it fails.
        """
        variables = self._all()
        path = os.fspath(save_path)
        if latest_filename is not None and os.path.split(latest_filename)[0]:
            raise value_error("TW507", "'latest_filename' must not contain path components")
        if not path:
            raise value_error("TW507", "no path specified")
        in_graph = dispatch.context.base is not None or any(map(_in_graph, variables.values()))
        if in_graph and not hasattr(sess, "run"):
            raise type_error("TW507", f"'sess' must be a Session; {sess}")
        prefix = path if global_step is None else f"{path}-{self._step(sess, global_step)}"
        if os.path.basename(path) == (latest_filename or "checkpoint"):
            raise value_error(
                "TW507", f"'latest_filename' collides with 'save_path': {path!r}", "another name"
            )
        values = _values(sess, variables)
        _make_folder(path)
        write_bundle(prefix, values)
        if write_state:
            self._note(prefix, path, latest_filename, meta_graph_suffix)
        if write_meta_graph and in_graph:
            _write_meta_graph(self, sess, f"{prefix}.{meta_graph_suffix}")
        return prefix

    def _step(self, session: Session, step: Any) -> str:
        if isinstance(step, (Symbol, GraphVariable, str)):
            step = session.run(step)
        return f"{int(step):08d}" if self._pad_step_number else f"{int(step):d}"

    def _note(self, prefix: str, path: str, latest_filename: str | None, suffix: str) -> None:
        """Let old checkpoints go, and write the file `checkpoint`."""
        kept = [pair for pair in self._last if pair[0] != prefix] + [(prefix, time.time())]
        gone = []
        while 0 < self._max_to_keep < len(kept):
            gone.append(kept.pop(0))
        folder = os.path.dirname(path)
        paths = [known for known, _ in kept]
        state = generate_checkpoint_state_proto(folder, prefix, paths)
        if self._relative:
            state = CheckpointState(
                os.path.relpath(prefix, folder or "."),
                [os.path.relpath(known, folder or ".") for known in paths],
            )
        write_state(os.path.join(folder, latest_filename or "checkpoint"), state)
        self._last = kept
        for known, written in gone:
            if written > self._next_kept:
                self._next_kept += self._keep_hours * 3600
            else:
                remove_checkpoint(known, meta_graph_suffix=suffix)

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of the checkpoints kept, oldest first."""
        return [path for path, _ in self._last]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: list) -> None:
        """Say which checkpoints there are, (path, seconds) oldest first."""
        self._last = [
            (os.fspath(path), float(seconds)) for path, seconds in last_checkpoints_with_time
        ]

    def set_last_checkpoints(self, last_checkpoints: list) -> None:
        """Say which checkpoints there are, oldest first."""
        self._last = [(os.fspath(path), 0.0) for path in last_checkpoints]

    def recover_last_checkpoints(self, checkpoint_paths: list) -> None:
        """Take over the checkpoints of an earlier saver; those that are gone are left out."""
        there = [os.fspath(path) for path in checkpoint_paths if checkpoint_exists(path)]
        self._last = list(zip(there, get_checkpoint_mtimes(there)))

    def as_saver_def(self) -> Any:
        """Describe its settings as a SaverDef message, with TensorFlow's names of its
        operations.
        """
        return look_up("compat.v1.train.SaverDef")(
            filename_tensor_name="save/Const:0",
            save_tensor_name="save/control_dependency:0",
            restore_op_name="save/restore_all",
            max_to_keep=self._max_to_keep,
            keep_checkpoint_every_n_hours=self._keep_hours,
            version=2,
        )

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Do the same as `as_saver_def`."""
        return self.as_saver_def()

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """Return a saver of all variables of the graph, with the settings of a SaverDef."""
        return Saver(saver_def=saver_def)

    def export_meta_graph(self, filename: str | None = None, **options: object) -> Any:
        """Return the graph with its collections as a MetaGraphDef; also written to `filename`."""
        return look_up("compat.v1.train.export_meta_graph")(filename=filename, **options)

    # -- restoring

    def restore(self, sess: Any, save_path: Any) -> None:
        """Give the variables the values of a checkpoint: all of them, or none where it fails.

        ValueError if there is no such checkpoint, NotFoundError if a variable is missing in it,
        InvalidArgumentError if one does not fit, DataLossError if it is damaged.
        """
        if not self._all():
            return
        if save_path is None:
            raise value_error("TW507", "Can't load save_path when it is None.")
        path = os.fspath(save_path)
        if not checkpoint_exists(path):
            raise value_error("TW507", f"The passed save_path is not a valid checkpoint: {path}")
        bundle = Bundle(path)
        values_read = [
            (variable, self._fitting(bundle, name, variable))
            for name, variable in self._all().items()
        ]
        for variable, value in values_read:
            _give(sess, variable, value)

    def _fitting(self, bundle: Bundle, name: str, variable: Any) -> np.ndarray:
        entry = bundle.entries.get(name)
        shape = variable.shape
        if self._reshape and entry is not None and shape.num_elements() == math.prod(entry.dims):
            saved = value_for(bundle, name, variable.dtype, as_shape(entry.dims), variable.name)
            return saved.reshape(shape.as_tuple())
        return value_for(bundle, name, variable.dtype, shape, variable.name)


def name_variables(wanted: Any) -> dict[str, Any]:
    """Name variables as in a checkpoint; TypeError, ValueError for objects that cannot be
    saved.
    """
    if not isinstance(wanted, (dict, list, tuple, set)):
        raise type_error(
            "TW507", f"Variables to save should be passed in a dict or a list. Got {wanted}"
        )
    if isinstance(wanted, dict):
        pairs = list(wanted.items())
    else:
        pairs = [(_own_name(variable), variable) for variable in _put_together(wanted)]
    named: dict[str, Any] = {}
    for name, variable in pairs:
        if not isinstance(variable, (Variable, PartitionedVariable)):
            raise type_error(
                "TW507",
                "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not "
                f"a variable: {variable}",
            )
        if name in named:
            raise value_error("TW507", f"At least two variables have the same name: {name}")
        if any(variable is other for other in named.values()):
            raise value_error("TW507", f"The same saveable will be restored with two names: {name}")
        named[name] = variable
    return named


def _put_together(wanted: Any) -> list:
    """Put variables that are all parts of a whole together as that whole."""
    wholes: dict[Any, Any] = {}
    for variable in wanted:
        info = getattr(variable, "_save_slice_info", None)
        if info is None:
            wholes[id(variable)] = variable
        else:
            wholes.setdefault(info.full_name, []).append(variable)
    together: list = []
    for name, parts in wholes.items():
        whole = join_parts(name, parts) if isinstance(parts, list) else None
        if whole is not None:
            together.append(whole)
        else:
            together += parts if isinstance(parts, list) else [parts]
    return together


def _own_name(variable: Any) -> str:
    if isinstance(variable, PartitionedVariable):
        return variable.name
    if not isinstance(variable, Variable):
        raise type_error("TW507", f"Not a variable: {variable!r}", "a tf.Variable")
    return variable._shared_name


def _in_graph(variable: Any) -> bool:
    """Return whether a variable is one of a graph, or in parts that are."""
    first = next(iter(variable)) if isinstance(variable, PartitionedVariable) else variable
    return isinstance(first, GraphVariable)


def _values(session: Any, variables: dict[str, Any]) -> dict[str, Any]:
    """Return the values of all variables, as of one moment."""
    parts = {
        n: list(v) if isinstance(v, PartitionedVariable) else [v] for n, v in variables.items()
    }
    symbolic = {n: own for n, own in parts.items() if _in_graph(own[0])}
    values = dict(session.run(symbolic)) if symbolic else {}
    for name, own in parts.items():
        found = values[name] if name in values else [v.numpy() for v in own]
        axis = getattr(variables[name], "axis", 0)
        values[name] = found[0] if len(found) == 1 else np.concatenate(found, axis)
    return {name: values[name] for name in variables}


def _give(session: Session, variable: Any, value: np.ndarray) -> None:
    if isinstance(variable, PartitionedVariable):
        ends = np.cumsum([part.shape.as_list()[variable.axis] for part in variable])
        for part, own in zip(variable, np.split(value, ends[:-1], variable.axis)):
            _give(session, part, own)
    elif isinstance(variable, GraphVariable):
        variable.load(value, session or get_default_session())
    else:
        variable.assign(value)


def _make_folder(path: str) -> None:
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        try:
            os.mkdir(folder)
        except (FileNotFoundError, NotADirectoryError, FileExistsError):
            raise value_error(
                "TW507", f"Parent directory of {path} doesn't exist, can't save."
            ) from None


def _write_meta_graph(saver: Saver, session: Session, path: str) -> None:
    """Write the graph beside the checkpoint, where its export is there (an extra)."""
    try:
        export_graph = look_up("compat.v1.train.export_meta_graph")
        with session.graph.as_default():
            export_graph(filename=path)
    except (ImportError, NotImplementedError):
        return
