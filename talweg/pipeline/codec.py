"""Elements as bytes, and specs as text: how caches and saved datasets stand in files.

An element is a header (JSON: dtype and shape of each tensor) and the tensors' bytes, strings with
their lengths.  Nothing is executed when it is read.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.dtypes import as_dtype
from talweg.core.errors import DataLossError, compose, type_error
from talweg.core.spec import NoneTensorSpec, TensorSpec
from talweg.eager.composite import SparseTensorSpec
from talweg.eager.ragged import RaggedTensorSpec
from talweg.graph import structure
from talweg.pipeline import element
from talweg.pipeline.element import ElementLayout

if TYPE_CHECKING:
    from talweg.core.spec import TypeSpec


_LENGTH = struct.Struct("<I")
_DAMAGE = (
    *(ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RecursionError),
    *(StopIteration, struct.error),
)


def encode(layout: ElementLayout, flat: tuple) -> bytes:
    """Return an element as bytes."""
    heads, bodies = [], []
    for array in layout.parts(flat):
        array = np.asarray(array)
        if array.dtype == object:
            texts = array.reshape(-1).tolist()
            heads.append(["string", list(array.shape), [len(item) for item in texts]])
            bodies += texts
        else:
            heads.append([as_dtype(array.dtype).name, list(array.shape), array.nbytes])
            bodies.append(np.ascontiguousarray(array).tobytes())
    head = json.dumps(heads).encode()
    return b"".join([_LENGTH.pack(len(head)), head, *bodies])


def decode(layout: ElementLayout, data: bytes) -> tuple:
    """Decode an element from bytes; DataLossError for bytes that hold none."""
    try:
        (size,) = _LENGTH.unpack_from(data)
        offset = _LENGTH.size + size
        arrays = []
        for name, shape, sizes in json.loads(data[_LENGTH.size : offset]):
            if name == "string":
                array = np.empty(len(sizes), object)
                for number, length in enumerate(sizes):
                    if length < 0 or offset + length > len(data):
                        raise ValueError(f"a string of {length} bytes at {offset} of {len(data)}")
                    array[number] = data[offset : offset + length]
                    offset += length
            else:
                dtype = as_dtype(name).numpy_dtype
                array = np.frombuffer(data, dtype, sizes // dtype.itemsize, offset)
                offset += sizes
            arrays.append(array.reshape(shape))
        if layout.plain and not (
            len(arrays) == len(layout.flat) and all(map(_fits, layout.flat, arrays))
        ):
            raise ValueError(f"its parts are not those of {layout.spec!r}")
        return layout.whole(arrays)
    except _DAMAGE as error:
        text = compose("TW209", f"a stored element cannot be read: {error}")
        raise DataLossError(None, None, text) from None


def _fits(spec: TypeSpec, array: np.ndarray) -> bool:
    return spec.dtype.numpy_dtype == array.dtype and spec.shape.is_compatible_with(array.shape)


# -- specs


def spec_to_json(spec: TypeSpec) -> Any:
    """Return a nest of specs as plain lists and dictionaries;
    TypeError for what cannot be stored.
    """
    if isinstance(spec, dict):
        return {"dict": {str(key): spec_to_json(spec[key]) for key in spec}}
    if element.is_nested(spec) and isinstance(spec, tuple):
        return {"tuple": [spec_to_json(part) for part in structure.children(spec)]}
    if isinstance(spec, NoneTensorSpec):
        return {"none": []}
    kinds = {TensorSpec: "tensor", SparseTensorSpec: "sparse", RaggedTensorSpec: "ragged"}
    kind = kinds.get(type(spec))
    if kind is None:
        raise type_error("TW104", f"elements of {spec!r} cannot be written to files")
    shape = None if spec.shape.rank is None else spec.shape.as_list()
    parts = [shape, spec.dtype.name]
    if kind == "ragged":
        parts += [spec.ragged_rank, spec.row_splits_dtype.name]
    return {kind: parts}


def spec_from_json(value: object) -> Any:
    """Return the nest of specs again."""
    ((kind, parts),) = value.items()
    if kind == "dict":
        return {key: spec_from_json(part) for key, part in parts.items()}
    if kind == "tuple":
        return tuple([spec_from_json(part) for part in parts])
    if kind == "none":
        return NoneTensorSpec()
    if kind == "sparse":
        return SparseTensorSpec(*parts)
    return RaggedTensorSpec(*parts) if kind == "ragged" else TensorSpec(*parts)
