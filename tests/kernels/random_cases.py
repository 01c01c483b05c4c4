"""What is recorded of TensorFlow's random numbers: `tools/record_random.py` runs the calls below in
TensorFlow, `test_random.py` the kernels; both read this list.

A case is (operation, seed, shape, dtype, parameters).  Of each result the first `KEPT` values are
recorded and, for the operations in `EXACT`, a checksum of all bytes.
"""

KEPT = 12
EXACT = ("uniform", "normal", "truncated_normal", "uniform_int", "full_int", "shuffle", "index")
SEEDS = ([1, 2], [0, 0], [-7, 2**31 - 1], [2**40 + 3, -(2**50)])
FLOATS = ("float16", "bfloat16", "float32", "float64")


def _fills():
    for operation in ("uniform", "normal", "truncated_normal"):
        for dtype in FLOATS:
            for seed, size in zip(SEEDS, (1, 7, 20003, 66000)):
                yield operation, seed, [size], dtype, {}
    for dtype in ("int32", "int64"):
        for low, high in ((0, 10), (-5, 7), (-(2**31), 2**31 - 1), (5, 6)):
            yield "uniform_int", SEEDS[2], [1001], dtype, {"low": low, "high": high}
    for dtype in ("int32", "int64", "uint32", "uint64"):
        yield "full_int", SEEDS[0], [1001], dtype, {}


def _rejections():
    for alpha in (0.05, 0.7, 1.0, 2.5, 300.0):
        for dtype in ("float16", "float32", "float64"):
            yield "gamma", SEEDS[0], [50], dtype, {"alpha": alpha}
    for rate in (0.0, 0.3, 5.0, 9.99, 10.0, 33.0, 1e6):
        for dtype in ("float32", "float64"):
            yield "poisson", SEEDS[2], [50], dtype, {"rate": rate}
    for count, chance in (
        (10, 0.3),
        (10, 0.8),
        (100, 0.1),
        (100, 0.9),
        (20, 0.5),
        (3000, 0.4),
        (0, 0.5),
        (5, 0.0),
        (5, 1.0),
        (5, -0.1),
        (5, 1.5),
        (-1, 0.5),
    ):
        for dtype in ("float16", "float32", "float64"):
            yield "binomial", SEEDS[1], [50], dtype, {"count": count, "chance": chance}


def _others():
    infinity = float("inf")
    for mean, deviation, low, high in (
        (0, 1, -2, 2),
        (0, 1, -1.3, infinity),
        (0, 1, -infinity, 1.4),
        (0, 1, -0.5, 0.5),
        (0, 1, 3, infinity),
        (0, 1, -infinity, -3),
        (5, 2, 4, 9),
        (5, 3, -10, -9),
        (0, 3, -1, 5),
    ):
        for dtype in ("float16", "float32", "float64"):
            bounds = {"mean": mean, "deviation": deviation, "low": low, "high": high}
            yield "bounded_normal", SEEDS[0], [37], dtype, bounds
    weights = [[0.1, 1.0, -2.0, 0.5], [3.0, 3.0, -infinity, 0.0]]
    for rows in (weights[:1], weights, weights * 12):
        yield "categorical", SEEDS[3], [9], "int64", {"logits": rows}
    for size in (1, 2, 3, 50, 1000):
        yield "shuffle", SEEDS[0], [size], "int64", {}
    for largest in (1, 9, 255, 65536, 2**20 + 1, 2**31 - 1, 2**62 - 1):
        index = sorted({0, 1, largest // 3, largest - 1})
        yield "index", [11, -22], [len(index)], "int64", {"index": index, "largest": largest}


def _threefry():
    for operation in ("threefry_uniform", "threefry_normal", "threefry_full_int"):
        for shape in ([5], [], [2, 3], [3, 3], [4, 6], [3, 5], [0, 2]):
            for dtype in ("uint32", "int64") if "int" in operation else FLOATS:
                yield operation, SEEDS[2], shape, dtype, {}


def cases():
    """All cases, in the order of the recorded results."""
    return [*_fills(), *_rejections(), *_others(), *_threefry()]
