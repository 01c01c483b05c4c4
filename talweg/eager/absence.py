"""Absent gradients: the evidence that tapes and graphs keep, and the listeners that are told.

`evidence_of` puts together what a tape knows of one source.  `remember` keeps it for a variable
until an optimizer meets the None (`announce`), which then says once in one line what is wrong; what
is kept holds no array.
"""

from __future__ import annotations

import logging
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from talweg.core.hooks import hooks
from talweg.core.locking import new_lock
from talweg.core.provenance import KERAS, is_inner, user_frame
from talweg.core.value import IndexedSlices, Tensor
from talweg.eager.variable import variable_of
from talweg.transform.absent import Evidence, Lighter, Notes, Scene, Source

if TYPE_CHECKING:
    from talweg.eager.tape import GradientTape

LOGGER = logging.getLogger("talweg")
REMEMBERED = 100_000  # records that are kept in all; the last tape's always are
_groups: deque[tuple[int, list[int]]] = deque()  # (records, variables' ids) of each tape
_grouping = new_lock()
WARNED = 1000  # lines that are remembered
_warned: set[Any] = set()  # lines (code, offset) that were told of an absent gradient
_pending: dict[int, tuple[Any, Any]] = {}  # variable's id -> (weak reference, evidence or None)


def evidence_of(
    tape: GradientTape, target: list[Any], source: Any, frame: FrameType | None
) -> Evidence:
    """Collect a tape's evidence about the gradient of `target` by `source`, for a user's frame."""
    state = ""
    if not tape._entered:
        state = "never entered"
    elif tape._records is None:
        state = "used up"
    targets = [_value(leaf) for leaf in (target if isinstance(target, list) else [target])]
    asked = target[0] if isinstance(target, list) and len(target) == 1 else target
    scene = Scene.of(frame, asked, source, tape._began)
    path = getattr(source, "path", "")  # what Keras calls its variables
    source = variable_of(source)
    if isinstance(source, IndexedSlices):
        source = source.values
    elif hasattr(source, "_with_gradient"):  # a ragged tensor: its values
        source = source.flat_values
    try:
        parts = tape._parts(source)
    except TypeError:
        parts = []
    known = Source.of(source, scene.source_names[0] if scene and scene.source_names else "")
    if known.kind == "variable" and isinstance(path, str) and path:
        known.name = path
    return Evidence(
        tape._records or [],
        targets,
        known,
        parts,
        tape._notes or Notes(began=tape._began),
        asked,
        tape._made,
        tape._watched,
        tape._reads,
        {key: variable.name for key, variable in tape._variables.items()},
        scene=scene,
        state=state,
    )


def _value(leaf: object) -> Any:
    if isinstance(leaf, Tensor):
        return leaf
    if isinstance(leaf, IndexedSlices):
        return leaf.values
    leaf = variable_of(leaf)
    if hasattr(leaf, "handle_read"):
        return leaf.handle_read()
    return leaf.flat_values if hasattr(leaf, "_with_gradient") else leaf


def tell_missing(
    tape: GradientTape, targets: list, missing: list, every: bool, caller: FrameType
) -> None:
    """Keep or tell why a tape's gradients are None; `every`: all that were asked for are."""
    frame = caller if not is_inner(caller.f_code.co_filename) else user_frame(3)

    def gather(source: object) -> Evidence:
        return evidence_of(tape, targets, source, frame)

    remember(missing, gather, caller.f_code)
    if frame is not None:
        warn(missing, gather, (frame.f_code, frame.f_lasti), every)


def remember(sources: list, gather: Callable[[Any], Evidence], caller: CodeType) -> None:
    """Keep the facts about those variables among `sources` for which there is no gradient.

    caller: the code that asked for the gradients.

    Each variable is looked at once in its life: a training loop pays for it in its first step only.
    """
    lighter, keys, count = None, [], 0
    for source in sources:
        if not hasattr(source, "handle_read") or is_known(source):
            continue
        evidence = gather(source)
        if lighter is None:
            lighter, count = Lighter(evidence.records), len(evidence.records)
        _keep(source, lighter(evidence))
        keys.append(id(source))
    if keys:
        if _goes_to_keras(caller):
            announce([source for source in sources if id(source) in keys])
        with _grouping:
            _groups.append((count, keys))
            while sum(size for size, _ in _groups) > REMEMBERED and len(_groups) > 1:
                for key in _groups.popleft()[1]:  # too long ago to be of use
                    pending = _pending.get(key)
                    if pending is not None:
                        _pending[key] = pending[0], None


def _goes_to_keras(code: CodeType) -> bool:
    """Return whether gradients taken in this code go to an optimizer of Keras, which cannot tell
    us: its own trainer, or a function that calls `apply_gradients` itself.
    """
    if KERAS in code.co_filename:
        return True
    return "apply_gradients" in code.co_names and "keras" in sys.modules


def is_known(variable: object) -> bool:
    """Return whether the variable's absent gradient was met before."""
    found = _pending.get(id(variable))
    return found is not None and found[0]() is variable


def _keep(variable: object, evidence: Evidence | None) -> None:
    key = id(variable)
    _pending[key] = weakref.ref(variable, lambda _: _pending.pop(key, None)), evidence


def warn(
    sources: list, gather: Callable[[Any], Evidence], line: tuple[Any, ...], every: bool
) -> None:
    """Say once for a line that it got None for a source whose dtype has no gradients, or for
    `every` source that it asked for: what comes next, arithmetic most likely, cannot know why."""
    bad = [source for source in sources if not is_differentiable(source)]
    if line in _warned or not (bad or every):
        return
    if len(_warned) >= WARNED:
        _warned.clear()
    _warned.add(line)
    first = sources[:1] if every and is_differentiable(sources[0]) else []
    for source in first + bad:
        if hasattr(source, "handle_read") and is_known(source):
            announce([source])
        else:
            LOGGER.warning(hooks.absence_in_a_line(gather(source)))


def is_differentiable(source: Any) -> bool:
    """Return whether a source's dtype has gradients."""
    dtype = getattr(source, "dtype", None)
    return dtype is None or getattr(dtype, "is_differentiable", True)


def announce(variables: Iterable[Any]) -> None:
    """Say in one line why each of these variables got no gradient, once in its life."""
    for variable in variables:
        found = _pending.get(id(variable))
        if found is None or found[0]() is not variable or found[1] is None:
            continue
        _pending[id(variable)] = found[0], None
        LOGGER.warning(hooks.absence_in_a_line(found[1]))
