"""The memory of the loop interpreter: buffers, their bytes, and poison."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from talweg.core.dtypes import bool_
from talweg.core.errors import InternalError
from talweg.execute.loop_interpreter.values import COMBINE, compute_dtype, round_to_stored
from talweg.lower.ir.loops import Buffer, LoopProgram

_POISON = 0xFFF5  # the 16 bits: NaN in every float, -11 in int16


class BufferMemory:
    """The bytes of every buffer.

    Temporaries lie in one arena as soon as one of them has an offset: then memory that is given to
    two that live at the same time shows.
    """

    def __init__(self, program: LoopProgram, arrays: dict):
        self.bytes: dict[Buffer, NDArray] = {}
        self.cleared: set[Buffer] = set()  # stacks whose new rows are zero
        self.parts = [buffer for buffer in program.buffers if buffer.part is not None]
        self.scratch: list[NDArray] = []
        roots = [buffer for buffer in program.buffers if buffer.part is None]
        arena = _arena(roots)
        for position, buffer in enumerate(program.buffers):
            if buffer.part is not None:
                continue
            given = arrays.get(buffer.name, arrays.get(position, buffer.content))
            if buffer.kind in ("temporary", "private") and arena is not None:
                self.bytes[buffer] = arena[buffer.offset : buffer.offset + buffer.nbytes]
            elif buffer.kind in ("input", "state", "constant"):
                self.bytes[buffer] = _to_bytes(buffer, given)
            else:
                self.bytes[buffer] = _fill_poison(0 if buffer.kind == "stack" else buffer.nbytes)
            if buffer.kind == "scratch":
                self.scratch.append(self.bytes[buffer])
        for buffer in self.parts:
            self._place_part(buffer)

    def _place_part(self, buffer: Buffer) -> None:
        whole = buffer.part
        assert whole is not None
        if whole not in self.bytes:
            self._place_part(whole)
        if buffer.kind == "stack":
            self.bytes[buffer] = self.bytes[whole]
            return
        end = buffer.offset + buffer.nbytes
        if end > whole.nbytes:
            raise InternalError(None, None, f"{buffer} is no part of {whole}: it is longer")
        self.bytes[buffer] = self.bytes[whole][buffer.offset : end]

    def rows(self, buffer: Buffer) -> int:
        """Return the number of rows of a stack that there is memory for."""
        return len(self.bytes[buffer]) // max(1, buffer.nbytes // buffer.shape[0])

    def grow(self, buffer: Buffer, rows: int) -> None:
        """Allocate memory for this many rows of a stack."""
        more = rows * (buffer.nbytes // buffer.shape[0]) - len(self.bytes[buffer])
        if more > 0:
            new = np.zeros(more, np.uint8) if buffer in self.cleared else _fill_poison(more)
            self.bytes[buffer] = np.concatenate([self.bytes[buffer], new])
            for part in self.parts:
                if part.kind == "stack":
                    self._place_part(part)

    def clear(self, buffer: Buffer) -> None:
        """Zero all of a stack, memory not yet allocated too."""
        self.bytes[buffer][...] = 0
        self.cleared.add(buffer)

    def poison_scratch(self) -> bool:
        """Poison scratch buffers; whether there are any."""
        for held in self.scratch:
            _poison(held)
        return bool(self.scratch)

    def array(self, buffer: Buffer) -> NDArray:
        """Return a view of a buffer's elements in its shape."""
        found = self.elements(buffer).view(buffer.dtype.numpy_dtype)
        dims = (self.rows(buffer), *buffer.shape[1:]) if buffer.kind == "stack" else buffer.shape
        return found.reshape(dims)

    def elements(self, buffer: Buffer) -> NDArray:
        """Return a buffer's elements as stored; bool as bytes."""
        return self.bytes[buffer].view(np.uint8 if buffer.dtype is bool_ else _store(buffer))

    def read(self, buffer: Buffer, places: NDArray) -> NDArray:
        """Read elements as numbers to compute with."""
        self._require_inside(buffer, places)
        found = self.elements(buffer)[places]
        return found != 0 if buffer.dtype is bool_ else found.astype(compute_dtype(buffer.dtype))

    def write(self, buffer: Buffer, places: NDArray, values: NDArray, op: str | None) -> None:
        """Set elements, or combine them with values."""
        self._require_inside(buffer, places)
        held = self.elements(buffer)
        if op is None:
            held[places] = round_to_stored(values, buffer.dtype)
        elif compute_dtype(buffer.dtype) == buffer.dtype.numpy_dtype:
            COMBINE[op].at(held, places, values.astype(held.dtype))
        else:
            for place, value in zip(places, values):
                held[place] = COMBINE[op](held[place].astype(np.float32), value)

    def _require_inside(self, buffer: Buffer, places: NDArray) -> None:
        size = len(self.elements(buffer))
        if places.size and (places.min() < 0 or places.max() >= size):
            worst = places.min() if places.min() < 0 else places.max()
            message = f"index {worst} is outside of {buffer.name}, which has {size} elements"
            raise InternalError(None, None, message)


def _store(buffer: Buffer) -> Any:
    return buffer.dtype.numpy_dtype


def _arena(roots: list[Buffer]) -> NDArray | None:
    temporaries = [buffer for buffer in roots if buffer.kind in ("temporary", "private")]
    if not any(buffer.offset for buffer in temporaries):
        return None
    return _fill_poison(max(buffer.offset + buffer.nbytes for buffer in temporaries))


def _to_bytes(buffer: Buffer, given: np.ndarray) -> NDArray:
    if given is None:
        raise InternalError(None, None, f"no array for {buffer.kind} {buffer.name}")
    array = np.asarray(given)
    if array.dtype != buffer.dtype.numpy_dtype or array.size != buffer.size:
        message = f"{buffer.name} is {buffer.dtype.name} {buffer.shape}, not {array.dtype} "
        raise InternalError(None, None, message + str(array.shape))
    return array.flatten().view(np.uint8)


def _fill_poison(count: int) -> NDArray:
    made = np.empty(count, np.uint8)
    _poison(made)
    return made


def _poison(held: NDArray) -> None:
    held[0::2], held[1::2] = _POISON & 0xFF, _POISON >> 8
