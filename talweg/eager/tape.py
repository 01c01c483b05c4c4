"""GradientTape: a list of records, and the sweep over it.

While a tape records, `dispatch` shows it every application of a primitive; it keeps those with a
watched operand and watches results of any dtype: so it knows which operation blocks a gradient.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.errors import type_error, value_error
from talweg.core.hooks import hooks
from talweg.core.provenance import (
    inner_files,
    origin_from,
    origin_of_call,
    user_entry,
    user_frame,
    user_origin,
)
from talweg.core.tracebacks import boundary
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.absence import evidence_of, tell_missing
from talweg.eager.convert import convert_to_tensor
from talweg.eager.seeds import SCOPE, ones_of
from talweg.eager.tensor import NO_PARAMS, EagerTensor
from talweg.eager.unconnected import UnconnectedGradients, zeros_of_shape
from talweg.eager.variable import Variable, variable_of
from talweg.execute.compositions import pull_back
from talweg.graph import structure
from talweg.prims.arithmetic import zeros_of
from talweg.prims.checking import require_same_shape
from talweg.transform.absent import Notes
from talweg.transform.reverse import pullback
from talweg.transform.rules import accumulate, densify

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.eager.custom import CustomRule

getframe = sys._getframe


class GradientTape(dispatch.Recorder):
    """Records operations, to differentiate them (`tf.GradientTape`).

    Trainable variables are watched when they are read; tensors after `watch`.  Without `persistent`
    the records are let go by the first `gradient` or `jacobian`.

    >>> import talweg as tf
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x)
    <tf.Tensor: shape=(), dtype=float32, numpy=6.0>
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        self._persistent = persistent
        self._watch_accessed = watch_accessed_variables
        self._recording = False
        self._entered = False
        self._used = False
        self._began: Any = None
        self._clear()

    def _clear(self) -> None:
        self._records: list | None = []
        self._watched: set[int] = set()
        self._kept: list = []  # watched tensors, so that their ids stay theirs
        self._variables: dict[int, Any] = {}  # those watched, by id, in order of first use
        self._reads: dict[int, list] = {}  # tensors read from each variable
        self._made: set[int] = set()  # ids of results that depend on nothing that is watched
        self._notes: Notes | None = None

    # -- recording

    def __enter__(self) -> GradientTape:
        frame = getframe(1)
        inner = inner_files.get(frame.f_code.co_filename, True)
        self._began = user_origin(2) if inner else (frame.f_code, frame.f_lasti)
        self._start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._recording:
            self._stop()

    def _start(self) -> None:
        if self._recording:
            raise value_error(
                "TW302",
                "Tape is still recording. This can happen if you try to re-enter an "
                "already-active tape.",
            )
        if self._used:
            self._clear()
            self._used = False
        self._recording = self._entered = True
        dispatch.push(self)

    def _stop(self) -> None:
        if not self._recording:
            raise value_error("TW302", "Tape is not recording.")
        self._recording = False
        dispatch.remove(self)

    def record(
        self, prim: Primitive | CustomRule, operands: tuple, results: object, params: dict
    ) -> None:
        """Keep an application if one of its operands is watched (called by `dispatch`)."""
        watched = self._watched
        for operand in operands:
            if id(operand) in watched:
                break
        else:
            if type(results) is tuple:
                self._made.update(map(id, results))
            else:
                self._made.add(id(results))
            return
        if params is NO_PARAMS:  # an operator: in line, since it is done so often
            frame = getframe(2)
            code = frame.f_code
            if inner_files.get(code.co_filename, True):  # called by talweg itself
                origin = origin_from(frame.f_back)
            else:
                origin = code, frame.f_lasti
        else:
            origin = origin_of_call(prim)
        self._records.append((prim, operands, results, params, origin))  # type: ignore
        if type(results) is tuple:
            watched.update(map(id, results))
        else:
            watched.add(id(results))

    def note_read(self, variable: Any, tensor: Any) -> None:
        """Note that a variable was read as `tensor` (called by variables)."""
        key = id(variable)
        if key not in self._variables:
            if not (self._watch_accessed and variable.trainable):
                unwatched = self.notes.unwatched
                if key not in unwatched:
                    why = "accessed" if variable.trainable else "trainable"
                    unwatched[key] = why, user_origin(3)
                return
            self._variables[key] = variable
        self._watch_read(key, tensor)

    def _watch_read(self, key: int, tensor: Any) -> None:
        if id(tensor) not in self._watched and tensor.dtype.is_differentiable:
            self._watched.add(id(tensor))
            self._kept.append(tensor)
            self._reads.setdefault(key, []).append(tensor)

    def note_exit(self, tensor: object) -> None:
        """Note that the value of `tensor` was taken out to NumPy or Python (called by tensors)."""
        if id(tensor) in self._watched:
            self.notes.exit(id(tensor), *user_entry(2))

    def note_write(self, variable: Any, tensor: Any) -> None:
        """Note that a variable was given the value of `tensor` (called by variables)."""
        if id(tensor) in self._watched:
            note = id(variable), variable.name, id(tensor), user_origin(3)
            self.notes.writes.append(note)

    @property
    def notes(self) -> Notes:
        """The notes beside the records, for questions about absent gradients."""
        if self._notes is None:
            self._notes = Notes()
        self._notes.began = self._began
        return self._notes

    @boundary
    def watch(self, tensor: object) -> None:
        """Track `tensor` (a tensor, a variable, or a nest of these); else ValueError."""
        for leaf in _leaves(tensor):
            if isinstance(leaf, Tensor):
                if leaf.dtype.is_differentiable:
                    if self._made and id(leaf) not in self._watched:
                        self.notes.late[id(leaf)] = user_origin(2)
                    self._watched.add(id(leaf))
                    self._kept.append(leaf)
                else:
                    _warn(f"The dtype of the watched tensor must be floating, got {leaf.dtype!r}")
            elif hasattr(leaf, "handle_read"):
                self._variables.setdefault(id(leaf), leaf)
            elif hasattr(leaf, "_flat_components"):
                self.watch(leaf._flat_components())
            else:
                raise value_error(
                    "TW303",
                    f"Passed in object {leaf!r} of type {type(leaf).__name__!r}, not tf.Tensor or "
                    "tf.Variable or ExtensionType.",
                )

    def watched_variables(self) -> tuple:
        """Return the variables watched so far, in the order in which they were made."""
        return tuple(sorted(self._variables.values(), key=lambda variable: variable.number))

    def stop_recording(self) -> _Pause:
        """Return a context in which nothing is recorded; entering it needs a tape that is
        recording."""
        return _Pause(self)

    def reset(self) -> None:
        """Forget everything recorded and watched so far."""
        recording = self._recording
        if recording:
            self._stop()
        resets = [*self.notes.resets, user_origin(2)]
        self._clear()
        self.notes.resets = resets
        self._used = False
        if recording:
            self._start()

    # -- gradients

    @boundary
    def gradient(
        self,
        target: object,
        sources: Any,
        output_gradients: object = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """Return the gradient of `target` (summed over its elements) by each source.

        `target` and `sources` are tensors, variables or nests of these; the result is a nest like
        `sources`.  `output_gradients`, a nest like `target`, weighs the elements of the target.
        Where there is no path the gradient is None, zeros or an error, by `unconnected_gradients`.
        Raises RuntimeError when a non-persistent tape is used twice, TypeError for a target that is
        no tensor.
        """
        mode = unconnected_gradients
        if type(mode) is not UnconnectedGradients:
            mode = UnconnectedGradients.of(mode)
        self._begin_use()
        if sources is None:
            raise type_error("TW303", "Argument `sources` should not be None.")
        if target is None:
            raise type_error(
                "TW303",
                "Argument `target` should be a list or nested structure of Tensors, "
                "Variables or CompositeTensors to be differentiated, but received None.",
            )
        single = type(sources) in _LEAVES
        flat = type(sources) is list and all([type(x) in _LEAVES for x in sources])
        flat_sources: Any = [sources] if single else sources if flat else _leaves(sources)
        flat_targets = [target] if type(target) is EagerTensor else _leaves(target)
        targets = [self._target(leaf) for leaf in flat_targets]
        seeds = self._seeds(targets, output_gradients)
        results = self._sweep(targets, seeds, flat_sources)
        if dispatch.state.observer is not None:
            wanted = mode is not UnconnectedGradients.NONE
            dispatch.state.observer.gradient_taken(
                flat_sources, results, wanted, lambda source: self.explain(target, source)
            )
        absent = any([g is None for g in results])
        if absent:
            results = [
                self._absent(source, targets, mode) if g is None else g
                for source, g in zip(flat_sources, results)
            ]
            if mode is UnconnectedGradients.NONE:
                missing = [source for source, g in zip(flat_sources, results) if g is None]
                tell_missing(self, targets, missing, len(missing) == len(results), getframe(2))
        self._end_use(absent)
        if single:
            return results[0]
        if flat:
            return results
        results = [
            source._with_gradient(g) if g is not None and hasattr(source, "_with_gradient") else g
            for source, g in zip(flat_sources, results)
        ]
        return structure.pack(sources, results)

    def _begin_use(self) -> None:
        if not self._entered:
            raise RuntimeError(
                "This GradientTape has recorded nothing: use it in a `with`.  [TW302]"
            )
        if self._used:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients "
                "(or jacobians). Use tf.GradientTape(persistent=True) for more.  [TW302]"
            )
        if self._recording and not self._persistent:
            self._stop()

    def _end_use(self, absent: bool = False) -> None:
        """Drop the records, unless a gradient was absent: somebody may ask why."""
        if not self._persistent:
            self._used = True
            if not absent:
                self._records, self._kept, self._notes = None, [], None
                self._watched, self._reads, self._made = set(), {}, set()

    def _target(self, leaf: object) -> Any:
        """Return a target as the value that was recorded."""
        if isinstance(leaf, Tensor):
            return leaf
        if hasattr(leaf, "handle_read"):
            tensor = leaf.handle_read()
            self._watch_read(id(leaf), tensor)  # a variable depends on itself
            return tensor
        if isinstance(leaf, IndexedSlices):
            return leaf.values
        if hasattr(leaf, "_with_gradient"):  # a ragged tensor: its values
            return leaf.flat_values
        if leaf is None:
            raise type_error("TW303", "Argument `target` contains None; it must hold tensors.")
        raise type_error(
            "TW303",
            f"target {leaf!r} of type {type(leaf).__name__} is not a tensor",
            "a tf.Tensor or tf.Variable computed while the tape recorded",
            "tf.reduce_sum, not np.sum; no float(x), x.numpy() or x.item() before the gradient"
            * (isinstance(leaf, (int, float)) or hasattr(leaf, "__array__")),
        )

    def _seeds(self, targets: list, given: object) -> list:
        """Return the first cotangent of each target: ones, or the caller's."""
        if given is None:
            return [ones_of(t) if t.dtype.is_differentiable else None for t in targets]
        flat = structure.flatten(given)
        seeds: list = [convert_to_tensor(g, dtype=t.dtype) for g, t in zip(flat, targets)]
        for t, g in zip(targets, seeds):
            if not g.shape.is_compatible_with(t.shape):
                text = f"output_gradients has shape {g.shape}, the target {t.shape}"
                raise value_error(
                    "TW204", text, "one gradient of the target's shape for each target"
                )
        return [require_same_shape(g, t, "output_gradients") for t, g in zip(targets, seeds)]

    def _sweep(self, targets: list, seeds: list, flat_sources: list) -> list:
        """Return gradients by tensors and variables; a variable's is the sum over its reads."""
        groups = [self._parts(source) for source in flat_sources]
        found = iter(self._pull_back(targets, seeds, [part for parts in groups for part in parts]))
        results = []
        for parts in groups:
            total = None
            for _ in parts:
                total = accumulate(total, next(found))
            results.append(total)
        return results

    def _pull_back(self, targets: list, seeds: list, tensors: list) -> list:
        """Run the reverse sweep; in a graph its operations have a name scope of their own."""
        graph = dispatch.context.base
        if graph is None:
            return pullback(self._records or [], targets, seeds, tensors, pull=pull_back)
        with graph.derivatives_in(*SCOPE):
            return pullback(self._records or [], targets, seeds, tensors)

    def _parts(self, source: Any) -> list:
        """Return the recorded tensors a source stands for."""
        if isinstance(source, Tensor):
            return [source] if id(source) in self._watched else []
        if hasattr(source, "handle_read"):
            return self._reads.get(id(source), [])
        if isinstance(source, IndexedSlices):
            return [source.values]
        if hasattr(source, "_with_gradient"):
            return [source.flat_values]
        raise type_error(
            "TW303",
            f"source {source!r} of type {type(source).__name__} is not a tensor",
            "a tf.Tensor or tf.Variable",
        )

    def _absent(self, source: object, targets: list, mode: UnconnectedGradients) -> Any:
        if mode is UnconnectedGradients.NONE:
            return None
        if mode is UnconnectedGradients.ZERO:
            return zeros_of(self._target(source))
        evidence = evidence_of(self, targets, source, user_frame(2))
        raise hooks.absence_as_error(evidence)

    @boundary
    def explain(self, target: object, sources: object) -> Any:
        """Explain why `target` has a gradient by each source, or where and how the path breaks.

        Returns an `Explanation` for one source, `Explanations` for a nest of them; changes nothing
        and may be called after `gradient` has given None.

        >>> import talweg as tf
        >>> w = tf.Variable(2.4, name="w")
        >>> with tf.GradientTape(persistent=True) as tape:
        ...     loss = tf.round(w) * 2.0
        >>> print(tape.gradient(loss, w))
        None
        >>> tape.explain(loss, w).code
        'TW324'
        """
        return hooks.explain_absence(self, target, sources, user_frame(2))

    @boundary
    def jacobian(
        self,
        target: object,
        sources: object,
        unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the derivative of every element of `target` by every element of each source.

        A source of shape S and a target of shape T give a tensor of shape T + S.  All rows are
        computed at once by batching; `experimental_use_pfor=False` computes one after the other.
        """
        mode = UnconnectedGradients.of(unconnected_gradients)
        flat_sources = _leaves(sources)
        self._begin_use()
        y = self._target(target)
        rows = hooks.jacobian_rows(self._sweep_function(y, flat_sources), y, experimental_use_pfor)
        results = []
        for source, row in zip(flat_sources, rows):
            if row is None:
                row = self._absent_jacobian(source, [y], mode)
            results.append(row)
        self._end_use()
        return structure.pack(sources, results)

    def _sweep_function(self, y: object, flat_sources: list) -> Any:
        return lambda seed: [densify(g) for g in self._sweep([y], [seed], flat_sources)]

    def _absent_jacobian(self, source: object, targets: list, mode: UnconnectedGradients) -> Any:
        absent = self._absent(source, targets, mode)
        if absent is None:
            return None
        return zeros_of_shape((*targets[0].dims, *absent.dims), absent.dtype)

    @boundary
    def batch_jacobian(
        self,
        target: Tensor,
        source: Tensor,
        unconnected_gradients: UnconnectedGradients = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Return the Jacobian of each row of `target` by the same row of `source`.

        target [b, ...T], source [b, ...S] -> [b, ...T, ...S]; rows must not depend on other rows.
        ValueError where the first dimensions differ.
        """
        target.shape.with_rank_at_least(2)
        if source.shape.rank == 0 or target.shape[0] != source.shape[0]:
            raise value_error(
                "TW204",
                f"Need first dimension of target shape ({target.shape}) and source shape "
                f"({source.shape}) to match.",
            )
        mode = UnconnectedGradients.of(unconnected_gradients)
        self._begin_use()
        y = self._target(target)
        row = hooks.batch_jacobian_rows(
            self._sweep_function(y, [source]), y, self._target(source), experimental_use_pfor
        )
        if row is None:  # zeros even in mode NONE, as in TensorFlow
            if mode is UnconnectedGradients.ERROR:
                self._absent(source, [y], mode)
            row = zeros_of_shape((*y.dims, *self._target(source).dims[1:]), y.dtype)
        self._end_use()
        return row


class _Pause:
    """The context of `GradientTape.stop_recording`."""

    def __init__(self, tape: GradientTape):
        self._tape = tape

    def __enter__(self) -> None:
        if not self._tape._entered:
            raise RuntimeError("Tape is not recording: it was never entered.  [TW302]")
        self._tape._stop()
        self._tape.notes.pauses.append(user_origin(2))

    def __exit__(self, *error: object) -> None:
        self._tape._start()


_LEAVES = (EagerTensor, Variable)


def _leaves(value: object) -> list:
    """Return the leaves of a nest, with variables in place of their stand-ins."""
    return [variable_of(leaf) for leaf in structure.flatten(value)]


def _warn(message: str) -> None:
    logging.getLogger("talweg").warning(message)
