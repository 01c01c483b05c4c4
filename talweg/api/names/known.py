"""Looks up TensorFlow's names: whether talweg has one, or TensorFlow 2.21, or TensorFlow 1.

talweg's own come from the table that `@export` fills; those of TensorFlow that talweg does not have
yet stand in `absent.txt`, which `tools/compatibility.py` writes.  Nothing of the API is imported.
"""

from __future__ import annotations

import difflib
import functools
from pathlib import Path
from typing import NamedTuple

from talweg.api.export import V1, find_shared_name
from talweg.api.names.never import never
from talweg.api.table import NAMESPACES, TABLE
from talweg.api.table_v1 import SHARED
from talweg.api.tensorflow_alias import exists as is_module
from talweg.api.tensorflow_alias import without_v2

KERAS = ("keras", "optimizers", "losses", "metrics", "initializers")  # filled by Keras itself
GONE = {
    "contrib": "tf.contrib went with TensorFlow 2: its parts live on in other packages",
    "examples": "tf.examples.tutorials went with TensorFlow 2: tf.keras.datasets has the data",
}
OF_OTHERS = {  # packages beside TensorFlow: no proof of either generation
    "text": "tf.text is a package of its own (tensorflow_text), made for TensorFlow itself",
    "addons": "tf.addons is a package of its own (tensorflow_addons), made for TensorFlow itself; "
    "most of it is in tf.keras now",
    "hub": "tf.hub is a package of its own (tensorflow_hub); tf.saved_model.load reads its models",
    "probability": "tf.probability is a package of its own (tensorflow_probability)",
    "datasets": "tf.datasets is a package of its own (tensorflow_datasets); tf.keras.datasets has "
    "some data, tf.data.Dataset is the class",
}

NOT_NEEDED = "needs none"
AFTER_V1 = {  # names of TensorFlow 1 -> what programs for TensorFlow 2 have in their place
    "app": "absl.app",
    "assign": "v.assign(value)",
    "assign_add": "v.assign_add(value)",
    "assign_sub": "v.assign_sub(value)",
    "ConfigProto": "functions of tf.config",
    "control_dependencies": "needs none: operations run in the order of the lines",
    "disable_eager_execution": "tf.function where a graph is wanted",
    "disable_v2_behavior": "needs none: programs run eagerly",
    "div": "tf.math.divide, or /",
    "enable_eager_execution": "needs none: programs run eagerly",
    "enable_v2_behavior": "needs none: it behaves so",
    "flags": "absl.flags",
    "get_variable": "tf.Variable",
    "gfile": "tf.io.gfile",
    "global_variables_initializer": "needs none: variables have their values at once",
    "GPUOptions": "functions of tf.config",
    "layers": "tf.keras.layers",
    "local_variables_initializer": "needs none: variables have their values at once",
    "log": "tf.math.log",
    "logging": "absl.logging",
    "losses": "tf.keras.losses",
    "metrics": "tf.keras.metrics",
    "multinomial": "tf.random.categorical",
    "nn.dynamic_rnn": "tf.keras.layers.RNN",
    "nn.rnn_cell": "tf.keras.layers.LSTMCell and its like",
    "nn.static_rnn": "tf.keras.layers.RNN",
    "placeholder": "the arguments of a tf.function, or tf.keras.Input",
    "placeholder_with_default": "the arguments of a tf.function",
    "py_func": "tf.numpy_function or tf.py_function",
    "random_gamma": "tf.random.gamma",
    "random_normal": "tf.random.normal",
    "random_shuffle": "tf.random.shuffle",
    "random_uniform": "tf.random.uniform",
    "reset_default_graph": "needs none: there is no default graph",
    "Session": "needs none: operations give their values at once",
    "InteractiveSession": "needs none: operations give their values at once",
    "set_random_seed": "tf.random.set_seed",
    "sparse_tensor_to_dense": "tf.sparse.to_dense",
    "summary": "tf.summary.create_file_writer, then tf.summary.scalar",
    "to_bfloat16": "tf.cast(x, tf.bfloat16)",
    "to_double": "tf.cast(x, tf.float64)",
    "to_float": "tf.cast(x, tf.float32)",
    "to_int32": "tf.cast(x, tf.int32)",
    "to_int64": "tf.cast(x, tf.int64)",
    "train.AdamOptimizer": "tf.keras.optimizers.Adam",
    "train.AdagradOptimizer": "tf.keras.optimizers.Adagrad",
    "train.GradientDescentOptimizer": "tf.keras.optimizers.SGD",
    "train.MomentumOptimizer": "tf.keras.optimizers.SGD(momentum=...)",
    "train.RMSPropOptimizer": "tf.keras.optimizers.RMSprop",
    "train.Saver": "tf.train.Checkpoint",
    "trainable_variables": "module.trainable_variables of a tf.Module or a Keras model",
    "truncated_normal": "tf.random.truncated_normal",
    "variable_scope": "a tf.Module or a Keras layer that holds its variables",
    "global_variables": "module.variables of a tf.Module or a Keras model",
}
MEANT = {  # functions and classes as NumPy, PyTorch and JAX call them
    "absolute": "abs",
    "allclose": "debugging.assert_near",
    "amax": "reduce_max",
    "amin": "reduce_min",
    "arange": "range",
    "array": "constant",
    "as_tensor": "convert_to_tensor",
    "asarray": "convert_to_tensor",
    "astype": "cast",
    "autocast": "keras.mixed_precision.set_global_policy",
    "AvgPool2d": "keras.layers.AveragePooling2D",
    "BatchNorm1d": "keras.layers.BatchNormalization",
    "BatchNorm2d": "keras.layers.BatchNormalization",
    "BCELoss": "keras.losses.BinaryCrossentropy",
    "BCEWithLogitsLoss": "keras.losses.BinaryCrossentropy(from_logits=True)",
    "bmm": "matmul",
    "cat": "concat",
    "clamp": "clip_by_value",
    "clip": "clip_by_value",
    "concatenate": "concat",
    "Conv1d": "keras.layers.Conv1D",
    "Conv2d": "keras.layers.Conv2D",
    "Conv3d": "keras.layers.Conv3D",
    "cosine_similarity": "keras.losses.cosine_similarity",
    "cross_entropy": "nn.sparse_softmax_cross_entropy_with_logits",
    "CrossEntropyLoss": "keras.losses.SparseCategoricalCrossentropy(from_logits=True)",
    "cuda": 'config.list_physical_devices("GPU")',
    "DataLoader": "data.Dataset",
    "dot": "tensordot",
    "double": "float64",
    "empty": "zeros",
    "empty_like": "zeros_like",
    "eq": "equal",
    "flatten": "reshape",
    "float": "float32",
    "from_numpy": "constant",
    "full": "fill",
    "full_like": "fill",
    "functional": "nn",
    "ge": "greater_equal",
    "grad": "GradientTape",
    "gt": "greater",
    "half_": "float16",
    "hstack": "concat",
    "index_select": "gather",
    "inference_mode": "GradientTape.stop_recording",
    "int": "int32",
    "inv": "linalg.inv",
    "isfinite": "math.is_finite",
    "isinf": "math.is_inf",
    "isnan": "math.is_nan",
    "jit": "function",
    "L1Loss": "keras.losses.MeanAbsoluteError",
    "LayerNorm": "keras.layers.LayerNormalization",
    "le": "less_equal",
    "Linear": "keras.layers.Dense",
    "load": "saved_model.load, or tf.train.Checkpoint(...).restore",
    "log": "math.log",
    "long": "int64",
    "lt": "less",
    "manual_seed": "random.set_seed",
    "masked_select": "boolean_mask",
    "max": "reduce_max",
    "MaxPool2d": "keras.layers.MaxPooling2D",
    "mean": "reduce_mean",
    "min": "reduce_min",
    "mm": "matmul",
    "mse_loss": "keras.losses.MSE",
    "MSELoss": "keras.losses.MeanSquaredError",
    "mul": "multiply",
    "ne": "not_equal",
    "neg": "negative",
    "NLLLoss": "keras.losses.SparseCategoricalCrossentropy",
    "no_grad": "GradientTape.stop_recording",
    "nonzero": "where",
    "normal": "random.normal",
    "optim": "keras.optimizers",
    "pack": "stack",
    "Parameter": "Variable",
    "permute": "transpose",
    "power": "pow",
    "prod": "reduce_prod",
    "rand": "random.uniform",
    "randint": "random.uniform",
    "randn": "random.normal",
    "random.seed": "random.set_seed",
    "relu": "nn.relu",
    "repeat_interleave": "repeat",
    "save": "saved_model.save, or tf.train.Checkpoint(...).save",
    "scan": "scan",
    "softmax": "nn.softmax",
    "std": "math.reduce_std",
    "sub": "subtract",
    "sum": "reduce_sum",
    "swapaxes": "transpose",
    "take": "gather",
    "tensor": "constant",
    "topk": "math.top_k",
    "uniform": "random.uniform",
    "unpack": "unstack",
    "unsqueeze": "expand_dims",
    "utils": "data.Dataset for batches of data, tf.keras.utils for the rest",
    "var": "math.reduce_variance",
    "view": "reshape",
    "vmap": "vectorized_map",
    "vstack": "concat",
}


class KnownNames(NamedTuple):
    """Says of a name whether talweg and TensorFlow have it."""

    name: str  # as far as it was looked up: `float32.max` is `float32`
    there: bool  # talweg has it
    in_tensorflow: bool  # TensorFlow 2.21 has it
    generation: int  # 1: only compat.v1 has it, though it was asked for without; else 2
    is_namespace: bool = False


@functools.cache
def absent() -> frozenset[str]:
    """Return the names of TensorFlow 2.21 that talweg does not have,
    those of `compat.v1.` among them.
    """
    return frozenset((Path(__file__).parents[1] / "absent.txt").read_text().split())


@functools.cache
def absent_namespaces() -> frozenset[str]:
    """Return the namespaces those names are in."""
    return frozenset(
        name.rsplit(".", count)[0] for name in absent() for count in range(1, name.count(".") + 1)
    )


@functools.lru_cache(100_000)
def resolve(name: str, first: bool = False) -> KnownNames:
    """Look up a name relative to `tf`; `first`: as TensorFlow 1 would understand it.

    >>> resolve("math.add").there, resolve("float32.max").name, resolve("placeholder").generation
    (True, 'float32', 1)
    >>> resolve("placeholder", first=True).there
    True
    """
    if first and not name.startswith(V1) and name != V1[:-1]:
        known = plain(V1 + name)
        if known.there or known.in_tensorflow:
            return known
        return plain(name)
    known = plain(name)
    if known.there or known.in_tensorflow or name.startswith(V1):
        return known
    old = plain(V1 + name)
    if old.there or old.in_tensorflow or name.split(".")[0] in GONE:
        return known._replace(generation=1)
    return known


def only_second(name: str) -> bool:
    """Return whether TensorFlow 2 has a name that TensorFlow 1 has not.

    >>> only_second("random.set_seed"), only_second("nn.relu"), only_second("Session")
    (True, False, False)
    """
    found = plain(name)
    if not found.in_tensorflow or found.is_namespace or name.startswith(V1) or "__" in name:
        return False
    old = V1 + found.name
    return not (old in TABLE or old in absent() or find_shared_name(old))


def plain(name: str) -> KnownNames:
    """Look up exactly this name, without a thought of the other generation."""
    name = without_v2(name)
    parts = name.split(".") if name else []
    there = tensorflow = True
    if any(part.startswith("__") for part in parts):  # what every module has
        return KnownNames(name, True, True, 2)
    for count in range(1, len(parts) + 1):
        prefix = ".".join(parts[:count])
        if has(prefix):
            return KnownNames(prefix, True, True, 2)
        if own_part(prefix) in KERAS:
            return KnownNames(name, True, True, 2, is_namespace=True)
        there = prefix in NAMESPACES or is_module(prefix) or prefix in ("compat", V1[:-1])
        tensorflow = there or prefix in absent_namespaces()
        if prefix in absent():
            return KnownNames(prefix, False, True, 2)
        if not tensorflow:
            return KnownNames(prefix, False, False, 2)
    return KnownNames(name, there, tensorflow, 2, is_namespace=True)


def own_part(prefix: str) -> str:
    """Return a name without `compat.v1.`."""
    return prefix.removeprefix(V1) if prefix.removeprefix(V1) == "keras" else prefix


def has(name: str) -> bool:
    """Return whether talweg exports a name (no namespace)."""
    if name in TABLE:
        return name not in KERAS
    if name.startswith(V1):
        other = find_shared_name(name)
        return other is not None and other in TABLE
    return False


def describe(name: str, first: bool = False) -> str:
    """Explain why `tf.<name>` is not there, in a sentence; `first`: in a program for TensorFlow
    1.
    """
    known = resolve(name, first)
    shown = f"tf.{known.name}"
    head = known.name.removeprefix(V1).split(".")[0]
    rule = never(known.name)
    if known.there:
        only = f", by name only: it {rule.reason}; use {rule.instead}" if rule else ""
        return f"{shown} is there{only}"
    if head in GONE or head in OF_OTHERS:
        return GONE.get(head) or OF_OTHERS[head]
    if rule is not None:
        return f"{shown} will not be there: it {rule.reason}; use {rule.instead}"
    if known.in_tensorflow:
        return f"{shown} is in TensorFlow 2.21, but not in talweg yet"
    if known.generation == 1:
        old = f"tf.compat.v1.{known.name}, or talweg run --v1"
        return f"{shown} is a name of TensorFlow 1{successor(known.name)}; the old one: {old}"
    meant = MEANT.get(known.name) or MEANT.get(known.name.rpartition(".")[2])
    if meant is not None and meant != known.name:
        return f"{shown} is no name of TensorFlow 2.21: use tf.{meant}"
    near = alike(known.name)
    return f"{shown} is no name of TensorFlow 2.21" + (f"; did you mean {near}?" if near else "")


def successor(name: str) -> str:
    """Name TensorFlow 2's replacement of a name of TensorFlow 1, as a part of a sentence."""
    same = SHARED.get(name)
    if same is not None and has(same):
        return f": TensorFlow 2 has tf.{same}"
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        now = AFTER_V1.get(".".join(parts[:count]))
        if now is not None:
            return f": TensorFlow 2 {'' if now.startswith(NOT_NEEDED) else 'has '}{now}"
    return ""


def alike(name: str) -> str:
    """List the names that look most like one, in a sentence part."""
    space, _, last = name.rpartition(".")
    if last.startswith("_"):
        return ""  # what programs that look at objects ask for, such as `_mock_name`
    names = [other for other in TABLE if ":" not in other]
    if name.startswith(V1):
        names = [other for other in names if other.startswith(V1)] + [V1 + own for own in SHARED]
    else:
        names = [other for other in names if not other.startswith(V1)]
    own = {other.rpartition(".")[2]: other for other in names if other.rpartition(".")[0] == space}
    everywhere = {other.rpartition(".")[2]: other for other in reversed(names)}
    near = [other for other in names if other.rpartition(".")[2] == last][:2]
    for words, cutoff in ((own, 0.85), (everywhere, 0.9), (own, 0.7)):
        near = near or [words[word] for word in difflib.get_close_matches(last, words, 2, cutoff)]
    return " or ".join(f"tf.{other}" for other in near)
