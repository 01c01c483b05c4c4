"""HTML views for notebooks: of tensors, variables, datasets, functions and modules.

A view has a line of facts and the values as text; a tensor that looks like images has small
pictures, one of numbers a histogram that is drawn when its line is opened.  Nothing is computed
but what is shown, and values are read without the doctor or a tape noticing.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.export import implement_hook
from talweg.core.dtypes import DType, integer_view, of_numpy
from talweg.core.value import Tensor
from talweg.doctor.picture import preformat
from talweg.eager.format import numpy_text
from talweg.formats.images import png
from talweg.graph import structure

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike
    from talweg.core.spec import TensorSpec
    from talweg.eager.variable import Variable

PICTURES, SIDE = 8, 96  # how many are shown, and the longest side in pixels
SMALLEST = 4  # pixels of what may be an image
BINS, WIDTH, HEIGHT = 40, 320, 90
ROWS = 40  # of a table
GREY = "color:#666"
_SPEC = re.compile(r"TensorSpec\(shape=\(?([^()]*?),?\)?, dtype=tf\.(\w+), name=[^()]*\)")


@implement_hook("html_view")
def html_view(value: Any) -> str:
    """Return the HTML of a tensor, a variable, a dataset, a traced function or a module."""
    for fits, view in (
        (lambda v: hasattr(v, "element_spec") and hasattr(v, "stage"), of_dataset),
        (lambda v: hasattr(v, "all_traces"), of_function),
        (lambda v: hasattr(v, "pretty_printed_signature"), of_trace),
        (lambda v: hasattr(v, "row_splits"), of_ragged),
        (lambda v: hasattr(v, "dense_shape"), of_sparse),
        (lambda v: hasattr(v, "variables") and hasattr(v, "trainable_variables"), of_module),
        (lambda v: hasattr(v, "handle_read"), of_variable),
        (lambda v: isinstance(v, Tensor), of_tensor),
    ):
        if fits(value):
            return f'<div style="font-family:sans-serif">{view(value)}</div>'
    return preformat(html.escape(repr(value)))


def of_tensor(tensor: TensorLike) -> str:
    """Draw a tensor: shape, dtype, and its value if it has one."""
    if hasattr(tensor, "node"):
        text = f"<b>tf.Tensor</b> of a graph: shape {tensor.shape}, {tensor.dtype.name}"
        return f'{text} <span style="{GREY}">(a value comes when the graph runs)</span>'
    return of_array("tf.Tensor", tensor._array)


def of_variable(variable: Variable) -> str:
    """Draw a variable: name, and its value if it has one."""
    name = html.escape(str(variable.name).split(":")[0])
    frozen = "" if variable.trainable else ", not trainable"
    title = f"tf.Variable {name}{frozen}"
    array = getattr(variable.handle_read(), "_array", None)
    if array is None:
        return f"<b>{title}</b> shape {variable.shape}, {variable.dtype.name}"
    return of_array(title, array)


def of_array(title: str, array: np.generic | np.ndarray) -> str:
    """Draw an array under a title: facts, pictures or text, a histogram."""
    dtype: DType = of_numpy(array.dtype)
    head = f"<b>{title}</b> shape {tuple(np.shape(array))}, {dtype.name}"
    if dtype.name in ("resource", "variant"):
        return head
    plain = integer_view(np.asarray(array))
    facts = facts_of(plain)
    if facts:
        head += f' <span style="{GREY}">{facts}</span>'
    parts = [head, *pictures_of(plain)]
    with np.printoptions(threshold=200, edgeitems=3, linewidth=100):
        text = numpy_text(plain)
    label = "values" if len(parts) > 1 else ""
    look = "margin:4px 0;max-height:24em;overflow:auto"
    values = preformat(html.escape(text), look)
    parts.append(fold_content(label, values) if label else values)
    if plain.dtype.kind in "fiu" and plain.size > 1:
        parts.append(fold_content("histogram", histogram(plain)))
    return "\n".join(parts)


def fold_content(title: str, content: str) -> str:
    """Fold content that is shown when its title is opened."""
    return f'<details><summary style="{GREY}">{title}</summary>{content}</details>'


def facts_of(array: np.ndarray) -> str:
    """Return the range and mean of numbers, and how many of them are NaN or infinite."""
    if array.dtype.kind not in "fiu" or array.size < 2:
        return ""
    wide = array.astype(np.float64)
    good = wide[np.isfinite(wide)]
    bad = [
        f"{count} {name}"
        for name, count in (("NaN", int(np.isnan(wide).sum())), ("inf", int(np.isinf(wide).sum())))
        if count
    ]
    some = [f"{good.min():.4g} to {good.max():.4g}, mean {good.mean():.4g}"] if good.size else []
    return ", ".join(some + bad)


# -- images


def pictures_of(array: np.ndarray) -> list[str]:
    """Draw small pictures, if an array looks like one image or a batch of them."""
    if not looks_like_images(array):
        return []
    images = array if array.ndim == 4 else array[None]
    shown = [picture(image) for image in images[:PICTURES]]
    more = f" ... {len(images)} in all" if len(images) > PICTURES else ""
    return [f'<div style="margin:4px 0">{" ".join(shown)}{more}</div>']


def looks_like_images(array: np.ndarray) -> bool:
    """Return whether an array is [height, width, 1,
    3 or 4] or a batch of these, of bytes or of 0 to 1.
    """
    if array.ndim not in (3, 4) or array.shape[-1] not in (1, 3, 4) or not array.size:
        return False
    if min(array.shape[-3:-1]) < SMALLEST:
        return False
    if array.dtype == np.uint8:
        return True
    first = array if array.ndim == 3 else array[0]
    return array.dtype.kind == "f" and bool(first.min() >= 0 and first.max() <= 1)


def picture(image: np.ndarray) -> str:
    """Return an image as HTML, every so many pixels of a large one."""
    step = -(-max(image.shape[:2]) // SIDE)
    small = image[::step, ::step]
    if small.dtype != np.uint8:
        small = (np.nan_to_num(small.astype(np.float64)) * 255).round().clip(0, 255)
    data = base64.b64encode(png.encode(np.ascontiguousarray(small, np.uint8))).decode()
    scale = max(1, SIDE // max(small.shape[:2]))
    size = f'width="{small.shape[1] * scale}" height="{small.shape[0] * scale}"'
    return (
        f'<img src="data:image/png;base64,{data}" {size} '
        'style="image-rendering:pixelated;border:1px solid #ccc">'
    )


def histogram(array: np.ndarray) -> str:
    """Draw the distribution of numbers as SVG."""
    wide = array.astype(np.float64).reshape(-1)
    good = wide[np.isfinite(wide)]
    if not good.size:
        return "no finite numbers"
    counts, edges = np.histogram(good, bins=min(BINS, max(1, good.size)))
    wide_bar, tallest = WIDTH / len(counts), max(1, int(counts.max()))
    bars = [
        f'<rect x="{i * wide_bar:.1f}" y="{HEIGHT - count / tallest * HEIGHT:.1f}" '
        f'width="{wide_bar - 0.5:.1f}" height="{count / tallest * HEIGHT:.1f}">'
        f"<title>{edges[i]:.4g} to {edges[i + 1]:.4g}: {count}</title></rect>"
        for i, count in enumerate(counts)
    ]
    labels = (
        f'<text x="0" y="{HEIGHT + 14}">{edges[0]:.4g}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT + 14}" text-anchor="end">{edges[-1]:.4g}</text>'
    )
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT + 18}" viewBox="0 0 {WIDTH} {HEIGHT + 18}" '
        f'font-family="sans-serif" font-size="11" fill="#666"><g fill="#4f7cac">{"".join(bars)}</g>'
        f"{labels}</svg>"
    )


# -- what is no array


def of_dataset(dataset: Any) -> str:
    """Return a dataset: how many elements, and what an element is made of."""
    count = int(dataset.cardinality())
    size = {-1: "infinitely many", -2: "an unknown number of"}.get(count, str(count))
    rows = [
        (name or "element", str(getattr(spec, "shape", "")), kind_of(spec))
        for name, spec in leaves_of(dataset.element_spec)
    ]
    return f"<b>tf.data.Dataset</b>, {size} elements" + table(("", "shape", "dtype"), rows)


def kind_of(spec: TensorSpec) -> str:
    """Return the dtype of a leaf, or the name of its spec's class."""
    dtype = getattr(spec, "dtype", None)
    return type(spec).__name__ if dtype is None else dtype.name


def leaves_of(nest: TensorSpec | dict[Any, Any], name: str = "") -> Iterable[tuple[str, Any]]:
    """Return the leaves of a nest, with where they are."""
    if isinstance(nest, dict):
        for key, part in nest.items():
            yield from leaves_of(part, f"{name}[{key!r}]")
    elif isinstance(nest, (tuple, list)):
        for place, part in enumerate(nest):
            yield from leaves_of(part, f"{name}[{place}]")
    else:
        for leaf in structure.flatten(nest):
            yield name, leaf


def of_function(function: Any) -> str:
    """Return a traced function: its traces, and why there is more than one."""
    traces = function.all_traces()
    name = html.escape(function.name)
    count = function.experimental_get_tracing_count()
    text = f"<b>tf.function {name}</b>, traced {'once' if count == 1 else f'{count} times'}"
    rows = [(short_signature(trace), str(len(trace.variables))) for trace in traces]
    if rows:
        text += table(("trace", "variables"), rows)
    reasons = function.retracing_reasons()
    if reasons:
        items = "".join(f"<li>{html.escape(reason)}</li>" for reason in reasons)
        text += fold_content("why it was traced again", f"<ul>{items}</ul>")
    return text


def short_signature(trace: Any) -> str:
    """Format the signature of a trace on one line, tensors as `float32[2, None]`."""
    return _SPEC.sub(r"\2[\1]", trace.pretty_printed_signature(False))


def of_trace(trace: Any) -> str:
    """Return a trace of a function: what it takes and gives, and its variables."""
    signature = html.escape(trace.pretty_printed_signature())
    rows = [(v.name.split(":")[0], str(v.shape), name_of(v.dtype)) for v in trace.variables]
    variables = table(("variable", "shape", "dtype"), rows) if rows else ""
    return f"<b>a trace of a tf.function</b>{preformat(signature)}{variables}"


def of_ragged(tensor: Any) -> str:
    """Draw a ragged tensor: its shape, how long rows are, and the first of them."""
    values = tensor.flat_values
    head = f"<b>tf.RaggedTensor</b> shape {tensor.shape}, {tensor.dtype.name}"
    if hasattr(values, "node"):
        return f'{head} <span style="{GREY}">(values come when the graph runs)</span>'
    lengths = np.diff(tensor.row_splits._array)
    if lengths.size:
        facts = f"{lengths.size} rows of {lengths.min()} to {lengths.max()} elements"
        head += f' <span style="{GREY}">{facts}, {int(lengths.sum()):,} in all</span>'
    rows = [(str(place), repr(row.numpy().tolist())) for place, row in zip(range(ROWS), tensor)]
    more = [("...", f"{lengths.size - ROWS} more")] if lengths.size > ROWS else []
    return head + table(("row", "values"), [(i, cut(text)) for i, text in rows] + more, ROWS + 1)


def of_sparse(tensor: Any) -> str:
    """Return a sparse tensor: its shape, how much of it is there, and the first values."""
    head = f"<b>tf.SparseTensor</b> shape {tensor.shape}, {tensor.dtype.name}"
    if hasattr(tensor.values, "node"):
        return f'{head} <span style="{GREY}">(values come when the graph runs)</span>'
    places, values = tensor.indices._array, tensor.values._array
    whole = int(np.prod(tensor.dense_shape._array))
    share = f", {len(values) / whole:.2%}" if whole else ""
    head += f' <span style="{GREY}">{len(values):,} of {whole:,} elements{share}</span>'
    rows = [(str(tuple(p.tolist())), repr(v.tolist())) for p, v in zip(places[:ROWS], values)]
    more = [("...", f"{len(values) - ROWS} more")] if len(values) > ROWS else []
    return head + table(("index", "value"), rows + more, ROWS + 1)


def cut(text: str) -> str:
    """Cut a text to at most a hundred characters."""
    return text if len(text) <= 100 else text[:96] + " ..."


def of_module(module: Any) -> str:
    """Return a module or model: its variables, how many numbers they have, and what is trained."""
    variables = list(module.variables)
    sizes = [int(np.prod(tuple(v.shape))) for v in variables]
    trained = sum(size for v, size in zip(variables, sizes) if v.trainable)
    rows = [
        (str(getattr(v, "path", "") or v.name).split(":")[0], str(tuple(v.shape)), name_of(v.dtype))
        for v in variables
    ]
    head = f"<b>{html.escape(type(module).__name__)}</b> {html.escape(str(module.name))}: "
    head += f"{len(variables)} variables, {sum(sizes):,} numbers, {trained:,} of them trained"
    return head + table(("variable", "shape", "dtype"), rows)


def name_of(dtype: DType | str) -> str:
    """Return a dtype's name; Keras has texts."""
    return getattr(dtype, "name", None) or str(dtype)


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]], most: int = ROWS) -> str:
    """Return a table; the middle of one of more than `most` rows is left out."""
    if len(rows) > most:
        left_out = (f"... {len(rows) - most} more ...", *[""] * (len(heads) - 1))
        rows = [*rows[: most // 2], left_out, *rows[-most // 2 :]]
    look = "text-align:left;padding:1px 12px 1px 0;font-family:monospace;font-weight:normal"
    look += ";white-space:pre-wrap"
    style = f'style="{look}"'
    top = "".join(f'<th {style}><span style="{GREY}">{head}</span></th>' for head in heads)
    body = "".join(
        "<tr>" + "".join(f"<td {style}>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f'<table style="margin:4px 0"><tr>{top}</tr>{body}</table>'
