"""Signatures of TensorFlow 1: messages that say which tensors of a graph go in and come out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from talweg.api.composite_ops import as_it_is
from talweg.api.export import export
from talweg.compat_v1.graphs import default_graph
from talweg.core.dtypes import as_dtype, float32, string
from talweg.core.errors import value_error
from talweg.graph.symbol import Symbol
from talweg.interop.saved_model.constants import (
    CLASSIFY_METHOD_NAME,
    PREDICT_METHOD_NAME,
    REGRESS_METHOD_NAME,
)
from talweg.interop.saved_model.messages import SignatureDef, TensorInfo

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, TensorLike


@export("compat.v1.saved_model.build_tensor_info", "compat.v1.saved_model.utils.build_tensor_info")
@as_it_is
def build_tensor_info(tensor: Any) -> Any:
    """Return the name, dtype and shape of a tensor of a graph, as a message; a variable gives its
    read.

    RuntimeError in eager execution.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None, 2], name="x")
    ...     tf.saved_model.utils.build_tensor_info(x).name
    'x:0'
    """
    symbol = tensor.value() if hasattr(tensor, "initializer") else tensor
    if not isinstance(symbol, Symbol):
        raise RuntimeError("`build_tensor_info` is not supported in Eager mode.  [TW509]")
    message = TensorInfo(name=symbol.name, dtype=symbol.dtype.as_datatype_enum)
    message.tensor_shape.CopyFrom(symbol.shape.as_proto())
    return message


@export(
    "compat.v1.saved_model.get_tensor_from_tensor_info",
    "compat.v1.saved_model.utils.get_tensor_from_tensor_info",
)
@as_it_is
def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Any = None, import_scope: str | None = None
) -> Any:
    """Return the tensor of a graph that a message names.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [], name="x")
    ...     info = tf.saved_model.build_tensor_info(x)
    ...     tf.saved_model.get_tensor_from_tensor_info(info).name
    'x:0'
    """
    graph = graph or default_graph()
    prefix = f"{import_scope}/" if import_scope else ""
    return graph.get_tensor_by_name(prefix + tensor_info.name)


@export(
    "compat.v1.saved_model.build_signature_def",
    "compat.v1.saved_model.signature_def_utils.build_signature_def",
)
@as_it_is
def build_signature_def(
    inputs: dict[Any, Any] | None = None,
    outputs: dict[Any, Any] | None = None,
    method_name: str | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Any:
    """Return a signature of dictionaries of `build_tensor_info`s.

    >>> import talweg.compat.v1 as tf
    >>> tf.saved_model.build_signature_def(method_name="predict").method_name
    'predict'
    """
    message = SignatureDef()
    for key, info in (inputs or {}).items():
        message.inputs[key].CopyFrom(info)
    for key, info in (outputs or {}).items():
        message.outputs[key].CopyFrom(info)
    if method_name is not None:
        message.method_name = method_name
    return message


def _infos(tensors: dict[Any, Any], what: str) -> dict[str, Any]:
    if not tensors:
        raise value_error("TW509", f"Prediction {what} cannot be None or empty.")
    return {key: build_tensor_info(tensor) for key, tensor in tensors.items()}


@export(
    "compat.v1.saved_model.predict_signature_def",
    "compat.v1.saved_model.signature_def_utils.predict_signature_def",
)
@as_it_is
def predict_signature_def(inputs: dict[Any, Any], outputs: dict[Any, Any]) -> Any:
    """Return a signature for predictions, of dictionaries of tensors; ValueError if one is empty.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [], name="x")
    ...     tf.saved_model.predict_signature_def({"x": x}, {"y": x}).method_name
    'tensorflow/serving/predict'
    """
    return build_signature_def(
        _infos(inputs, "inputs"), _infos(outputs, "outputs"), PREDICT_METHOD_NAME
    )


def _check(tensor: object, dtype: DTypeLike, what: str) -> Any:
    info = build_tensor_info(tensor)
    if as_dtype(info.dtype) is not dtype:
        raise value_error(
            "TW102", f"{what} must be of type {dtype.name}, not {as_dtype(info.dtype).name}"
        )
    return info


@export(
    "compat.v1.saved_model.classification_signature_def",
    "compat.v1.saved_model.signature_def_utils.classification_signature_def",
)
@as_it_is
def classification_signature_def(
    examples: TensorLike, classes: TensorLike, scores: TensorLike
) -> Any:
    """Return a signature from examples (strings) to classes (strings), scores (float32), or both.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     x, y = tf.placeholder(tf.string, [None]), tf.placeholder(tf.float32, [None])
    ...     sorted(tf.saved_model.classification_signature_def(x, None, y).outputs)
    ['scores']
    """
    if examples is None:
        raise value_error("TW509", "Classification `examples` cannot be None.")
    if classes is None and scores is None:
        raise value_error("TW509", "Classification `classes` and `scores` cannot both be None.")
    outputs = {}
    if classes is not None:
        outputs["classes"] = _check(classes, string, "Classification classes")
    if scores is not None:
        outputs["scores"] = _check(scores, float32, "Classification scores")
    inputs = {"inputs": _check(examples, string, "Classification input tensors")}
    return build_signature_def(inputs, outputs, CLASSIFY_METHOD_NAME)


@export(
    "compat.v1.saved_model.regression_signature_def",
    "compat.v1.saved_model.signature_def_utils.regression_signature_def",
)
@as_it_is
def regression_signature_def(examples: TensorLike, predictions: TensorLike) -> Any:
    """Return a signature from examples (strings) to predictions (float32).

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default():
    ...     x, y = tf.placeholder(tf.string, [None]), tf.placeholder(tf.float32, [None])
    ...     sorted(tf.saved_model.regression_signature_def(x, y).outputs)
    ['outputs']
    """
    if examples is None or predictions is None:
        raise value_error("TW509", "Regression `examples` and `predictions` cannot be None.")
    inputs = {"inputs": _check(examples, string, "Regression input tensors")}
    outputs = {"outputs": _check(predictions, float32, "Regression output tensors")}
    return build_signature_def(inputs, outputs, REGRESS_METHOD_NAME)


@export(
    "compat.v1.saved_model.is_valid_signature",
    "compat.v1.saved_model.signature_def_utils.is_valid_signature",
)
@as_it_is
def is_valid_signature(signature_def: Any) -> bool:
    """Return whether a signature is one that servers know: to predict, classify or regress.

    >>> import talweg.compat.v1 as tf
    >>> tf.saved_model.is_valid_signature(tf.saved_model.build_signature_def())
    False
    """
    if signature_def is None:
        return False
    inputs, outputs = set(signature_def.inputs), set(signature_def.outputs)
    method = signature_def.method_name
    if method == CLASSIFY_METHOD_NAME:
        return inputs == {"inputs"} and bool(outputs) and outputs <= {"classes", "scores"}
    if method == REGRESS_METHOD_NAME:
        return inputs == {"inputs"} and outputs == {"outputs"}
    return method == PREDICT_METHOD_NAME and bool(inputs) and bool(outputs)
