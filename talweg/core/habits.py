"""Habits: attributes of other libraries and of TensorFlow 1 that users try on tensors and datasets.

Each name is a descriptor on the class that raises AttributeError with the cure: to whoever asks
with `hasattr` it is not there, and attributes that are there cost nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.core.errors import compose, type_error
from talweg.core.tracebacks import boundary

if TYPE_CHECKING:
    from collections.abc import Callable

TAPE = "with tf.GradientTape() as tape: ...compute the loss; then tape.gradient(loss, variables)"
_ASSIGN = "a tf.Variable; v = v - 0.1 makes a tensor of one, v.assign_sub(0.1) changes it"
MEANT = {  # attribute -> what to write; x is the tensor
    "abs": "tf.abs(x)",
    "add": "x + y",
    "all": "tf.reduce_all(x)",
    "amax": "tf.reduce_max(x, axis)",
    "amin": "tf.reduce_min(x, axis)",
    "any": "tf.reduce_any(x)",
    "argmax": "tf.argmax(x, axis)",
    "argmin": "tf.argmin(x, axis)",
    "append": "tf.concat([x, [value]], 0); in a loop: a Python list, then tf.stack",
    "argsort": "tf.argsort(x)",
    "astype": "tf.cast(x, tf.float32)",
    "assign": _ASSIGN,
    "assign_add": _ASSIGN,
    "assign_sub": _ASSIGN,
    "at": "tf.tensor_scatter_nd_update(x, indices, updates), which gives a new tensor",
    "backward": TAPE,
    "block_until_ready": "x.numpy()",
    "bmm": "x @ y",
    "bool": "tf.cast(x, tf.bool)",
    "ceil": "tf.math.ceil(x)",
    "chunk": "tf.split(x, count, axis)",
    "clamp": "tf.clip_by_value(x, low, high)",
    "clip": "tf.clip_by_value(x, low, high)",
    "clone": "tf.identity(x)",
    "conj": "tf.math.conj(x)",
    "contiguous": "x itself: leave the call out, tensors are contiguous where it matters",
    "copy": "tf.identity(x); tensors never change, so none is needed",
    "cos": "tf.cos(x)",
    "cuda": "x itself: leave the call out; functions run on the GPU if there is one",
    "cumprod": "tf.math.cumprod(x, axis)",
    "cumsum": "tf.cumsum(x, axis)",
    "data": "x.numpy()",
    "detach": "tf.stop_gradient(x)",
    "diagonal": "tf.linalg.diag_part(x)",
    "dim": "x.ndim",
    "div": "x / y",
    "dot": "tf.tensordot(x, y, 1), or x @ y for matrices",
    "double": "tf.cast(x, tf.float64)",
    "eq": "x == y",
    "exp": "tf.exp(x)",
    "expand": "tf.broadcast_to(x, shape)",
    "fill": "tf.fill(x.shape, value)",
    "flat": "tf.reshape(x, [-1])",
    "flatten": "tf.reshape(x, [-1])",
    "float": "tf.cast(x, tf.float32)",
    "floor": "tf.floor(x)",
    "gather": "tf.gather(x, indices, axis=axis, batch_dims=axis)",
    "grad": TAPE,
    "H": "tf.linalg.adjoint(x)",
    "half": "tf.cast(x, tf.float16)",
    "imag": "tf.math.imag(x)",
    "index_select": "tf.gather(x, indices, axis=axis)",
    "int": "tf.cast(x, tf.int32)",
    "is_cuda": "'GPU' in x.device",
    "isnan": "tf.math.is_nan(x)",
    "item": "x.numpy(), or float(x), for a tensor of one element",
    "itemsize": "x.dtype.size",
    "log": "tf.math.log(x)",
    "log_softmax": "tf.nn.log_softmax(x, axis)",
    "long": "tf.cast(x, tf.int64)",
    "masked_fill": "tf.where(mask, value, x)",
    "masked_select": "tf.boolean_mask(x, mask)",
    "matmul": "x @ y",
    "max": "tf.reduce_max(x, axis)",
    "mean": "tf.reduce_mean(x, axis)",
    "min": "tf.reduce_min(x, axis)",
    "mm": "x @ y",
    "mT": "tf.linalg.matrix_transpose(x)",
    "mul": "x * y",
    "narrow": "x[start:start + size]",
    "new_zeros": "tf.zeros(shape, x.dtype)",
    "nonzero": "tf.where(x)",
    "norm": "tf.norm(x)",
    "numel": "tf.size(x), or x.shape.num_elements()",
    "permute": "tf.transpose(x, axes)",
    "pow": "x ** y",
    "prod": "tf.reduce_prod(x, axis)",
    "ravel": "tf.reshape(x, [-1])",
    "real": "tf.math.real(x)",
    "relu": "tf.nn.relu(x)",
    "repeat": "tf.tile(x, counts) as PyTorch's, tf.repeat(x, count) as NumPy's",
    "requires_grad": "tf.Variable(x), or tape.watch(x)",
    "requires_grad_": "tf.Variable(x), or tape.watch(x)",
    "reshape": "tf.reshape(x, shape)",
    "round": "tf.round(x)",
    "scatter": "tf.tensor_scatter_nd_update(x, indices, updates)",
    "sigmoid": "tf.sigmoid(x)",
    "sin": "tf.sin(x)",
    "size": "tf.size(x) as NumPy's, x.shape as PyTorch's",
    "softmax": "tf.nn.softmax(x, axis)",
    "sort": "tf.sort(x, axis)",
    "split": "tf.split(x, count, axis)",
    "sqrt": "tf.sqrt(x)",
    "square": "tf.square(x)",
    "squeeze": "tf.squeeze(x, axis)",
    "std": "tf.math.reduce_std(x, axis)",
    "sub": "x - y",
    "sum": "tf.reduce_sum(x, axis)",
    "swapaxes": "tf.transpose(x, axes)",
    "T": "tf.transpose(x)",
    "t": "tf.transpose(x)",
    "take": "tf.gather(x, indices)",
    "tanh": "tf.tanh(x)",
    "to": "tf.cast(x, dtype); for a device: with tf.device(...)",
    "tolist": "x.numpy().tolist()",
    "topk": "tf.math.top_k(x, k)",
    "trace": "tf.linalg.trace(x)",
    "transpose": "tf.transpose(x, axes)",
    "tril": "tf.linalg.band_part(x, -1, 0)",
    "triu": "tf.linalg.band_part(x, 0, -1)",
    "type": "tf.cast(x, dtype), or x.dtype",
    "unbind": "tf.unstack(x, axis=axis)",
    "unsqueeze": "tf.expand_dims(x, axis)",
    "_unique_id": "optimizer.apply_gradients(zip(gradients, variables)), if this is an optimizer",
    "var": "tf.math.reduce_variance(x, axis)",
    "view": "tf.reshape(x, shape)",
    "zero_grad": "nothing: tape.gradient gives new gradients each time, and adds up none",
    "zero_": "v.assign(tf.zeros_like(v)) for a variable v",
}
_FIRST_ITERATOR = "for x in dataset: ..., or iter(dataset); in a graph, the function of this name "
OF_MODULES = {  # attribute -> what to write, of modules as PyTorch has them
    "load_state_dict": "tf.train.Checkpoint(model=module).restore(path)",
    "named_parameters": "[(v.name, v) for v in module.trainable_variables]",
    "parameters": "module.trainable_variables",
    "state_dict": "tf.train.Checkpoint(model=module).save(prefix); the values: module.variables",
    "zero_grad": "nothing: each tape starts without gradients",
}
OF_DATASETS = {  # attribute -> what to write, for datasets
    "append": "dataset.concatenate(other)",
    "get_next": "next(iter(dataset))",
    "head": "dataset.take(n)",
    "make_initializable_iterator": _FIRST_ITERATOR + "in tf.compat.v1.data",
    "make_one_shot_iterator": _FIRST_ITERATOR + "in tf.compat.v1.data",
    "next": "next(iter(dataset))",
    "numpy": "list(dataset.as_numpy_iterator())",
    "output_shapes": "dataset.element_spec",
    "output_types": "dataset.element_spec",
    "shape": "dataset.element_spec, or dataset.cardinality() for the number of elements",
    "size": "dataset.cardinality()",
    "to_list": "list(dataset)",
    "to_numpy": "list(dataset.as_numpy_iterator())",
    "tolist": "list(dataset)",
}
IN_PLACE = ("add_", "sub_", "mul_", "div_", "copy_", "fill_", "clamp_")


class Habit:
    """An attribute that is not there, with what to write instead."""

    def __init__(self, name: str, cure: str):
        self.name, self.cure = name, cure

    @boundary
    def __get__(self, instance: object, owner: type) -> Any:
        text = f"{owner.__name__!r} object has no attribute {self.name!r}"
        text = compose("TW104", text, hint=self.cure)
        error = AttributeError(text)
        error.name = self.name
        raise error


@boundary
def refuse_items(self: Any, key: int, value: float | None = None) -> None:
    """Raise TypeError: tensors never change."""
    raise type_error(
        "TW104",
        f"{type(self).__name__!r} object does not support item assignment: tensors never change",
        hint="x = tf.tensor_scatter_nd_update(x, [[index]], [value]), tf.where(mask, value, x), or "
        "a tf.Variable v and v[index].assign(value)",
    )


@boundary
def refuse_deletion(self: Any, key: int) -> None:
    """Raise TypeError: tensors keep their elements."""
    raise type_error(
        "TW104",
        f"{type(self).__name__!r} object does not support item deletion",
        hint="tf.boolean_mask(x, kept), or tf.concat([x[:index], x[index + 1:]], 0)",
    )


@boundary
def refuse_variable_items(self: Any, key: int, value: float | None = None) -> None:
    """Raise TypeError: elements of variables are assigned by a method."""
    raise type_error(
        "TW104",
        f"{type(self).__name__!r} object does not support item assignment",
        hint="v[index].assign(value)",
    )


def add_tensor_habits(cls: Any, items: Callable) -> None:
    """Give `cls` the names that tensors have not, and what `x[0] = 1` says."""
    cures = MEANT | dict.fromkeys(IN_PLACE, "v.assign(...) of a tf.Variable v")
    cures |= {"add_": "v.assign_add(...) of a tf.Variable v", "sub_": "v.assign_sub(...) of one"}
    add_habits(cls, cures)
    cls.__setitem__, cls.__delitem__ = items, refuse_deletion


def add_habits(cls: Any, cures: dict[str, str]) -> None:
    """Give `cls` the attributes that it has not, which raise AttributeError with the cure."""
    for name, cure in cures.items():
        if not hasattr(cls, name):
            setattr(cls, name, Habit(name, cure))


def without_habits(names: list[str], cls: type) -> list[str]:
    """Return the names that `dir` lists for an object."""
    return [name for name in names if not is_habit(cls, name)]


def is_habit(cls: type, name: str) -> bool:
    """Return whether a name of a class is one of these."""
    found = next((part.__dict__[name] for part in cls.__mro__ if name in part.__dict__), None)
    return isinstance(found, Habit)
