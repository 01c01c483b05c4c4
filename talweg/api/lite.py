"""tf.lite: the converter's names, for programs that write saved models for it.

A converter takes a saved model, functions or a Keras model, and can be set up; what it cannot do is
convert, which takes TensorFlow's own compiler.  It says how to go on: saved models written here are
read there.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from talweg.api.export import export
from talweg.core.dtypes import float32
from talweg.core.errors import UnimplementedError, compose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talweg.core.annotations import PathLike


def _refuse(what: str, source: str) -> NoReturn:
    raise UnimplementedError(
        None,
        None,
        compose(
            "TW402",
            f"{what}, which takes TensorFlow's own converter and interpreter",
            hint=f"save a SavedModel (model.export(folder) or tf.saved_model.save), and convert "
            f"{source} with TensorFlow: tf.lite.TFLiteConverter.from_saved_model(folder).convert()",
        ),
    )


class _Texts(enum.Enum):
    """Members that print as their values."""

    def __str__(self) -> str:
        return str(self.value)


@export("lite.Optimize")
class Optimize(_Texts):
    """Names the goals of a conversion.

    >>> import talweg as tf
    >>> tf.lite.Optimize.DEFAULT.value
    'DEFAULT'
    """

    DEFAULT = "DEFAULT"
    OPTIMIZE_FOR_SIZE = "OPTIMIZE_FOR_SIZE"
    OPTIMIZE_FOR_LATENCY = "OPTIMIZE_FOR_LATENCY"
    EXPERIMENTAL_SPARSITY = "EXPERIMENTAL_SPARSITY"


@export("lite.OpsSet")
class OpsSet(_Texts):
    """Names the sets of operations that a converted model may consist of.

    >>> import talweg as tf
    >>> str(tf.lite.OpsSet.SELECT_TF_OPS)
    'SELECT_TF_OPS'
    """

    TFLITE_BUILTINS = "TFLITE_BUILTINS"
    SELECT_TF_OPS = "SELECT_TF_OPS"
    TFLITE_BUILTINS_INT8 = "TFLITE_BUILTINS_INT8"
    EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8 = (
        "EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8"
    )
    EXPERIMENTAL_STABLEHLO_OPS = "EXPERIMENTAL_STABLEHLO_OPS"


@export("lite.RepresentativeDataset")
class RepresentativeDataset:
    """A function that gives examples of inputs.

    >>> import talweg as tf
    >>> list(tf.lite.RepresentativeDataset(lambda: iter([[1.0]])).input_gen())
    [[1.0]]
    """

    def __init__(self, input_gen: Callable[[], Any]):
        self.input_gen = input_gen


@export("lite.TargetSpec")
class TargetSpec:
    """Describes the target of a conversion: its operations and types.

    >>> import talweg as tf
    >>> tf.lite.TargetSpec().supported_ops
    {<OpsSet.TFLITE_BUILTINS: 'TFLITE_BUILTINS'>}
    """

    def __init__(
        self,
        supported_ops: Any = None,
        supported_types: Any = None,
        experimental_select_user_tf_ops: Any = None,
        experimental_supported_backends: Any = None,
    ):
        self.supported_ops = {OpsSet.TFLITE_BUILTINS} if supported_ops is None else supported_ops
        self.supported_types = set() if supported_types is None else supported_types
        self.experimental_select_user_tf_ops = experimental_select_user_tf_ops or set()
        self.experimental_supported_backends = experimental_supported_backends


@export("lite.TFLiteConverter")
class TFLiteConverter:
    """Holds a model and options; `convert` raises UnimplementedError, and says why.

    >>> import talweg as tf
    >>> converter = tf.lite.TFLiteConverter.from_saved_model("folder")
    >>> converter.optimizations = [tf.lite.Optimize.DEFAULT]
    >>> try:
    ...     converter.convert()
    ... except tf.errors.UnimplementedError as error:
    ...     print("with TensorFlow" in str(error))
    True
    """

    def __init__(self, funcs: Any, trackable_obj: Any = None):
        self.functions, self.trackable_obj = funcs, trackable_obj
        self.saved_model_dir: str | None = None
        self.optimizations: Any = set()
        self.representative_dataset: Any = None
        self.target_spec = TargetSpec()
        self.allow_custom_ops = False
        self.experimental_new_converter = self.experimental_new_quantizer = True
        self.experimental_enable_resource_variables = True
        self.inference_input_type = self.inference_output_type = float32

    @classmethod
    def from_saved_model(
        cls,
        saved_model_dir: Any,
        signature_keys: Any = None,
        tags: Sequence[str] | None = None,
    ) -> TFLiteConverter:
        """Return a converter for a saved model."""
        found = cls([], None)
        found.saved_model_dir = saved_model_dir
        return found

    @classmethod
    def from_keras_model(cls, model: Any) -> TFLiteConverter:
        """Return a converter for a Keras model."""
        return cls([], model)

    @classmethod
    def from_concrete_functions(cls, funcs: Any, trackable_obj: Any = None) -> TFLiteConverter:
        """Return a converter for functions."""
        return cls(funcs, trackable_obj)

    def convert(self) -> bytes:
        """Raise UnimplementedError: TensorFlow converts saved models that talweg wrote."""
        where = "that folder" if self.saved_model_dir is None else repr(self.saved_model_dir)
        _refuse("tf.lite.TFLiteConverter.convert makes a .tflite file", where)


@export("lite.Interpreter")
class Interpreter:
    """Raises UnimplementedError: TensorFlow or the package ai-edge-litert runs .tflite files.

    >>> import talweg as tf
    >>> try:
    ...     tf.lite.Interpreter("model.tflite")
    ... except tf.errors.UnimplementedError as error:
    ...     print("tf.lite.Interpreter" in str(error))
    True
    """

    def __init__(
        self,
        model_path: PathLike | None = None,
        model_content: Any = None,
        **options: object,
    ):
        _refuse("tf.lite.Interpreter runs .tflite files", "it")
