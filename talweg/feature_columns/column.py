"""The base classes of feature columns: look-up of raw features, and their transformation."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.api.arguments import tensor
from talweg.api.array.gathering import gather_nd, where
from talweg.api.array.shapes import expand_dims
from talweg.api.array.shapes import shape as shape_of
from talweg.api.export import export
from talweg.api.math.comparison import not_equal
from talweg.core.dtypes import int64, string
from talweg.core.errors import value_error
from talweg.eager.composite import SparseTensor
from talweg.eager.ragged import RaggedTensor

if TYPE_CHECKING:
    from talweg.core.annotations import DTypeLike, ShapeLike


@export("__internal__.feature_column.StateManager")
class StateManager:
    """Has the variables of columns made by a layer, and keeps them."""

    def __init__(self, layer: Any, trainable: bool):
        self._layer, self._trainable = layer, trainable
        self._cols_to_vars_map: Any = defaultdict(dict)
        self._cols_to_resources_map: Any = defaultdict(dict)

    def create_variable(
        self,
        feature_column: Any,
        name: str,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        **options: object,
    ) -> Any:
        """Return a new variable of a column; ValueError if it has one of this name."""
        if name in self._cols_to_vars_map[feature_column]:
            raise value_error("TW207", f"the column {feature_column} has a variable {name!r}")
        options["trainable"] = self._trainable and options.get("trainable", True)
        made = self._layer.add_weight(name=name, shape=shape, dtype=dtype, **options)
        self._cols_to_vars_map[feature_column][name] = made
        return made

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """Return the variable of a column; ValueError if it has none of that name."""
        if name not in self._cols_to_vars_map[feature_column]:
            raise value_error("TW207", f"the column {feature_column} has no variable {name!r}")
        return self._cols_to_vars_map[feature_column][name]

    def add_resource(self, feature_column: Any, name: str, resource: Any) -> None:
        """Keep something else of a column."""
        self._cols_to_resources_map[feature_column][name] = resource

    def has_resource(self, feature_column: Any, name: str) -> bool:
        """Return whether a column has something of a name."""
        return name in self._cols_to_resources_map[feature_column]

    def get_resource(self, feature_column: Any, name: str) -> Any:
        """Return a column's resource; ValueError if there is none of that name."""
        if not self.has_resource(feature_column, name):
            raise value_error("TW207", f"the column {feature_column} has nothing named {name!r}")
        return self._cols_to_resources_map[feature_column][name]


@export("__internal__.feature_column.FeatureColumn")
class FeatureColumn:
    """A description of one or several features; equal descriptions are equal."""

    @property
    def name(self) -> str:
        """The name from which the column's variables get theirs."""
        raise NotImplementedError

    @property
    def parse_example_spec(self) -> dict:
        """The specification that `tf.io.parse_example` needs to read the features."""
        raise NotImplementedError

    def transform_feature(self, transformation_cache: Any, state_manager: Any = None) -> Any:
        """Transform the features, without variables."""
        raise NotImplementedError

    def create_state(self, state_manager: Any) -> None:
        """Have the variables made that the column needs."""


@export("__internal__.feature_column.DenseColumn")
class DenseColumn(FeatureColumn):
    """A column that gives numbers [batch, ...]."""

    @property
    def variable_shape(self) -> Any:
        """The shape for each example."""
        raise NotImplementedError

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any = None) -> Any:
        """Return the numbers of a batch."""
        raise NotImplementedError


class CategoricalColumn(FeatureColumn):
    """A column that gives ids below `num_buckets`, a SparseTensor."""

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        raise NotImplementedError

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any = None) -> tuple:
        """Return the ids of a batch, and their weights or None."""
        return transformation_cache.get(self, state_manager), None


@export("__internal__.feature_column.SequenceDenseColumn")
class SequenceDenseColumn(FeatureColumn):
    """A column that gives numbers for each step of sequences."""


@export("__internal__.feature_column.FeatureTransformationCache")
class FeatureTransformationCache:
    """Raw features by name, and what columns made of them, each once."""

    def __init__(self, features: dict):
        self._features, self._made = dict(features), {}

    def get(self, key: Any, state_manager: Any = None) -> Any:
        """Return the raw feature of a name, or a column's result; ValueError if unknown."""
        if isinstance(key, str):
            if key not in self._made:
                self._made[key] = self._raw(key)
            return self._made[key]
        if not isinstance(key, FeatureColumn):
            raise value_error("TW104", f"{key!r} is no column", "a name or a feature column")
        place = type(key), key  # columns are tuples: another class may have an equal one
        if place not in self._made:
            self._made[place] = key.transform_feature(self, state_manager)
        return self._made[place]

    def _raw(self, key: str) -> Any:
        if key not in self._features:
            raise value_error("TW207", f"Feature {key} is not in features dictionary.")
        found = self._features[key]
        if isinstance(found, RaggedTensor):
            return found.to_sparse()
        if isinstance(found, SparseTensor):
            return found
        found = tensor(found)
        if found.ndim == 0:
            raise value_error("TW203", f"Feature (key: {key}) cannot have rank 0.", "a batch")
        return expand_dims(found, -1) if found.ndim == 1 else found


def to_sparse(x: Any, dtype: DTypeLike | None = None) -> SparseTensor:
    """Return a SparseTensor; of a dense one without -1 and empty strings."""
    if isinstance(x, SparseTensor):
        return x
    absent = "" if x.dtype is string else -1
    places = where(not_equal(x, tensor(np.array(absent, x.dtype.numpy_dtype), x.dtype)))
    return SparseTensor(places, gather_nd(x, places), shape_of(x, int64))


def check_key(key: Any) -> None:
    """Raise ValueError for a value that is no name of a feature."""
    if not isinstance(key, str):
        raise value_error("TW104", f"key must be a string. Got: {type(key).__name__}", "a string")


def check_categorical(column: Any) -> None:
    """Raise ValueError for what gives no ids."""
    if not isinstance(column, CategoricalColumn):
        raise value_error("TW104", f"{column!r} is no CategoricalColumn", "one that gives ids")
