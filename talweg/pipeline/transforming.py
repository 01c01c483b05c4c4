"""The methods of `tf.data.Dataset` that change, choose and order single elements."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.core.errors import invalid, type_error, value_error
from talweg.core.spec import TensorSpec
from talweg.pipeline.element import OfElement
from talweg.pipeline.making import integer, seeds_of
from talweg.pipeline.mapping import (
    Enumerate,
    Filter,
    IgnoreErrors,
    Map,
    Scan,
    TakeWhile,
    UniqueElements,
)
from talweg.pipeline.order import Repeat, Shard, Shuffle, Skip, Take
from talweg.pipeline.parallel import AUTOTUNE
from talweg.pipeline.stage import Stage
from talweg.pipeline.storage import Cache, Prefetch

if TYPE_CHECKING:
    from talweg.core.annotations import PathLike, TensorLike
    from talweg.pipeline.dataset import Dataset


UNIQUE = ("int32", "int64", "string")  # the dtypes whose elements can be told apart


class Transforming:
    """Datasets with the elements of another one, changed, chosen or in another order."""

    of: Callable[..., Any]
    stage: Stage

    def _then(self, stage: Stage) -> Any:
        return self.of(stage, self)

    def map(
        self,
        map_func: OfElement,
        num_parallel_calls: TensorLike | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Apply map_func to each element; a tuple is unpacked into arguments.

        The function is traced once, as `tf.function` does, so Python code in it runs once; use
        `tf.py_function` for Python that must run for every element.  With num_parallel_calls, a
        function that calls Python (`tf.py_function`, `tf.numpy_function`) runs in threads; others
        are not made faster by these.  The order of the elements is always kept.

        >>> import talweg as tf
        >>> list(tf.data.Dataset.range(3).map(lambda x: (x, -x)).as_numpy_iterator())
        [(np.int64(0), np.int64(0)), (np.int64(1), np.int64(-1)), (np.int64(2), np.int64(-2))]
        """
        parallel = None
        if num_parallel_calls is not None:
            parallel = integer(num_parallel_calls, "num_parallel_calls")
            if type(parallel) is int and parallel < 1 and parallel != -1:
                raise invalid(
                    "TW207",
                    "num_parallel_calls must be greater than zero or tf.data.AUTOTUNE, "
                    f"got {parallel}",
                )
        return self._then(Map(self.stage, map_func, parallel))

    def map_with_legacy_function(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: TensorLike | None = None,
        deterministic: bool | None = None,
    ) -> Dataset:
        """Return the older spelling of `map`."""
        return self.map(map_func, num_parallel_calls, deterministic)

    def filter(self, predicate: OfElement, name: str | None = None) -> Dataset:
        """Return the elements for which predicate(element), a bool scalar, is true."""
        return self._then(Filter(self.stage, predicate))

    filter_with_legacy_function = filter

    def take_while(self, predicate: OfElement, name: str | None = None) -> Dataset:
        """Return the elements before the first for which the predicate is false."""
        return self._then(TakeWhile(self.stage, predicate))

    def scan(
        self, initial_state: TensorLike, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """Apply a function with a state: scan_func(state, element) gives the next state and an
        element.

        >>> import talweg as tf
        >>> sums = tf.data.Dataset.range(4).scan(
        ...     tf.constant(0, tf.int64), lambda state, x: (state + x, state + x))
        >>> [int(x) for x in sums]
        [0, 1, 3, 6]
        """
        return self._then(Scan(self.stage, initial_state, scan_func))

    def enumerate(self, start: TensorLike = 0, name: str | None = None) -> Dataset:
        """Pair each element with a number, from `start` on."""
        return self._then(Enumerate(self.stage, integer(start, "start")))

    def unique(self, name: str | None = None) -> Dataset:
        """Return each element once; an error unless it is one tensor of integers or strings."""
        flat = self.stage.layout.flat
        for leaf in flat:
            if getattr(getattr(leaf, "dtype", None), "name", "") not in UNIQUE:
                raise type_error(
                    "TW102",
                    "`tf.data.Dataset.unique` only supports `tf.int32`, `tf.int64`, and "
                    f"`tf.string` dtypes but got {leaf!r}",
                )
        if len(flat) != 1 or not isinstance(flat[0], TensorSpec):
            raise invalid("TW104", "`tf.data.Dataset.unique` only supports single components")
        return self._then(UniqueElements(self.stage))

    def take(self, count: TensorLike, name: str | None = None) -> Dataset:
        """Return the first `count` elements; all if it is -1."""
        return self._then(Take(self.stage, integer(count, "count")))

    def skip(self, count: TensorLike, name: str | None = None) -> Dataset:
        """Return all but the first `count` elements; none if it is -1."""
        return self._then(Skip(self.stage, integer(count, "count")))

    def shard(self, num_shards: TensorLike, index: TensorLike, name: str | None = None) -> Dataset:
        """Keep elements number index, index + num_shards, ...

        InvalidArgumentError unless 0 <= index < num_shards; for `tf.data.experimental.SHARD_HINT`,
        both, a strategy says which worker's they are.
        """
        count, which = integer(num_shards, "num_shards"), integer(index, "index")
        if type(count) is int and type(which) is int and (count, which) != (-1, -1):
            if count < 1:
                raise invalid("TW207", f"num_shards must be >= 1, got {count}")
            if not 0 <= which < count:
                raise invalid("TW207", f"index must be between 0 and {count - 1}, got {which}")
        return self._then(Shard(self.stage, count, which))

    def repeat(self, count: TensorLike | None = None, name: str | None = None) -> Dataset:
        """Return the elements `count` times; without end for None or -1."""
        return self._then(Repeat(self.stage, -1 if count is None else integer(count, "count")))

    def shuffle(
        self,
        buffer_size: TensorLike,
        seed: TensorLike | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Return the elements in random order, drawn from a buffer of `buffer_size`.

        seed: the same order in each program, which is TensorFlow's for that seed (and
        `tf.random.set_seed`).  reshuffle_each_iteration=False: the same order in each pass.

        >>> import talweg as tf
        >>> tf.random.set_seed(7)
        >>> [int(x) for x in tf.data.Dataset.range(5).shuffle(5, seed=1)]
        [0, 4, 1, 3, 2]
        """
        size = integer(buffer_size, "buffer_size")
        if type(size) is int and size < 1 and size != -2:
            raise invalid("TW207", f"buffer_size must be greater than zero, got {size}")
        again = True if reshuffle_each_iteration is None else bool(reshuffle_each_iteration)
        return self._then(Shuffle(self.stage, size, seeds_of(seed), again))

    def prefetch(self, buffer_size: TensorLike | None, name: str | None = None) -> Dataset:
        """Return the elements, up to `buffer_size` of them computed ahead by a thread.

        None, as tf.data.AUTOTUNE, leaves the number to talweg.
        """
        size = AUTOTUNE if buffer_size is None else integer(buffer_size, "buffer_size")
        if type(size) is int and size < -1:
            raise invalid(
                "TW207", "buffer_size must be >= 0 or set buffer_size to be -1 (tf.data.AUTOTUNE)"
            )
        return self._then(Prefetch(self.stage, size))

    def cache(self, filename: PathLike = "", name: str | None = None) -> Dataset:
        """Return the elements, computed in the first whole pass and kept for later ones.

        In memory, or with a filename in files that begin with that name.
        """
        if not isinstance(filename, str):
            filename = _text(filename)
        if filename:
            return self._then(self.file_cache(filename))  # type: ignore[attr-defined]
        return self._then(Cache(self.stage))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Return the elements that can be computed; those that raise an error are left out."""
        report = logging.getLogger("talweg").warning if log_warning else None
        return self._then(IgnoreErrors(self.stage, report))

    def apply(self, transformation_func: Callable[[Any], Any]) -> Dataset:
        """Apply transformation_func to the dataset; TypeError if it gives no dataset."""
        found = transformation_func(self)
        if not hasattr(found, "stage") and not hasattr(found, "element_spec"):
            raise type_error(
                "TW104",
                f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(found)}.",
            )
        return found


def _text(value: object) -> str:
    found = value.numpy() if hasattr(value, "numpy") else value
    if isinstance(found, bytes):
        return found.decode()
    if hasattr(found, "__fspath__"):
        return found.__fspath__()
    raise value_error("TW104", f"filename must be a string, got {value!r}")
