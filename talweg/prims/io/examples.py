"""Parsing of Examples: one operation for all features of a record or of a batch of records.

Each feature asked for is a plan: (kind, name, dtype, shape), and gives one or more results.

    fixed      an array of the shape; the operand with its number stands in where it is missing
    sequence   as many of that shape as there are, the same number in each record, filled up
    values     all values of all records, and how many there are in each record
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, primitive
from talweg.core.dtypes import float32, int64, string
from talweg.core.errors import InvalidArgumentError, invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.formats import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from talweg.core.dtypes import DType

FIXED, SEQUENCE, VALUES = "fixed", "sequence", "values"
_KINDS = {string: examples.BYTES, float32: examples.FLOATS, int64: examples.INTEGERS}
_NAMES = {string: "string", float32: "float", int64: "int64"}


def _infer(serialized, plans):
    leading = serialized.dims
    found = []
    for kind, _, dtype, shape in plans:
        if kind == FIXED:
            found.append(Aval((*leading, *shape), dtype))
        elif kind == SEQUENCE:
            found.append(Aval((*leading, None, *shape), dtype))
        else:
            found += [Aval((None,), dtype), Aval(leading or (1,), int64)]
    return found


def _values(name: str, dtype: DType, data: bytes):
    """Return the values of a feature; None if there are none.
    InvalidArgumentError for another dtype.
    """
    kind, values = (0, []) if data is None else examples.feature(data)
    if not kind:
        return None
    if kind != _KINDS[dtype]:
        own = next(_NAMES[other] for other, number in _KINDS.items() if number == kind)
        raise invalid(
            "TW102",
            f"Key: {name}.  Data types don't match. Data type: {own} but expected type: "
            f"{_NAMES[dtype]}",
        )
    return values


def _array(values, dtype, shape: tuple):
    found = np.empty(len(values), dtype.numpy_dtype)
    found[:] = values
    return found.reshape(shape)


def _parse_fixed_feature(plan: tuple, records: list, default: np.ndarray | None):
    _, name, dtype, shape = plan
    size, features = math.prod(shape), []
    for record in records:
        values = _values(name, dtype, record.get(name))
        if values is None:
            if default is None:
                raise invalid(
                    "TW207",
                    f"Feature: {name} (data type: {_NAMES[dtype]}) is required but could "
                    "not be found.",
                    "a default_value",
                )
            features.append(np.asarray(default).reshape(shape))
            continue
        if len(values) != size:
            raise invalid(
                "TW204",
                f"Key: {name}.  Number of {_NAMES[dtype]} values != expected.  values "
                f"size: {len(values)} but output shape: {list(shape)}",
            )
        features.append(_array(values, dtype, shape))
    return features


def _sequence(plan, records: list, default: np.ndarray | None):
    """Parse a sequence of each record into an array [n, *shape]."""
    _, name, dtype, shape = plan
    size, features = math.prod(shape), []
    for record in records:
        values = _values(name, dtype, record.get(name))
        values = [] if values is None else values
        if len(values) % max(size, 1):
            raise invalid(
                "TW204",
                f"Key: {name}.  Number of {_NAMES[dtype]} values is not a multiple of "
                f"stride length.  values size: {len(values)}, shape: {list(shape)}",
            )
        features.append(_array(values, dtype, (-1, *shape) if size else (0, *shape)))
    longest = max(map(len, features), default=0)
    empty = (b"" if dtype is string else 0) if default is None else default
    filled = np.full((len(features), longest, *shape), empty, dtype.numpy_dtype)
    for at, own in enumerate(features):
        filled[at, : len(own)] = own
    return filled


def _several(plan: tuple, records: list):
    """Return all values, and the number of each record's."""
    _, name, dtype, _ = plan
    found = [_values(name, dtype, record.get(name)) for record in records]
    parts = [[] if values is None else values for values in found]
    whole = np.empty(sum(map(len, parts)), dtype.numpy_dtype)
    place = 0
    for part in parts:
        whole[place : place + len(part)] = part
        place += len(part)
    return whole, np.array([len(part) for part in parts], np.int64)


def parse_records(records: list, plans: tuple, defaults: tuple, single: bool):
    """Return the results of the plans for records, dictionaries of features."""
    given, results = iter(defaults), []
    for plan in plans:
        kind = plan[0]
        default = next(given) if kind != VALUES else None
        default = None if default is None or np.shape(default) == (0,) else default
        if kind == VALUES:
            results += _several(plan, records)
            continue
        if kind == FIXED:
            shape = (len(records), *plan[3])
            rows = _parse_fixed_feature(plan, records, default)
            feature = np.stack(rows) if rows else np.empty(shape, plan[2].numpy_dtype)
        else:
            feature = _sequence(plan, records, default)
        results.append(feature.reshape(feature.shape[1:]) if single else feature)
    return results


def records_of(serialized: object, read: Callable):
    """Parse each string; InvalidArgumentError for one that is no such message."""
    found = []
    for data in np.asarray(serialized, object).reshape(-1).tolist():
        try:
            found.append(read(data))
        except InvalidArgumentError:
            raise invalid("TW207", f"Could not parse example input, value: '{data!r}'") from None
    return found


@primitive
class parse_examples:
    """The features of records: serialized [] or [n], the results of `plans`, in their order.

    defaults: for each plan but `values` what stands in for it, an empty vector for nothing.
    """

    operands = "serialized *defaults"
    tf_type = "ParseExampleV2"
    multiple = True
    no_gradient = NoGradient("records of files have no derivative")
    batch = LOOP
    memory = "library"

    def infer(serialized, *defaults, plans):
        check_dtype("parse_example", "serialized", serialized.dtype, {string})
        if len(serialized.dims) > 1:
            raise invalid(
                "TW203", f"parse_example: serialized has shape {serialized.dims}", "[] or [n]"
            )
        return _infer(serialized, plans)

    def numpy(serialized: np.ndarray, *defaults, plans):
        records = records_of(serialized, examples.features)
        return tuple(parse_records(records, plans, defaults, np.ndim(serialized) == 0))

    samples = (
        Sample(
            np.array([b""], object),
            np.zeros([2], np.float32),
            plans=((FIXED, "a", float32, (2,)), (VALUES, "b", int64, ())),
            skip=("batch",),
        ),
    )
    rejects = (Reject([], plans=(), code="TW102"),)


@primitive
class parse_feature_lists:
    """The lists of features of one SequenceExample; plans as above, values by the step.

    `fixed` gives [steps, *shape], `values` all values and how many there are in each step.
    """

    operands = "serialized"
    tf_type = "ParseSequenceExampleV2"
    multiple = True
    no_gradient = NoGradient("records of files have no derivative")
    batch = LOOP
    memory = "library"

    def infer(serialized, *, plans):
        check_dtype("parse_sequence_example", "serialized", serialized.dtype, {string})
        if serialized.dims:
            raise invalid(
                "TW203",
                f"parse_single_sequence_example: serialized has shape {serialized.dims}",
                "a scalar",
            )
        return _infer(Aval((None,), string), [plan[:4] for plan in plans])

    def numpy(serialized, *, plans):
        (lists,) = records_of(serialized, examples.feature_lists)
        results = []
        for kind, name, dtype, shape, optional in plans:
            if name not in lists and not optional:
                raise invalid(
                    "TW207",
                    f"Name: <unknown>, Feature list '{name}' is required but could not be found.",
                    "allow_missing=True",
                )
            steps = [{name: data} for data in lists.get(name, ())]
            results += parse_records(steps, ((kind, name, dtype, shape),), (None,), False)
        return tuple(results)

    samples = (
        Sample(
            np.array(b"", object),
            skip=("batch",),
            plans=((FIXED, "a", float32, (2,), True), (VALUES, "b", int64, (), True)),
        ),
    )
    rejects = (Reject([], plans=(), code="TW102"),)


@primitive
class parse_feature_rows:
    """The lists of features of SequenceExamples [n]: the steps of all records, one after the other.

    plans as above; each gives its results for the steps, and how many steps each record has.
    """

    operands = "serialized"
    multiple = True
    no_gradient = NoGradient("records of files have no derivative")
    batch = LOOP
    memory = "library"

    def infer(serialized, *, plans):
        check_dtype("parse_sequence_example", "serialized", serialized.dtype, {string})
        if len(serialized.dims) != 1:
            raise invalid(
                "TW203", f"parse_sequence_example: serialized has shape {serialized.dims}", "[n]"
            )
        found = []
        for plan in plans:
            found += _infer(Aval((None,), string), [plan[:4]])
            found.append(Aval(serialized.dims, int64))
        return found

    def numpy(serialized, *, plans):
        records = records_of(serialized, examples.feature_lists)
        results = []
        for kind, name, dtype, shape, optional in plans:
            for lists in records:
                if name not in lists and not optional:
                    raise invalid(
                        "TW207",
                        f"Name: <unknown>, Feature list '{name}' is required but could not be "
                        "found.",
                        "allow_missing=True",
                    )
            steps = [{name: data} for lists in records for data in lists.get(name, ())]
            results += parse_records(steps, ((kind, name, dtype, shape),), (None,), False)
            results.append(np.array([len(lists.get(name, ())) for lists in records], np.int64))
        return tuple(results)

    samples = (
        Sample(
            np.array([b""], object),
            skip=("batch",),
            plans=((FIXED, "a", float32, (2,), True), (VALUES, "b", int64, (), True)),
        ),
    )
    rejects = (Reject([], plans=(), code="TW102"),)
