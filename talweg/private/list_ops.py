"""`tensorflow.python.ops.list_ops`: lists of tensors, with the operations' defaults."""

from __future__ import annotations

from typing import Any

from talweg.api.export import look_up
from talweg.core.dtypes import int32
from talweg.core.shapes import TensorShape
from talweg.core.value import Tensor
from talweg.eager.convert import convert_to_tensor


def _call(operation: str, **kwargs: Any) -> Any:
    return look_up(f"raw_ops.{operation}")(**kwargs)


def element_shape_tensor(shape: Any) -> Any:
    """Return the shape of elements as a tensor: -1 for what is not known."""
    if isinstance(shape, Tensor):
        return shape
    known = TensorShape(shape)
    if known.rank is None:
        return convert_to_tensor(-1, int32)
    return convert_to_tensor([-1 if size is None else size for size in known.as_list()], int32)


def empty_tensor_list(
    element_shape: Any,
    element_dtype: Any,
    max_num_elements: Any = None,
    name: str | None = None,
) -> Any:
    """Return a list without elements."""
    return _call(
        "EmptyTensorList",
        element_shape=element_shape_tensor(element_shape),
        max_num_elements=convert_to_tensor(-1 if max_num_elements is None else max_num_elements),
        element_dtype=element_dtype,
    )


def tensor_list_reserve(
    element_shape: Any, num_elements: Any, element_dtype: Any, name: str | None = None
) -> Any:
    """Return a list of elements that are not there yet."""
    return _call(
        "TensorListReserve",
        element_shape=element_shape_tensor(element_shape),
        num_elements=convert_to_tensor(num_elements, int32),
        element_dtype=element_dtype,
    )


def tensor_list_from_tensor(tensor: Any, element_shape: Any, name: str | None = None) -> Any:
    """Return the rows of a tensor."""
    shape = element_shape_tensor(element_shape)
    return _call("TensorListFromTensor", tensor=convert_to_tensor(tensor), element_shape=shape)


def tensor_list_get_item(
    input_handle: Any,
    index: Any,
    element_dtype: Any,
    element_shape: Any = None,
    name: str | None = None,
) -> Any:
    """Return one element."""
    return _call(
        "TensorListGetItem",
        input_handle=input_handle,
        index=convert_to_tensor(index, int32),
        element_shape=element_shape_tensor(element_shape),
        element_dtype=element_dtype,
    )


def tensor_list_gather(
    input_handle: Any,
    indices: Any,
    element_dtype: Any,
    element_shape: Any = None,
    name: str | None = None,
) -> Any:
    """Return the elements at `indices`, stacked."""
    return _call(
        "TensorListGather",
        input_handle=input_handle,
        indices=convert_to_tensor(indices, int32),
        element_shape=element_shape_tensor(element_shape),
        element_dtype=element_dtype,
    )


def tensor_list_stack(
    input_handle: Any,
    element_dtype: Any,
    num_elements: int = -1,
    element_shape: Any = None,
    name: str | None = None,
) -> Any:
    """Return all elements, stacked."""
    return _call(
        "TensorListStack",
        input_handle=input_handle,
        element_shape=element_shape_tensor(element_shape),
        element_dtype=element_dtype,
        num_elements=num_elements,
    )


def tensor_list_push_back_batch(input_handles: Any, tensor: Any, name: str | None = None) -> Any:
    """Return lists with a row of a tensor more, one for each."""
    return _call("TensorListPushBackBatch", input_handles=input_handles, tensor=tensor)


def tensor_list_concat_lists(
    input_a: Any, input_b: Any, element_dtype: Any, name: str | None = None
) -> Any:
    """Return the elements of two lists, or of each pair of two arrays of lists."""
    return _call(
        "TensorListConcatLists", input_a=input_a, input_b=input_b, element_dtype=element_dtype
    )
