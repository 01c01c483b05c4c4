"""tf.keras and the namespaces that are Keras's: optimizers, losses, metrics, initializers.

Keras is imported when one of them is first used, with talweg as its TensorFlow.
"""

from __future__ import annotations

from talweg.api.export import export_lazily
from talweg.api.tensorflow_alias import KERAS_NAMESPACES, keras_module

export_lazily(keras_module, "keras")
export_lazily(lambda: keras_module(first=True), "compat.v1.keras")
for _name in KERAS_NAMESPACES[1:]:
    export_lazily(lambda name=_name: keras_module(name), _name)
