"""Libraries that cannot work on talweg: most are written in C++ against TensorFlow's library.

What is imported of them is refused in one sentence, with what to use instead.  ImportError is what
libraries expect that can do without them.
"""

from __future__ import annotations

from importlib.machinery import PathFinder

from talweg.api.export import implement_hook
from talweg.core.errors import compose

OPERATIONS = "has operations in C++ that load TensorFlow's own library"
REFUSED = {  # package -> why, what to use instead
    "tensorflow_text": (
        OPERATIONS,
        "tf.strings, keras.layers.TextVectorization, keras_hub.tokenizers, or the packages "
        "tokenizers and sentencepiece",
    ),
    "tensorflow_io": (OPERATIONS, "tf.io.gfile with fsspec, tf.data.Dataset.from_generator"),
    "tensorflow_io_gcs_filesystem": (OPERATIONS, "tf.io.gfile with fsspec"),
    "tensorflow_addons": (
        f"{OPERATIONS}, and ended in 2024 with TensorFlow 2.14",
        "Keras 3, which has its layers, losses, metrics and optimizers, and keras_hub",
    ),
    "tensorflow_decision_forests": (OPERATIONS, "the package ydf, by the same authors"),
    "tensorflow_recommenders_addons": (OPERATIONS, "tensorflow_recommenders"),
    "tensorflow_federated": (
        "compiles its computations with TensorFlow's C++ runtime",
        "the package flwr with Keras",
    ),
    "tensorflow_transform": ("runs graphs in Apache Beam with TensorFlow", "keras.layers' adapt()"),
}


@implement_hook("refuse_library")
def refuse(name: str) -> None:
    """Raise ImportError if a package that is installed cannot work; nothing for all others."""
    known = REFUSED.get(name)
    if known is None or PathFinder.find_spec(name) is None:
        return
    why, instead = known
    text = f"{name} {why}, so it cannot run on talweg, which has the name `tensorflow` here"
    raise ImportError(compose("TW402", text, hint=instead), name=name)
