"""Row partitions: splits divide the elements of a vector into rows, on NumPy arrays.

`splits` [n + 1] says that row i holds the elements splits[i] .. splits[i + 1].
"""

from __future__ import annotations

import numpy as np

from talweg.core.errors import invalid, value_error


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return lengths[0] numbers from starts[0] on,
    then lengths[1] numbers from starts[1] on, ...
    """
    starts, lengths = np.asarray(starts, np.int64), np.asarray(lengths, np.int64)
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum(), dtype=np.int64)


def splits_of_lengths(lengths: object) -> np.ndarray:
    """Return the splits of rows of these lengths."""
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, np.int64))])


def row_of_each(splits: np.ndarray) -> np.ndarray:
    """Return the row each element is in."""
    return np.repeat(np.arange(len(splits) - 1, dtype=np.int64), np.diff(splits))


def splits_of_rows(rows: np.ndarray, count: int) -> np.ndarray:
    """Return the splits, for elements that are in these rows (in order) of `count`."""
    return splits_of_lengths(np.bincount(rows, minlength=count))


def check_lengths(lengths: np.ndarray, function: str, argument: str) -> None:
    """Raise InvalidArgumentError for negative lengths."""
    if np.any(lengths < 0):
        raise invalid("TW207", f"{function}: {argument}={lengths.tolist()} has a negative length")


def check_splits(splits: np.ndarray, count: int, function: str, argument: str) -> None:
    """Raise InvalidArgumentError unless splits begin with 0, never fall, and end with `count`."""
    if splits[0] != 0:
        raise invalid("TW207", f"{function}: {argument} begins with {splits[0]}", "0")
    if np.any(np.diff(splits) < 0):
        raise invalid("TW207", f"{function}: {argument}={splits.tolist()} is not increasing")
    if splits[-1] != count:
        raise invalid(
            "TW204",
            f"{function}: {argument} divides {splits[-1]} values, but there are {count}",
            f"{argument} that ends with the number of values",
        )


def check_rows(rows: np.ndarray, nrows: int | None, function: str) -> int:
    """Return the number of rows; errors unless `rows` are non-negative, in order, and below it."""
    if np.any(rows < 0) or np.any(np.diff(rows) < 0):
        raise invalid(
            "TW207", f"{function}: value_rowids={rows.tolist()} must be non-negative and in order"
        )
    least = int(rows[-1]) + 1 if len(rows) else 0
    if nrows is None:
        return least
    if nrows < least:
        raise value_error(
            "TW207",
            f"{function}: Expected nrows >= value_rowids[-1] + 1; got nrows={nrows}, "
            f"value_rowids[-1]={least - 1}",
        )
    return nrows


LONG = 64  # numbers of a row from which rows are copied one by one


def pad_rows(
    splits: np.ndarray, inner: np.ndarray, rows: int, columns: int, missing: int = -1
) -> np.ndarray:
    """Return rows of `inner` as an array [rows, columns, ...]; `missing` behind those too short."""
    result = np.empty((rows, columns, *inner.shape[1:]), inner.dtype)
    count = min(rows, len(splits) - 1)
    result[count:] = missing
    if splits[count] - splits[0] >= LONG * count:
        bounds = splits[: count + 1].tolist()
        for row, first, end in zip(result, bounds, bounds[1:]):
            length = min(end - first, columns)
            row[:length] = inner[first : first + length]
            row[length:] = missing
        return result
    result[:count] = missing
    whole = np.diff(splits[: count + 1])
    lengths = np.minimum(whole, columns)
    if np.array_equal(lengths, whole):
        taken = inner[splits[0] : splits[count]]
    else:
        taken = inner[ranges(splits[:count], lengths)]
    result[:count][np.arange(columns) < lengths[:, None]] = taken
    return result
