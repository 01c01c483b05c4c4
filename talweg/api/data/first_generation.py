"""tf.compat.v1.data: iterators that sessions run, and the older way to say what elements are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talweg.api.export import export
from talweg.pipeline import session_iterators as sessions

if TYPE_CHECKING:
    pass

export("compat.v1.data.Iterator")(sessions.Iterator)
export("compat.v1.data.Dataset")(sessions.DatasetV1)


@export("compat.v1.data.make_one_shot_iterator")
def make_one_shot_iterator(dataset: Any) -> Any:
    """Return an iterator over a dataset that needs no initialization.

    ValueError if the dataset uses placeholders or variables of the graph.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     x = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next()
    ...     [int(session.run(x)) for _ in range(3)]
    [0, 1, 2]
    """
    return sessions.one_shot(dataset)


@export("compat.v1.data.make_initializable_iterator")
def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Any:
    """Return an iterator over a dataset that begins, and begins anew, when its `initializer` runs.

    >>> import talweg.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     n = tf.placeholder(tf.int64, [])
    ...     iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(n))
    ...     session.run(iterator.initializer, {n: 3})
    ...     int(session.run(iterator.get_next()))
    0
    """
    return sessions.initializable(dataset, shared_name)


@export("compat.v1.data.get_output_types")
def get_output_types(dataset_or_iterator: Any) -> Any:
    """Return the dtypes of the elements, in their structure."""
    return sessions.legacy_types(dataset_or_iterator.element_spec)


@export("compat.v1.data.get_output_shapes")
def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Return the shapes of the elements, in their structure."""
    return sessions.legacy_shapes(dataset_or_iterator.element_spec)


@export("compat.v1.data.get_output_classes")
def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Return the classes of the elements, in their structure."""
    return sessions.legacy_classes(dataset_or_iterator.element_spec)
