"""Random orders: a shuffle of a whole axis, and the place of one index in a permutation."""

from __future__ import annotations

import numpy as np

from talweg.kernels.random.philox import BLOCK, Stream, blocks

FEW = 512  # elements that Python exchanges sooner than NumPy is called twenty times


def permutation(stream: Stream, size: int) -> np.ndarray:
    """Return a random order of range(size), int64: Fisher and Yates with one 32-bit word a step.

    Step i exchanges places i and p(i) = i + w mod (size - i), w the i-th word of the stream.  The
    last place has no choice and uses no word.
    """
    if size < 2:
        return np.arange(size)
    words = blocks(stream, 0, blocks_of_permutation(size)).reshape(-1)[: size - 1]
    place = np.arange(size)
    place[:-1] += words % np.arange(size, 1, -1, dtype=np.uint32)
    return _exchange(place)


def _exchange(partner: np.ndarray) -> np.ndarray:
    """Apply to 0, 1, 2, ... the steps i = 0, 1, ... that exchange places i and partner[i] >= i.

    Step i leaves at place i what was at p = partner[i], and nothing touches place i later.  What is
    at p before step i came from place k at the last step k < i with partner[k] = p, or is p itself
    if there was none.  So let before[k] be the last such step for p = k, i = k: following these
    pointers, which only lead downward, ends at the element found at place k before step k.  All
    pointers are followed at once, doubling (Hillis and Steele 1986).
    """
    size = len(partner)
    if size <= FEW:
        order = list(range(size))
        for i, p in enumerate(partner.tolist()):
            order[i], order[p] = order[p], order[i]
        return np.array(order)
    order = np.argsort(partner, kind="stable")  # steps by partner, then by time
    same = partner[order[1:]] == partner[order[:-1]]
    earlier = np.full(size, -1)  # the last earlier step with the same partner
    earlier[order[1:][same]] = order[:-1][same]
    last = np.arange(size)  # the last step that had this place for a partner
    last[partner[order]] = order
    origin = np.where(last == np.arange(size), earlier, last)
    origin = np.where(partner[last] == np.arange(size), origin, -1)
    origin = np.where(origin < 0, np.arange(size), origin)
    while True:
        further = origin[origin]
        if np.array_equal(further, origin):
            break
        origin = further
    return np.where(earlier < 0, partner, origin[earlier])


def blocks_of_permutation(size: int) -> int:
    """Return blocks a permutation of `size` elements sets aside."""
    return -(-size // BLOCK)


# -- one index at a time

_Z = 0x7369F885192C0EF5  # Simon's constant sequence z₃, one bit a round
_C = 0xFFFFFFFC
_SMALLEST_BLOCK = 16
PADDING = 498247692  # first word of the key of a two-word seed
_U = np.uint64


def _turn(x: np.ndarray, by: np.ndarray | np.uint64, width: np.ndarray) -> np.ndarray:
    """Return x, words of `width` bits, rotated to the left by `by` bits."""
    return (x << by | x >> (width - by)) & ((_U(1) << width) - _U(1))


def _mix(x: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return Simon's round function: (x <<< 1 & x <<< 8) ^ x <<< 2."""
    return (_turn(x, _U(1), width) & _turn(x, _U(8), width)) ^ _turn(x, _U(2), width)


def _key_schedule(key: np.ndarray, width: np.ndarray, rounds: int) -> list[np.ndarray]:
    mask = (_U(1) << width) - _U(1)
    keys = [key[..., word].astype(_U) & mask for word in range(3)]
    for step in range(3, rounds):
        last = keys[-1]
        turned = _turn(last, width - _U(3), width) ^ _turn(last, width - _U(4), width)
        constant = (_U(_C) & mask) ^ _U(_Z >> (step - 3) & 1)
        keys.append(constant ^ keys[step - 3] ^ turned)
    return keys


def index_shuffle(
    index: np.ndarray, key: np.ndarray, max_index: np.ndarray, rounds: int = 4
) -> np.ndarray:
    """Return the image of each index (uint64 [n]) under a pseudorandom permutation of 0 ...
    max_index.

    The permutation is the block cipher Simon (Beaulieu, Shors, Smith, Treatman-Clark, Weeks and
    Wingers, "The SIMON and SPECK families of lightweight block ciphers", 2013) with `key`
    (uint32 [n, 3] or [3]) on blocks of an even number of bits, at least 16, that hold max_index; a
    result above max_index is encrypted again until it is not (cycle walking; Black and Rogaway
    2002).
    """
    index, max_index = np.broadcast_arrays(index.astype(_U), max_index.astype(_U))
    bits = np.array([max(int(limit) - 1, 0).bit_length() for limit in max_index.reshape(-1)], _U)
    half = np.maximum(bits + bits % _U(2), _U(_SMALLEST_BLOCK)).reshape(max_index.shape) // _U(2)
    key = np.broadcast_to(key, (*index.shape, 3))
    image = index.copy()
    fits = index < _U(1) << np.minimum(half * _U(2), _U(63))
    rows = np.flatnonzero(
        fits | (half == 32)
    )  # an index of 2ᵏ = max_index, beyond the block, stays
    small = half[rows] == _SMALLEST_BLOCK // 2
    _walk_by_table(image, rows[small], key, max_index, rounds)
    rows = rows[~small]
    while len(rows):
        image[rows] = _encrypt(image[rows], key[rows], half[rows], rounds)
        rows = rows[image[rows] > max_index[rows]]
    return image


def _encrypt(x: np.ndarray, key: np.ndarray, width: np.ndarray, rounds: int) -> np.ndarray:
    """Encrypt blocks of twice `width` bits by Simon; keys are uint32 [..., 3]."""
    keys = _key_schedule(key, width, rounds)
    left, right = x & ((_U(1) << width) - _U(1)), x >> width
    for first, second in zip(keys[0::2], keys[1::2]):
        right = right ^ _mix(left, width) ^ first
        left = left ^ _mix(right, width) ^ second
    return right << width | left


def _walk_by_table(
    permuted: np.ndarray, rows: np.ndarray, key: np.ndarray, max_index: np.ndarray, rounds: int
) -> None:
    """Encrypt rows of `permuted` with blocks of the smallest size, where walks are long.

    A walk to one of few places goes through most of the block: all of it is encrypted once for
    each key.
    """
    places = np.arange(1 << _SMALLEST_BLOCK, dtype=_U)
    width = np.full(1, _SMALLEST_BLOCK // 2, _U)
    keys, which = np.unique(key[rows], axis=0, return_inverse=True)
    for number, own_key in enumerate(keys):
        image = _encrypt(places, own_key, width, rounds)
        left = rows[which.reshape(-1) == number]
        while len(left):
            permuted[left] = image[permuted[left]]
            left = left[permuted[left] > max_index[left]]
