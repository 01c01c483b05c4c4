"""tf.compat.v1: codes of errors, files beside the program, numbers of versions, structures."""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talweg.api.export import export, export_value, look_up
from talweg.core import errors

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike, TensorLike

# -- errors

_CLASSES = {
    cls.code: cls
    for cls in vars(errors).values()
    if inspect.isclass(cls)
    and issubclass(cls, errors.OpError)
    and cls.__name__[0] != "_"
    and cls is not errors.OpError
}


@export("compat.v1.errors.exception_type_from_error_code")
def exception_type_from_error_code(error_code: int) -> Any:
    """Return the class of errors with a code; KeyError for others.

    >>> import talweg.compat.v1 as tf
    >>> tf.errors.exception_type_from_error_code(5).__name__
    'NotFoundError'
    """
    return _CLASSES[error_code]


@export("compat.v1.errors.error_code_from_exception_type")
def error_code_from_exception_type(cls: Any) -> int:
    """Return the code of a class of errors; 2 (unknown) for others."""
    return next((code for code, own in _CLASSES.items() if own is cls), 2)


@export("compat.v1.errors.raise_exception_on_not_ok_status")
class raise_exception_on_not_ok_status:
    """A context that lets errors through."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> bool:
        return False


# -- files beside the program


PACKAGE = str(Path(__file__).resolve().parent.parent)


def _folder() -> str:
    """Return the folder of the file that calls, the first outside of talweg."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return os.path.dirname(frame.f_code.co_filename)


@export("compat.v1.resource_loader.get_data_files_path")
def get_data_files_path() -> str:
    """Return the folder of the file that calls."""
    return _folder()


@export("compat.v1.resource_loader.get_path_to_datafile")
def get_path_to_datafile(path: str) -> str:
    """Return a path relative to the folder of the file that calls."""
    return os.path.join(_folder(), path)


@export("compat.v1.resource_loader.get_root_dir_with_all_resources")
def get_root_dir_with_all_resources() -> str:
    """Return the folder of the file that calls."""
    return _folder()


@export("compat.v1.resource_loader.load_resource")
def load_resource(path: str) -> bytes:
    """Return the contents of a file."""
    return Path(path).read_bytes()


@export("compat.v1.resource_loader.readahead_file_path")
def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Return the path itself."""
    return path


# -- versions and types

export_value(0, "compat.v1.CXX11_ABI_FLAG", "compat.v1.MONOLITHIC_BUILD")
export_value(
    0, "compat.v1.GRAPH_DEF_VERSION_MIN_CONSUMER", "compat.v1.GRAPH_DEF_VERSION_MIN_PRODUCER"
)
export_value(201703, "compat.v1.CXX_VERSION")
export_value(2300, "compat.v1.GRAPH_DEF_VERSION")


@export("compat.v1.io.TFRecordCompressionType", "compat.v1.python_io.TFRecordCompressionType")
class TFRecordCompressionType:
    """Numbers of the ways to compress records."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


@export("compat.v1.data.experimental.SparseTensorStructure")
def SparseTensorStructure(dtype: DTypeLike, shape: ShapeLike) -> Any:
    """Return `tf.SparseTensorSpec(shape, dtype)`."""
    return look_up("SparseTensorSpec")(shape, dtype)


@export("compat.v1.data.experimental.RaggedTensorStructure")
def RaggedTensorStructure(dtype: DTypeLike, shape: ShapeLike, ragged_rank: int) -> Any:
    """Return `tf.RaggedTensorSpec(shape, dtype, ragged_rank)`."""
    return look_up("RaggedTensorSpec")(shape, dtype, ragged_rank)


@export("compat.v1.data.experimental.TensorArrayStructure")
def TensorArrayStructure(
    dtype: DTypeLike, element_shape: ShapeLike, dynamic_size: bool, infer_shape: bool
) -> Any:
    """Return `tf.TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)`."""
    return look_up("TensorArraySpec")(element_shape, dtype, dynamic_size, infer_shape)


@export("compat.v1.data.experimental.TensorStructure")
def TensorStructure(dtype: DTypeLike, shape: ShapeLike) -> Any:
    """Return `tf.TensorSpec(shape, dtype)`."""
    return look_up("TensorSpec")(shape, dtype)


@export("compat.v1.distribute.get_loss_reduction")
def get_loss_reduction() -> Any:
    """Return the reduction of replicas' losses: their sum."""
    return look_up("distribute.ReduceOp").SUM


@export("compat.v1.experimental.output_all_intermediates")
def output_all_intermediates(state: TensorLike) -> None:
    """Do nothing: gradients keep their residuals."""
