"""The eager interpreter: check, run the NumPy kernel, wrap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from talweg.core import dispatch, settings
from talweg.core.aval import Aval
from talweg.core.dtypes import of_numpy
from talweg.core.errors import InternalError, NotEagerError
from talweg.core.lazy import LazyModule
from talweg.execute.call import avals_of, check, is_plain, run, sort_out
from talweg.execute.eager_kernels import REFUSED, UNBOUNDED, heavy, is_large, thresholds
from talweg.graph.node import BODY, GRAPH
from talweg.prims.host import HOST

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.eager import structured
else:
    structured = LazyModule("talweg.eager.structured")

STRUCTURED = frozenset((BODY, GRAPH, HOST))
verifying = settings.check
verifying.get()


def evaluate(prim: Primitive, operands: tuple, params: dict) -> Any:
    """Run `prim` on eager tensors (and, beside them, Python scalars)."""
    if prim.elementwise and not params and len(operands) == 1:
        result = _apply_to_one(prim, operands[0])
        if result is not None:
            return result
    if prim.effect is not None and prim.effect in STRUCTURED:
        return structured.evaluate_structured(prim, operands, params)
    plain = dispatch.state.plain
    arrays = [x._array if type(x) is plain else x for x in operands]
    large = thresholds[prim]
    is_heavy = (
        large < UNBOUNDED
        and arrays
        and type(arrays[0]) is ndarray
        and (
            arrays[0].size >= large
            or (params and (len(arrays) > 1 or "shape" in params))
            and is_large(arrays, params, large)
        )
    )
    result = NotImplemented
    if is_heavy:
        try:
            result = heavy.run_compiled(prim, arrays, params)
            if result is REFUSED:
                result = run(prim.numpy, *arrays, **params)
        except Exception as error:  # noqa: BLE001 -- every kind is sorted out there
            result = sort_out(prim, arrays, params, error)
    if result is NotImplemented:
        try:
            if prim.checked or not is_plain(prim, arrays):
                check(prim, arrays, params)
        except NotEagerError:  # a tensor of a graph, while no graph is in force
            return dispatch.bind(prim, operands, params)
        try:
            if is_heavy:
                result = heavy.run(prim, arrays, params, run)
            else:
                result = run(prim.numpy, *arrays, **params)
        except Exception as error:  # noqa: BLE001
            result = sort_out(prim, arrays, params, error)
    if verifying.value:
        _verify(prim, arrays, params, result)
    if prim.multiple:
        return tuple([plain(part) for part in result])
    tensor = _new(plain)
    tensor._array = result
    return tensor


_new = object.__new__


def _apply_to_one(prim: Primitive, x: Any) -> Any:
    """Return an elementwise function of one tensor; None where more is to be asked.

    It is for most calls: of a dtype that was accepted before, and nothing to be compiled.
    """
    plain = dispatch.state.plain
    if type(x) is not plain or verifying.value:
        return None
    array = x._array
    if array.dtype not in prim.known or array.size >= thresholds[prim]:
        return None
    try:
        result = run(prim.numpy, array)
    except Exception as error:  # noqa: BLE001
        result = sort_out(prim, [array], {}, error)
    tensor = _new(plain)
    tensor._array = result
    return tensor


def _verify(prim: Primitive, arrays: list, params: dict, result: Any) -> None:
    """Check, under `settings.check`, that the kernel's results are what `infer` promised."""
    promised = prim.infer(*avals_of(arrays), **params)
    pairs = zip(promised, result) if prim.multiple else [(promised, result)]
    for aval, array in pairs:
        found = Aval(np.shape(array), of_numpy(array.dtype))
        fits = aval.dims is None or aval.shape.is_compatible_with(found.dims)
        if not fits or aval.dtype is not found.dtype:
            raise InternalError(None, None, f"{prim.name}: infer said {aval}, kernel gave {found}")
