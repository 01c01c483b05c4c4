"""tf.compat.v1.nn: recurrent networks as loops, for sequences of any length."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.array.creating import zeros
from talweg.api.array.rearranging import reverse, reverse_sequence
from talweg.api.array.shapes import shape as shape_tensor
from talweg.api.array.shapes import transpose
from talweg.api.composite_ops import as_it_is
from talweg.api.control import while_loop
from talweg.api.export import export
from talweg.api.lists.tensor_array import TensorArray
from talweg.api.math.reductions import reduce_all
from talweg.compat_v1.rnn.cells import check_cell
from talweg.compat_v1.rnn.static import as_tensors, first_state, lengths_of, run_step, through
from talweg.compat_v1.variable_scopes import variable_scope
from talweg.core.dtypes import int32
from talweg.core.errors import type_error, value_error
from talweg.core.shapes import TensorShape, as_shape
from talweg.eager.convert import convert_to_tensor
from talweg.graph import structure
from talweg.prims.arithmetic import logical_not, logical_or

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike
    from talweg.core.dims import Size
    from talweg.core.value import Tensor


def swap_time_and_batch(x: Any) -> Any:
    """Transpose [a, b, ...] to [b, a, ...]."""
    return transpose(x, [1, 0, *range(2, x.shape.rank)])


@export("compat.v1.nn.dynamic_rnn")
@as_it_is
def dynamic_rnn(
    cell: Any,
    inputs: TensorLike,
    sequence_length: TensorLike | None = None,
    initial_state: TensorLike | None = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: object = None,
) -> tuple[Any, Any]:
    """Return a network over inputs [batch, time, n]: the outputs [batch, time, m] and the last
    state.

    inputs: a tensor or a nest of them.  sequence_length: how long each sequence is, [batch];
    beyond, outputs are zero and states stay.  initial_state: of the structure of
    `cell.state_size`; zeros of `dtype` if None.  time_major: inputs and outputs are
    [time, batch, ...].  scope: of the variables, "rnn" if None.  parallel_iterations and
    swap_memory are accepted.  TypeError for what is no cell; ValueError without dtype and
    initial_state, and for lengths that are no vector.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cell = tf.nn.rnn_cell.GRUCell(3)
    ...     x = tf.placeholder(tf.float32, [None, None, 4])
    ...     outputs, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    ...     outputs.shape.as_list(), state.shape.as_list()
    ([None, None, 3], [None, 3])
    """
    check_cell("cell", cell)
    with variable_scope(scope or "rnn"):
        inputs = as_tensors(inputs)
        if not time_major:
            inputs = structure.map_leaves(swap_time_and_batch, inputs)
        steps, batch_size = structure.flatten(inputs)[0].dims[:2]
        lengths = lengths_of(sequence_length, batch_size)
        state = first_state(cell, initial_state, batch_size, dtype)
        outputs, state = _run_loop(cell, inputs, state, lengths, steps, batch_size)
        if not time_major:
            outputs = structure.map_leaves(swap_time_and_batch, outputs)
        return outputs, state


def _run_loop(
    cell: Any,
    inputs: TensorLike,
    state: object,
    lengths: Tensor | None,
    steps: Size,
    batch_size: Size,
) -> tuple[Any, Any]:
    """Run the loop over time-major inputs."""
    leaves = structure.flatten(inputs)
    number = convert_to_tensor(steps) if type(steps) is int else shape_tensor(leaves[0])[0]
    tables = [TensorArray(x.dtype, size=number).unstack(x) for x in leaves]
    sizes = structure.flatten(cell.output_size)
    kind = structure.flatten(state)[0].dtype
    made = [
        TensorArray(kind, size=number, element_shape=_element(batch_size, size)) for size in sizes
    ]
    flat = structure.flatten(state)

    def step(time: Tensor, outputs: tuple, states: tuple) -> tuple:
        now = structure.pack(inputs, [table.read(time) for table in tables])
        before = structure.pack(state, list(states))
        output, after = run_step(cell, time, now, before, lengths, batch_size)
        parts = zip(outputs, structure.flatten(output))
        written = tuple([array.write(time, part) for array, part in parts])
        return time + 1, written, tuple(structure.flatten(after))

    start = convert_to_tensor(0, dtype=int32), tuple(made), tuple(flat)
    _, arrays, states = while_loop(lambda time, *_: time < number, step, start)
    outputs = [array.stack() for array in arrays]
    for output, size in zip(outputs, sizes):
        known = [n if type(n) is int else None for n in (steps, batch_size)]
        output.set_shape([*known, *as_shape(size).as_list()])
    return structure.pack(cell.output_size, outputs), structure.pack(state, list(states))


def _element(batch_size: Size, size: int) -> TensorShape:
    batch = batch_size if type(batch_size) is int else None
    return TensorShape([batch, *as_shape(size).as_list()])


@export("compat.v1.nn.bidirectional_dynamic_rnn")
@as_it_is
def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: TensorLike,
    sequence_length: TensorLike | None = None,
    initial_state_fw: TensorLike | None = None,
    initial_state_bw: TensorLike | None = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | None = None,
) -> tuple[tuple, tuple]:
    """Run two networks, one over inputs from their end: a pair of outputs and a pair of last
    states.

    The arguments mean what they mean for `tf.compat.v1.nn.dynamic_rnn`.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     cells = [tf.nn.rnn_cell.GRUCell(3) for _ in range(2)]
    ...     x = tf.ones([2, 5, 4])
    ...     outputs, states = tf.nn.bidirectional_dynamic_rnn(*cells, x, dtype=tf.float32)
    ...     [y.shape.as_list() for y in outputs]
    [[2, 5, 3], [2, 5, 3]]
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    options = {"dtype": dtype, "time_major": time_major}
    time, batch = (0, 1) if time_major else (1, 0)

    def turn(x: object) -> Any:
        if sequence_length is None:
            return reverse(x, [time])
        return reverse_sequence(x, sequence_length, seq_axis=time, batch_axis=batch)

    with variable_scope(scope or "bidirectional_rnn"):
        inputs = as_tensors(inputs)
        with variable_scope("fw") as inner:
            forward, state_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, scope=inner, **options
            )
        with variable_scope("bw") as inner:
            backward, state_bw = dynamic_rnn(
                cell_bw,
                structure.map_leaves(turn, inputs),
                sequence_length,
                initial_state_bw,
                scope=inner,
                **options,
            )
    backward = structure.map_leaves(turn, backward)
    return (forward, backward), (state_fw, state_bw)


@export("compat.v1.nn.raw_rnn")
@as_it_is
def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., tuple],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: str | None = None,
) -> tuple[Any, Any, Any]:
    """Return a network whose inputs, states and outputs a function decides step by step.

    loop_fn(time, cell_output, cell_state, loop_state) gives (finished [batch], next input, next
    state, what to put out, next loop state); it is first called with time 0 and None for the rest,
    and then gives the first input and state and, as what to put out, a structure like the outputs
    (None: `cell.output_size`).  The loop ends when all are finished.  The result: TensorArrays of
    what was put out, zeros where finished; the last state; the last loop state.

    >>> import talweg.compat.v1 as tf
    >>> cell = tf.nn.rnn_cell.BasicRNNCell(2)
    >>> def follow(time, output, state, loop_state):
    ...     state = cell.zero_state(1, tf.float32) if output is None else state
    ...     return time >= [3], tf.ones([1, 4]), state, output, None
    >>> with tf.Graph().as_default():
    ...     outputs, state, _ = tf.nn.raw_rnn(cell, follow)
    ...     outputs.stack().shape.as_list()
    [None, 1, 2]
    """
    check_cell("cell", cell)
    if not callable(loop_fn):
        raise type_error("TW104", f"loop_fn must be a callable, got {loop_fn!r}")
    with variable_scope(scope or "rnn"):
        time = convert_to_tensor(0, dtype=int32)
        finished, inputs, state, emitted, loop_state = loop_fn(time, None, None, None)
        finished, inputs, state = map(as_tensors, (finished, inputs, state))
        batch_size = structure.flatten(inputs)[0].dims[0]
        template, zero = _emit_structure(cell, emitted, state, batch_size)
        made = [
            TensorArray(x.dtype, size=0, dynamic_size=True, element_shape=x.shape)
            for x in structure.flatten(zero)
        ]
        has_state = loop_state is not None
        loop_state = as_tensors(loop_state) if has_state else convert_to_tensor(0, dtype=int32)

        def step(
            time: Any, finished: Any, inputs: TensorLike, arrays: Any, state: Any, loop_state: Any
        ) -> tuple:
            output, after = cell(inputs, state)
            given = loop_state if has_state else None
            done, following, after, emit, changed = loop_fn(time + 1, output, after, given)
            changed = as_tensors(changed) if changed is not None else loop_state
            emit = through(finished, zero, as_tensors(emit))
            after = through(finished, state, as_tensors(after))
            written = [
                array.write(time, part) for array, part in zip(arrays, structure.flatten(emit))
            ]
            return (
                time + 1,
                logical_or(finished, convert_to_tensor(done)),
                as_tensors(following),
                tuple(written),
                after,
                changed,
            )

        start = time, finished, inputs, tuple(made), state, loop_state
        _, _, _, arrays, state, loop_state = while_loop(
            lambda time, finished, *_: logical_not(reduce_all(finished)), step, start
        )
        outputs = structure.pack(template, list(arrays))
        return outputs, state, loop_state if has_state else None


def _emit_structure(cell: Any, emitted: object, state: object, batch_size: int) -> tuple[Any, Any]:
    """Return the structure of a cell's output, and zeros of it for a whole batch."""
    if emitted is None:
        dtype = structure.flatten(state)[0].dtype
        size = cell.output_size
        return size, structure.map_leaves(
            lambda one: zeros([batch_size, *as_shape(one).as_list()], dtype), size
        )
    parts = as_tensors(emitted)
    for part in structure.flatten(parts):
        if part.shape.rank is None:
            raise value_error("TW203", "raw_rnn: what is put out has an unknown rank")
    return emitted, structure.map_leaves(lambda x: zeros([batch_size, *x.dims], x.dtype), parts)
