"""Flips and rotations of images, always or at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from talweg.api.array.gathering import where
from talweg.api.array.rearranging import reverse
from talweg.api.array.shapes import reshape, shape
from talweg.api.array.shapes import transpose as permuted
from talweg.api.control import switch_case
from talweg.api.export import export
from talweg.api.image.operands import image_tensor
from talweg.api.math.comparison import greater, less
from talweg.api.random.stateful import uniform
from talweg.api.random.stateless import stateless_uniform
from talweg.core.errors import value_error
from talweg.core.value import Tensor

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike

ROWS, COLUMNS = -3, -2


@export("image.flip_left_right")
def flip_left_right(image: TensorLike) -> Tensor:
    """Return the columns of images [..., height, width, channels] in reverse.

    ValueError for a rank other than 3 or 4.

    >>> import talweg as tf
    >>> tf.image.flip_left_right([[[1], [2]]]).numpy()[0, :, 0].tolist()
    [2, 1]
    """
    return reverse(image_tensor(image, "flip_left_right"), [COLUMNS])


@export("image.flip_up_down")
def flip_up_down(image: TensorLike) -> Tensor:
    """Return the rows of images [..., height, width, channels] in reverse.

    ValueError for a rank other than 3 or 4.

    >>> import talweg as tf
    >>> tf.image.flip_up_down([[[1]], [[2]]]).numpy()[:, 0, 0].tolist()
    [2, 1]
    """
    return reverse(image_tensor(image, "flip_up_down"), [ROWS])


def _perhaps(image: object, function: str, axis: int, draw: Callable[[Any], Any]) -> Any:
    """Reverse an axis of each image with probability 1/2, by the numbers that `draw` gives."""
    x = image_tensor(image, function)
    if x.ndim == 3:
        return where(less(draw([]), 0.5), reverse(x, [axis]), x)
    chance = draw([x.dims[0]] if type(x.dims[0]) is int else [shape(x)[0]])
    return where(reshape(greater(chance, 0.5), [-1, 1, 1, 1]), reverse(x, [axis]), x)


@export("image.random_flip_left_right")
def random_flip_left_right(image: TensorLike, seed: TensorLike | None = None) -> Tensor:
    """Return images whose columns are in reverse with a chance of 1 in 2, each image of a batch by
    itself.

    seed: an integer, for a stream of its own.
    """
    return _perhaps(image, "random_flip_left_right", COLUMNS, lambda dims: uniform(dims, seed=seed))


@export("image.random_flip_up_down")
def random_flip_up_down(image: TensorLike, seed: TensorLike | None = None) -> Tensor:
    """Return images whose rows are in reverse with a chance of 1 in 2, each image of a batch by
    itself.

    seed: an integer, for a stream of its own.
    """
    return _perhaps(image, "random_flip_up_down", ROWS, lambda dims: uniform(dims, seed=seed))


@export("image.stateless_random_flip_left_right")
def stateless_random_flip_left_right(image: TensorLike, seed: TensorLike) -> Tensor:
    """Call `random_flip_left_right` by a seed, a pair of integers: the same again for the same
    seed.

    >>> import talweg as tf
    >>> x = tf.constant([[[1], [2], [3]]])
    >>> tf.image.stateless_random_flip_left_right(x, (2, 3)).numpy()[0, :, 0].tolist()
    [3, 2, 1]
    """
    return _perhaps(
        image,
        "stateless_random_flip_left_right",
        COLUMNS,
        lambda dims: stateless_uniform(dims, seed),
    )


@export("image.stateless_random_flip_up_down")
def stateless_random_flip_up_down(image: TensorLike, seed: TensorLike) -> Tensor:
    """Call `random_flip_up_down` by a seed, a pair of integers: the same again for the same
    seed."""
    return _perhaps(
        image, "stateless_random_flip_up_down", ROWS, lambda dims: stateless_uniform(dims, seed)
    )


@export("image.transpose")
def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Return images with rows and columns exchanged; ValueError for a rank other than 3 or 4.

    >>> import talweg as tf
    >>> tf.image.transpose(tf.zeros([2, 3, 1])).shape
    TensorShape([3, 2, 1])
    """
    x = image_tensor(image, "transpose")
    return permuted(x, [1, 0, 2] if x.ndim == 3 else [0, 2, 1, 3])


@export("image.rot90")
def rot90(image: TensorLike, k: Any = 1, name: str | None = None) -> Tensor:
    """Turn images by a right angle `k` times, against the clock.

    ValueError for a rank other than 3 or 4, or a `k` that is no scalar.

    >>> import talweg as tf
    >>> tf.image.rot90([[[1], [2]]])[..., 0].numpy().tolist()
    [[2], [1]]
    """
    x = image_tensor(image, "rot90")
    turns = [
        lambda: x,
        lambda: reverse(transpose(x), [ROWS]),
        lambda: reverse(x, [ROWS, COLUMNS]),
        lambda: transpose(reverse(x, [ROWS])),
    ]
    if not isinstance(k, Tensor):
        return turns[int(k) % 4]()
    if k.ndim:
        raise value_error("TW203", f"rot90: k has shape {k.dims}", "a scalar")
    return switch_case(k % 4, turns)
