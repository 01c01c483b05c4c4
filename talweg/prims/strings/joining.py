"""Strings joined: element by element, along axes, by segments, in runs of neighbours."""

from __future__ import annotations

import numpy as np

from talweg.core.aval import Aval
from talweg.core.declare import LOOP, check_dtype, primitive
from talweg.core.dtypes import int32, int64, string
from talweg.core.errors import OutOfRangeError, compose, invalid
from talweg.core.primitive import NoGradient, Reject, Sample
from talweg.kernels.strings.arrays import items, like, of_list

TEXT = NoGradient("strings have no derivative")


def texts(*strings: bytes) -> np.ndarray:
    """Return a vector of strings for samples."""
    return of_list(list(strings))


@primitive
class string_join:
    """z = x[0] + separator + x[1] + ...; shapes are equal, or scalars."""

    operands = "*inputs"
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(*inputs, separator):
        dims = ()
        for x in inputs:
            check_dtype("strings.join", "inputs", x.dtype, {string})
            if x.dims is None:
                return Aval(None, string)
            if x.dims and dims and len(x.dims) != len(dims):
                raise invalid(
                    "TW204", f"Input shapes do not match: {dims} vs. {x.dims}", "equal shapes"
                )
            known = zip(x.dims, dims)
            if any(type(m) is int and type(n) is int and m != n for m, n in known):
                raise invalid(
                    "TW204", f"Input shapes do not match: {dims} vs. {x.dims}", "equal shapes"
                )
            dims = dims or x.dims
        return Aval(dims, string)

    def numpy(*inputs: np.ndarray, separator):
        shapes = {np.shape(x) for x in inputs if np.ndim(x)}
        if len(shapes) > 1:
            raise invalid("TW204", f"Input shapes do not match: {shapes}", "equal shapes")
        shape = shapes.pop() if shapes else ()
        size = int(np.prod(shape))
        columns = [items(x) if np.ndim(x) else items(x) * size for x in inputs]
        mark = separator.encode()
        rows = zip(*columns) if inputs else [()]
        return like([mark.join(row) for row in rows], shape)

    samples = (Sample(texts(b"a", b"b"), texts(b"c", b""), separator="-", skip=("batch",)),)
    rejects = (Reject([], separator="", code="TW102"),)


@primitive
class reduce_join:
    """z = the strings along `axes`, joined; the first of the axes changes fastest."""

    operands = "x"
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(x, *, axes, keepdims, separator):
        check_dtype("strings.reduce_join", "inputs", x.dtype, {string})
        rank, places = len(x.dims), []
        for axis in axes:
            if not -rank <= axis < rank:
                text = f"Invalid reduction dimension {axis} for input with {rank} dimension(s)"
                raise OutOfRangeError(None, None, compose("TW206", text))
            if axis % rank in places:
                raise invalid("TW207", f"Duplicate reduction dimension {axis}", "each axis once")
            places.append(axis % rank)
        if keepdims:
            return Aval(tuple([1 if k in places else n for k, n in enumerate(x.dims)]), string)
        return Aval(tuple([n for k, n in enumerate(x.dims) if k not in places]), string)

    def numpy(x, *, axes, keepdims, separator):
        x = np.asarray(x, object)
        places = [axis % x.ndim for axis in axes]
        rest = [axis for axis in range(x.ndim) if axis not in places]
        kept = [x.shape[axis] for axis in rest]
        count = int(np.prod([x.shape[axis] for axis in places]))
        rows = x.transpose([*rest, *reversed(places)]).reshape(int(np.prod(kept)), count).tolist()
        found = like(map(separator.encode().join, rows), tuple(kept))
        return np.expand_dims(found, tuple(places)) if keepdims else found

    samples = (
        Sample(
            texts(b"a", b"b", b"c", b"d").reshape(2, 2),
            axes=(0,),
            keepdims=False,
            separator="",
            skip=("batch",),
        ),
    )
    rejects = (Reject([], axes=(), keepdims=False, separator="", code="TW102"),)


@primitive
class unsorted_segment_join:
    """z[s] = the strings x[i] with segment_ids[i] = s, joined in the order of i."""

    operands = "x segment_ids"
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(x, segment_ids, *, num_segments, separator):
        check_dtype("unsorted_segment_join", "inputs", x.dtype, {string})
        check_dtype("unsorted_segment_join", "segment_ids", segment_ids.dtype, {int32, int64})
        if not segment_ids.dims:
            raise invalid("TW203", "Segment_id cannot have rank 0", "at least a vector")
        for given, own in zip(segment_ids.dims, x.dims):
            if type(given) is int and type(own) is int and given != own:
                raise invalid(
                    "TW204",
                    f"segment_ids has shape {segment_ids.dims}, inputs {x.dims}",
                    "a prefix of the shape of inputs",
                )
        if type(num_segments) is int and num_segments < 0:
            raise invalid("TW207", f"num_segments is {num_segments}", "at least 0")
        return Aval((num_segments, *x.dims[len(segment_ids.dims) :]), string)

    def numpy(x, segment_ids, *, num_segments, separator):
        x, ids = np.asarray(x, object), np.asarray(segment_ids).reshape(-1)
        shape = x.shape[np.ndim(segment_ids) :]
        size = int(np.prod(shape))
        if ids.size and not 0 <= ids.min() <= ids.max() < num_segments:
            raise invalid(
                "TW206",
                "segment_ids are not allowed to exceed num_segments or to have negative values.",
                f"numbers from 0 to {num_segments - 1}",
            )
        parts: list = [[[] for _ in range(size)] for _ in range(num_segments)]
        for segment, row in zip(ids.tolist(), x.reshape(ids.size, size).tolist()):
            for position, text in enumerate(row):
                parts[segment][position].append(text)
        mark = separator.encode()
        return like([mark.join(part) for row in parts for part in row], (num_segments, *shape))

    samples = (
        Sample(
            texts(b"a", b"b", b"c"),
            np.array([1, 0, 1], np.int32),
            num_segments=3,
            separator="-",
            skip=("batch",),
        ),
    )
    rejects = (Reject([], [], num_segments=1, separator="", code="TW102"),)


def _runs(row: list, widths: tuple, pads: tuple, padding: int, separator: bytes) -> list:
    """Return the n-grams of a row, of one width after the other."""
    found: list = []
    for width in widths:
        around = width - 1 if padding < 0 else min(padding, width - 1)
        filled = [pads[0]] * around + row + [pads[1]] * around
        count = len(filled) - width + 1
        found += [separator.join(filled[k : k + width]) for k in range(count)]
    return found


@primitive
class string_ngrams:
    """n-grams of rows: values [n], splits [rows + 1] -> (n-grams, their splits).

    padding is -1 for one less than the width; with `preserve_short` a row that gives nothing and is
    not empty gives itself, padded.
    """

    operands = "values splits"
    tf_type = "StringNGrams"
    multiple = True
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(values, splits, *, widths, separator, pads, padding, preserve_short):
        check_dtype("strings.ngrams", "data", values.dtype, {string})
        return [Aval((None,), string), splits]

    def numpy(values, splits, *, widths, separator, pads, padding, preserve_short):
        texts, ends = items(values), splits.tolist()
        if not texts:
            return of_list([]), np.zeros_like(splits)
        mark, pads = separator.encode(), tuple([pad.encode() for pad in pads])
        grams_of_all: list = []
        counts = [0]
        for start, end in zip(ends, ends[1:]):
            row = texts[start:end]
            grams = _runs(row, widths, pads, padding, mark)
            if not grams and preserve_short and row:
                around = max(padding, 0)
                grams = [mark.join([pads[0]] * around + row + [pads[1]] * around)]
            grams_of_all += grams
            counts.append(len(grams_of_all))
        return of_list(grams_of_all), np.array(counts, splits.dtype)

    samples = (
        Sample(
            texts(b"a", b"b", b"c"),
            np.array([0, 2, 3]),
            widths=(2,),
            separator=" ",
            pads=("", ""),
            padding=0,
            preserve_short=True,
            skip=("batch",),
        ),
    )


@primitive
class string_format:
    """z = the template with each input in place of a placeholder.

    `groups` says how many operands are the parts of each input, `shown` writes them.
    """

    operands = "*inputs"
    no_gradient = TEXT
    batch = LOOP
    memory = "host"

    def infer(*inputs, template, placeholder, summarize, shown, groups):
        return Aval((), string)

    def numpy(*inputs, template, placeholder, summarize, shown, groups):
        given = iter(inputs)
        parts = [tuple([next(given) for _ in range(count)]) for count in groups]
        texts = [*[shown(part, summarize) for part in parts], ""]
        pieces = zip(template.split(placeholder), texts)
        text = "".join([piece for pair in pieces for piece in pair])
        return np.array(text.encode("utf-8", "surrogateescape"), object)

    samples = (
        Sample(
            np.array([1, 2]),
            template="<{}>",
            placeholder="{}",
            summarize=3,
            shown=lambda parts, count: str(parts[0]),
            groups=(1,),
            skip=("batch",),
        ),
    )
