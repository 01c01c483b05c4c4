"""Variables that begin with values of a checkpoint: init_from_checkpoint and warm_start."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, look_up
from talweg.compat_v1.train.checkpoints import checkpoint_path
from talweg.compat_v1.train.slots import name_of
from talweg.core.errors import type_error, value_error
from talweg.eager.graph_variable import GraphVariable
from talweg.eager.variable import Variable
from talweg.formats.bundle.reader import Bundle

if TYPE_CHECKING:
    pass


@export("compat.v1.train.init_from_checkpoint")
def init_from_checkpoint(ckpt_dir_or_file: object, assignment_map: Any) -> None:
    """Let variables begin with values of a checkpoint instead of their initializers' values.

    assignment_map: from names in the checkpoint to variables, to their names, or, where both end in
    a slash, from a scope to a scope ("/": everything); a dictionary or pairs.  It must be called
    before the variables are initialized; eager variables are set at once.  ValueError for a name
    that is not there, or where shapes or dtypes differ; nothing is changed then.

    >>> import tempfile
    >>> import talweg.compat.v1 as tf
    >>> with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
    ...     v, w = tf.Variable(3.0, name="v"), tf.Variable(4.0, name="w")
    ...     with tf.Session() as session:
    ...         session.run(tf.global_variables_initializer())
    ...         path = tf.train.Saver([v]).save(session, folder + "/model")
    ...     tf.train.init_from_checkpoint(path, {"v": "w"})
    ...     with tf.Session() as session:
    ...         session.run(w.initializer)
    ...         print(session.run(w))
    3.0
    """
    bundle = Bundle(checkpoint_path(ckpt_dir_or_file))
    pairs = assignment_map.items() if isinstance(assignment_map, dict) else assignment_map
    wanted = [pair for key, target in pairs for pair in _expand_item(bundle, key, target)]
    _begin_with(bundle, wanted)


def _begin_with(bundle: Bundle, wanted: list[tuple[str, Any]]) -> None:
    """Check all pairs of a name in the checkpoint and a variable, then set the variables."""
    values = []
    for key, variable in wanted:
        entry = bundle.entries.get(key)
        if entry is None:
            raise value_error(
                "TW507",
                f"Tensor {key} is not found in {bundle.prefix} checkpoint",
                hint="tf.train.list_variables(path) names what is there",
            )
        if not variable.shape.is_compatible_with(entry.dims):
            raise value_error(
                "TW507",
                f"Shape of variable {variable.name} ({variable.shape}) doesn't match with "
                f"shape of tensor {key} ({list(entry.dims)}) from checkpoint reader.",
            )
        if variable.dtype is not entry.dtype:
            raise value_error(
                "TW507",
                f"variable {variable.name} has dtype {variable.dtype.name}, tensor {key} "
                f"of the checkpoint {entry.dtype.name}",
            )
        values.append(bundle.read(key))
    for (_, variable), value in zip(wanted, values):
        if isinstance(variable, GraphVariable):
            variable.begin_with(value)
        else:
            variable.assign(value)


def _expand_item(bundle: Bundle, key: str, target: object) -> Iterator[tuple[str, Any]]:
    """Expand one item of an assignment map to variables, each with its name in the file."""
    if isinstance(target, Variable):
        yield key, target
        return
    if not isinstance(target, str):
        raise type_error(
            "TW104", f"assignment_map: {target!r} is no variable", "a variable, or a name"
        )
    by_name = {name_of(variable): variable for variable in _all_variables()}
    if not target.endswith("/"):
        if target not in by_name:
            raise value_error(
                "TW507",
                f"Assignment map with scope only name {target} should map to scope only "
                f"{key}. Should be 'scope/': 'other_scope/'."
                if key.endswith("/")
                else f"there is no variable '{target}' in the graph",
            )
        yield key, by_name[target]
        return
    if not key.endswith("/"):
        raise value_error(
            "TW507",
            f"Assignment map with scope only name {key} should map to scope only {target}."
            " Should be 'scope/': 'other_scope/'.",
        )
    inside = {name: v for name, v in by_name.items() if target == "/" or name.startswith(target)}
    for name, variable in inside.items():
        rest = name if target == "/" else name[len(target) :]
        yield rest if key == "/" else key + rest, variable


def _all_variables() -> list:
    return look_up("compat.v1.global_variables")()


@export("compat.v1.train.warm_start")
def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Any = None,
    var_name_to_prev_var_name: Any = None,
) -> None:
    """Let trained variables begin with the values of a checkpoint.

    vars_to_warm_start: a pattern for their names, a list of patterns for names of all variables, or
    a list of variables.  var_name_to_prev_var_name: other names in the checkpoint.  ValueError for
    what does not fit; vocabularies are not supported.

    >>> import tempfile
    >>> import talweg.compat.v1 as tf
    >>> with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
    ...     v = tf.Variable(3.0, name="v")
    ...     with tf.Session() as session:
    ...         session.run(v.assign(5.0).op)
    ...         path = tf.train.Saver().save(session, folder + "/model")
    ...     tf.train.warm_start(path)
    ...     with tf.Session() as session:
    ...         session.run(v.initializer)
    ...         print(session.run(v))
    5.0
    """
    if var_name_to_vocab_info:
        raise NotImplementedError("warm_start: vocabularies are not supported  [TW402]")
    bundle = Bundle(checkpoint_path(os.fspath(ckpt_to_initialize_from)))
    names = dict(var_name_to_prev_var_name or {})
    wanted = []
    for variable in _choose_variables(vars_to_warm_start):
        own = name_of(variable)
        wanted.append((names.pop(own, own), variable))
    if names:
        raise value_error(
            "TW507", f"var_name_to_prev_var_name names what is not warm-started: {sorted(names)}"
        )
    _begin_with(bundle, wanted)


def _choose_variables(which: Any) -> list:
    """Return the variables to warm-start."""
    trained = look_up("compat.v1.trainable_variables")()
    if which is None:
        return []
    if isinstance(which, str):
        return [variable for variable in trained if re.match(which, name_of(variable))]
    which = list(which)
    if all(isinstance(item, str) for item in which):
        return [v for v in _all_variables() if any(re.match(item, name_of(v)) for item in which)]
    if all(isinstance(item, Variable) for item in which):
        return which
    raise value_error("TW207", f"vars_to_warm_start is {which!r}", "patterns, or variables")
