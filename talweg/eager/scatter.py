"""Updates of some rows or elements of a variable: its `scatter_*` methods."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from talweg.core import dispatch, locking
from talweg.core.dtypes import DType
from talweg.core.errors import invalid, type_error
from talweg.core.value import IndexedSlices, Operators
from talweg.eager.convert import convert_to_tensor
from talweg.execute.donation import UNSHARED, is_writable
from talweg.kernels.variable_updates import UPDATES


class ScatterUpdates(Operators):
    """The part of `tf.Variable` that writes to rows and elements named by indices.

    A failed call leaves the variable as it was, and a tensor that was read before keeps what it
    had: values are replaced whole wherever somebody else refers to them.
    """

    _tensor: Any
    _dtype: DType
    _name: str

    def present(self) -> Any:
        """Return the value; `ReplaceableValue` says how."""
        raise AssertionError("only Variable is made")

    def handle_read(self) -> Any:
        """Return the present value; `Variable` says how."""
        raise AssertionError("only Variable is made")

    def _replace(self, array: np.ndarray) -> None:
        raise AssertionError("only Variable is made")

    def _update_in_trace(self, rule: str, *operands: object, **params: object) -> Any:
        """Return a change of the variable in a graph; `Variable` says how."""
        raise AssertionError("only Variable is made")

    def _scatter(self, kind: str, slices: IndexedSlices) -> Any:
        if not isinstance(slices, IndexedSlices):
            raise type_error(
                "TW104", f"sparse_delta is not IndexedSlices: {slices!r}", "a tf.IndexedSlices"
            )
        if dispatch.context.base is not None:
            values = convert_to_tensor(slices.values, dtype=self._dtype)
            return self._update_in_trace(
                f"scatter_{kind}", convert_to_tensor(slices.indices), values
            )
        indices = np.asarray(convert_to_tensor(slices.indices)._array)
        updates = np.asarray(convert_to_tensor(slices.values, dtype=self._dtype)._array)
        self._check_rows(indices)
        self._change(f"scatter_{kind}", indices, updates)
        return self

    def _change(self, rule: str, *operands: np.ndarray) -> None:
        """Change rows: where they are, if nobody else refers to the value."""
        with locking.holding(self):
            tensor = self.take()
            array = tensor._array
            alone = getrefcount(tensor) <= UNSHARED and getrefcount(array) <= UNSHARED
            own = alone and is_writable(array)
            self._replace(UPDATES[rule](array, *operands, own=own))
            self._taken = None

    def _check_rows(self, indices: np.ndarray) -> None:
        rows = self.present().dims[0]
        bad = indices[(indices < 0) | (indices >= rows)]
        if bad.size:
            raise invalid(
                "TW206",
                f"indices contain {bad.flat[0]}, out of range for {rows} rows of '{self._name}'",
                f"indices in [0, {rows})",
            )

    def scatter_add(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Add slices to the rows they name."""
        return self._scatter("add", sparse_delta)

    def scatter_sub(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Subtract slices from the rows they name."""
        return self._scatter("sub", sparse_delta)

    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Set the rows that slices name."""
        return self._scatter("update", sparse_delta)

    def scatter_max(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Return the larger of row and slice."""
        return self._scatter("max", sparse_delta)

    def scatter_min(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Return the smaller of row and slice."""
        return self._scatter("min", sparse_delta)

    def scatter_mul(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Multiply the rows by the slices that name them."""
        return self._scatter("mul", sparse_delta)

    def scatter_div(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Divide the rows by the slices that name them."""
        return self._scatter("div", sparse_delta)

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Set rows within each batch: indices [b, n], values [b, n, ...]."""
        if dispatch.context.base is not None:
            values = convert_to_tensor(sparse_delta.values, dtype=self._dtype)
            return self._update_in_trace(
                "batch_update", convert_to_tensor(sparse_delta.indices), values
            )
        indices = np.asarray(convert_to_tensor(sparse_delta.indices)._array)
        updates = np.asarray(convert_to_tensor(sparse_delta.values, dtype=self._dtype)._array)
        with locking.holding(self):
            self._replace(UPDATES["batch_update"](self.present()._array, indices, updates))
        return self

    def _scatter_nd(self, kind: str, indices: object, updates: object) -> Any:
        if dispatch.context.base is not None:
            values = convert_to_tensor(updates, dtype=self._dtype)
            return self._update_in_trace(f"scatter_nd_{kind}", convert_to_tensor(indices), values)
        places = np.asarray(convert_to_tensor(indices)._array)
        values = np.asarray(convert_to_tensor(updates, dtype=self._dtype)._array)
        self._change(f"scatter_nd_{kind}", places, values)
        return self

    def scatter_nd_add(self, indices: object, updates: object, name: str | None = None) -> Any:
        """Add updates at indices."""
        return self._scatter_nd("add", indices, updates)

    def scatter_nd_sub(
        self, indices: list[Any], updates: list[float], name: str | None = None
    ) -> Any:
        """Subtract updates at indices."""
        return self._scatter_nd("sub", indices, updates)

    def scatter_nd_update(self, indices: object, updates: object, name: str | None = None) -> Any:
        """Set updates at indices."""
        return self._scatter_nd("update", indices, updates)

    def scatter_nd_max(
        self, indices: list[Any], updates: list[float], name: str | None = None
    ) -> Any:
        """Return the larger of old value and update."""
        return self._scatter_nd("max", indices, updates)

    def scatter_nd_min(
        self, indices: list[Any], updates: list[float], name: str | None = None
    ) -> Any:
        """Return the smaller of old value and update."""
        return self._scatter_nd("min", indices, updates)
