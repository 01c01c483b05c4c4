"""tf.compat.v1.nn: recurrent networks unrolled over a list of inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.array.creating import zeros
from talweg.api.array.joining import concat, stack, unstack
from talweg.api.array.rearranging import reverse_sequence
from talweg.api.array.shapes import reshape
from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.api.tensors import cast
from talweg.compat_v1.rnn.cells import check_cell, state_dtype
from talweg.compat_v1.variable_scopes import variable_scope
from talweg.core.dtypes import int32
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import as_shape
from talweg.eager.convert import convert_to_tensor
from talweg.graph import structure
from talweg.prims.arithmetic import greater_equal, select

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike
    from talweg.core.dims import Size
    from talweg.core.value import Tensor


def as_tensors(nest: object) -> Any:
    """Return a nest with tensors as leaves; a TensorArray stays as it is."""
    return structure.map_leaves(lambda x: x if hasattr(x, "stack") else convert_to_tensor(x), nest)


def first_state(cell: Any, initial_state: object, batch_size: object, dtype: object) -> Any:
    """Return the state to begin with; ValueError without an initial state and dtype."""
    if initial_state is not None:
        return as_tensors(initial_state)
    if dtype is None:
        raise value_error("TW401", "If there is no initial_state, you must give a dtype.")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def lengths_of(sequence_length: TensorLike | None, batch_size: Size) -> Any:
    """Convert the lengths of sequences to an int32 vector [batch]; ValueError for another rank."""
    if sequence_length is None:
        return None
    lengths = cast(convert_to_tensor(sequence_length), int32)
    if lengths.shape.rank not in (None, 1):
        raise value_error(
            "TW203",
            f"sequence_length must be a vector of length batch_size, but got shape {lengths.shape}",
        )
    return reshape(lengths, [batch_size])


def through(done: object, old: object, new: Tensor) -> Any:
    """Return a nest of new values, with the old ones where `done` [batch]; scalars are new."""

    def choose(before: Any, after: Any) -> Any:
        if hasattr(after, "stack") or after.shape.rank == 0:
            return after
        return select(reshape(done, [-1, *[1] * (after.shape.rank - 1)]), before, after)

    pairs = zip(structure.flatten(old), structure.flatten(new))
    return structure.pack(new, [choose(*pair) for pair in pairs])


def run_step(
    cell: Any,
    time: TensorLike,
    inputs: TensorLike,
    state: object,
    lengths: Tensor | None,
    batch_size: Size,
) -> tuple:
    """Run one step; where a sequence is over the output is zero and the state stays."""
    output, following = cell(inputs, state)
    if lengths is None:
        return output, following
    done = greater_equal(convert_to_tensor(time, dtype=int32), lengths)
    nothing = structure.map_leaves(
        lambda x: zeros([batch_size, *x.shape.as_list()[1:]], x.dtype), output
    )
    return through(done, nothing, output), through(done, state, following)


@export("compat.v1.nn.static_rnn")
@as_it_is
def static_rnn(
    cell: object,
    inputs: Any,
    initial_state: TensorLike | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: object = None,
) -> tuple[list, Any]:
    """Return a network over a list of inputs [batch, n]: the list of outputs and the last state.

    initial_state: of the structure of `cell.state_size`; zeros of `dtype` if None.
    sequence_length: how long each sequence is, [batch]; beyond, outputs are zero and states stay.
    scope: of the variables, "rnn" if None.  TypeError for what is no cell or no list, ValueError
    for an empty list and without dtype and initial_state.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cell = tf.nn.rnn_cell.BasicRNNCell(3)
    ...     outputs, _ = tf.nn.static_rnn(cell, [tf.ones([2, 4])] * 5, dtype=tf.float32)
    ...     len(outputs), outputs[0].shape.as_list()
    (5, [2, 3])
    """
    check_cell("cell", cell)
    if not isinstance(inputs, (list, tuple)):
        raise type_error("TW104", f"static_rnn: inputs must be a sequence, got {inputs!r}")
    if not inputs:
        raise value_error("TW401", "static_rnn: inputs must not be empty")
    with variable_scope(scope or "rnn") as inner_scope:
        inputs = as_tensors(inputs)
        batch_size = structure.flatten(inputs)[0].dims[0]
        state = first_state(cell, initial_state, batch_size, dtype)
        lengths = lengths_of(sequence_length, batch_size)
        outputs = []
        for time, step in enumerate(inputs):
            if time:
                inner_scope.reuse_variables()
            output, state = run_step(cell, time, step, state, lengths, batch_size)
            outputs.append(output)
    return outputs, state


def reverse_steps(inputs: list, sequence_length: object) -> list:
    """Return a list of inputs back to front, each sequence within its length."""
    if sequence_length is None:
        return list(inputs)[::-1]
    flat = [structure.flatten(step) for step in inputs]
    columns = []
    for column in zip(*flat):
        turned = reverse_sequence(stack(list(column)), sequence_length, seq_axis=0, batch_axis=1)
        columns.append(unstack(turned, num=len(inputs)))
    return [structure.pack(step, list(leaves)) for step, leaves in zip(inputs, zip(*columns))]


@export("compat.v1.nn.static_bidirectional_rnn")
@as_it_is
def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: TensorLike | None = None,
    initial_state_bw: TensorLike | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: Any = None,
    scope: str | None = None,
) -> tuple[list, Any, Any]:
    """Run two networks over a list of inputs, one from its end: outputs side by side, both last
    states.

    The arguments mean what they mean for `tf.compat.v1.nn.static_rnn`.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cells = [tf.nn.rnn_cell.BasicRNNCell(3) for _ in range(2)]
    ...     steps = [tf.ones([2, 4])] * 5
    ...     outputs, _, _ = tf.nn.static_bidirectional_rnn(*cells, steps, dtype=tf.float32)
    ...     outputs[0].shape.as_list()
    [2, 6]
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    if not isinstance(inputs, (list, tuple)):
        raise type_error("TW104", f"inputs must be a sequence, got {inputs!r}")
    if not inputs:
        raise value_error("TW401", "inputs must not be empty")
    with variable_scope(scope or "bidirectional_rnn"):
        inputs = as_tensors(inputs)
        with variable_scope("fw") as inner:
            forward, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, inner
            )
        with variable_scope("bw") as inner:
            turned = reverse_steps(inputs, sequence_length)
            backward, state_bw = static_rnn(
                cell_bw, turned, initial_state_bw, dtype, sequence_length, inner
            )
    backward = reverse_steps(backward, sequence_length)
    outputs = [
        structure.pack(
            fw, [concat([a, b], 1) for a, b in zip(structure.flatten(fw), structure.flatten(bw))]
        )
        for fw, bw in zip(forward, backward)
    ]
    return outputs, state_fw, state_bw


@export("compat.v1.nn.static_state_saving_rnn")
@as_it_is
def static_state_saving_rnn(
    cell: Any,
    inputs: TensorLike,
    state_saver: Any,
    state_name: Any,
    sequence_length: TensorLike | None = None,
    scope: str | None = None,
) -> tuple[list, Any]:
    """Call `static_rnn` from and to a `state_saver`, whose methods state(name) and save_state(name,
    value) read and write; state_name: one name, or a tuple with one for each part of the state.

    The last output waits until the state is saved.  ValueError if names and states do not match.
    """
    sizes = structure.flatten(cell.state_size)
    names = list(state_name) if isinstance(state_name, tuple) else [state_name]
    if len(names) != len(sizes):
        raise value_error("TW401", f"{len(names)} state names for {len(sizes)} states")
    start = structure.pack(
        cell.state_size,
        [
            reshape(state_saver.state(name), [-1, *as_shape(size).as_list()])
            for name, size in zip(names, sizes)
        ],
    )
    outputs, state = static_rnn(
        cell, inputs, start, state_dtype(None, start), sequence_length, scope
    )
    saved = [
        state_saver.save_state(name, part) for name, part in zip(names, structure.flatten(state))
    ]
    last = convert_to_tensor(outputs[-1])
    with last.graph.control_dependencies(saved):
        outputs[-1] = last.graph.symbol(last.node) * 1
    return outputs, state
