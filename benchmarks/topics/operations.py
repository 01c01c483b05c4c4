"""The search for slow operations: every common one, at three sizes, beside TensorFlow and PyTorch.

    python -m benchmarks operations --clock cpu              all (hours); `--quick`: half an hour
    python -m benchmarks operations.eager operations.gradient   one way of calling

A line of `operations.txt` is `name | flags | TensorFlow's program | PyTorch's`, over the arrays
that `inputs` makes.
Flags: `g` has a gradient (of its first argument), `n` runs for no size above 10,000 elements.
"""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.declare import Ratio, Unfit, benchmark

SIZES = {"small": 8, "middling": 96, "large": 1024}  # rows and columns of the matrix

TABLE = (Path(__file__).parent / "operations.txt").read_text()


def rows():
    """name -> (flags, TensorFlow's text, PyTorch's text or "") of the table."""
    found = {}
    for line in TABLE.splitlines():
        if line.startswith("#"):
            continue
        name, flags, ours, *theirs = (part.strip() for part in line.split("|"))
        found[name] = flags, ours, theirs[0] if theirs else ""
    return found


ROWS = rows()
# What a program is differentiated by, where its text names several arrays.
FIRST = ("w", "x", "pictures", "cube", "halves", "bfloats", "v", "s", "smalls")
SWEEP = [f"{name}:{size}" for name in ROWS for size in SIZES]
GRADIENTS = [f"{name}:{size}" for name, row in ROWS.items() if "g" in row[0] for size in SIZES]


def inputs(np, n, wrap):
    """The arrays that the programs speak of, as tensors made by `wrap`, for n rows and columns."""
    random = np.random.default_rng(0)
    x, y = (random.normal(size=(n, n)).astype("float32") for _ in range(2))
    ids = random.integers(0, n, n * n).astype("int32")
    side = max(8, 8 * int((n * n / 192) ** 0.25))
    batch = max(1, n * n // (side * side * 3))
    pictures = random.normal(size=(batch, side, side, 3)).astype("float32")
    few = min(n, 256)
    s = x[:few, :few] @ x[:few, :few].T / few + np.eye(few, dtype="float32")
    smalls = x.reshape(-1, 4, 4)
    smalls = smalls @ smalls.transpose(0, 2, 1) + np.eye(4, dtype="float32")
    tall = random.uniform(size=(max(1, batch // 4), max(side, 16), max(side, 16), 3))
    arrays = {
        "x": x,
        "y": y,
        "w": np.abs(x) + np.float32(0.5),
        "v": x.reshape(-1),
        "ids": ids,
        "sorted_ids": np.sort(ids),
        "row_ids": (np.arange(n) // 2).astype("int32"),
        "ramp": np.linspace(-2, 2, n, dtype="float32"),
        "k": random.integers(0, 1000, (n, n)).astype("int32"),
        "mask": x > 0,
        "s": s.astype("float32"),
        "smalls": smalls,
        "c": (x + 1j * y).astype("complex64"),
        "cube": x[: n // 8 * 8].reshape(8, n // 8, n)[:, :, : n // 8].copy(),
        "triples": x.reshape(-1)[: n * n // 3 * 3].reshape(-1, 3),
        "pictures": pictures,
        "unit_pictures": 1 / (1 + np.exp(-pictures)),
        "byte_pictures": random.integers(0, 256, pictures.shape).astype("uint8"),
        "tall_pictures": tall.astype("float32"),
        "filters": random.normal(size=(3, 3, 3, 8)).astype("float32"),
        "back_filters": random.normal(size=(3, 3, 8, 3)).astype("float32"),
        "depth_filters": random.normal(size=(3, 3, 3, 2)).astype("float32"),
        "lines": x.reshape(1, -1, 8),
        "line_filters": random.normal(size=(3, 8, 8)).astype("float32"),
    }
    return {name: wrap(array) for name, array in arrays.items()}


def tensorflow_program(tf, np, work):
    """(program of one argument, that argument) of a row and size, for talweg and TensorFlow."""
    name, _, size = work.partition(":")
    flags, text, _ = ROWS[name]
    n = SIZES[size]
    if "n" in flags and n > 100:
        raise Unfit("a call a row")
    scope = {**inputs(np, n, tf.constant), "tf": tf}
    if "sparse" in text:
        kept = np.where(
            np.random.default_rng(1).uniform(size=(n, n)) < 0.1, np.asarray(scope["x"]), 0.0
        )
        scope["sparse"] = tf.sparse.from_dense(kept.astype("float32"))
    if "ragged" in text:
        scope["ragged"] = tf.RaggedTensor.from_value_rowids(scope["v"], scope["sorted_ids"], n)
    scope["halves"] = tf.cast(scope["x"], tf.float16)
    scope["bfloats"] = tf.cast(scope["x"], tf.bfloat16)
    return of_first(text, scope)


def of_first(text, scope):
    """(the program as a function of the first array that its text names, that array)."""
    used = compile(text, "<operations>", "eval").co_names
    names = [name for name in FIRST if name in used] or [name for name in used if name in scope]
    names = [name for name in names if name not in ("tf", "torch")] or ["x"]
    return eval(f"lambda {names[0]}: {text}", scope), scope[names[0]]


def torch_program(torch, np, work):
    """The same for PyTorch; Unfit where the table has no program of it."""
    name, _, size = work.partition(":")
    text = ROWS[name][2]
    if not text:
        raise Unfit("no program in the table")
    scope = {**inputs(np, SIZES[size], torch.as_tensor), "torch": torch}
    scope["halves"], scope["bfloats"] = scope["x"].half(), scope["x"].bfloat16()
    return of_first(text, scope)


SETTLED = (
    1.0  # seconds of CPU time after which talweg has compiled the operations that are worth it
)


def settled(call, peer, work):
    """The call, after as many as talweg needs to compile what it calls; small ones never are."""
    end = time.process_time() + (0.0 if peer != "talweg" or work.endswith("small") else SETTLED)
    while time.process_time() < end:
        call()
    return call


@benchmark("operations.eager", sweep={"work": SWEEP}, aims=[Ratio(1.5)])
class EagerOperations:
    """One eager call of an operation."""

    def tf(tf, np, work, peer):
        program, value = tensorflow_program(tf, np, work)
        return settled(lambda: program(value), peer, work)

    def torch(torch, np, work):
        program, value = torch_program(torch, np, work)
        return lambda: program(value)


@benchmark("operations.gradient", sweep={"work": GRADIENTS}, aims=[Ratio(1.5)])
class EagerGradients:
    """One eager call of an operation and its gradient, by a tape."""

    def tf(tf, np, work, peer):
        program, value = tensorflow_program(tf, np, work)

        def step():
            with tf.GradientTape() as tape:
                tape.watch(value)
                result = program(value)
            return tape.gradient(result, value)

        gradient = settled(step, peer, work)()
        if not hasattr(gradient, "values"):
            return step
        return step, lambda: tf.convert_to_tensor(step())

    def torch(torch, np, work):
        program, value = torch_program(torch, np, work)
        value.requires_grad_()
        seed = torch.ones_like(program(value))
        return lambda: torch.autograd.grad(program(value), value, seed)[0]


@benchmark("operations.function", sweep={"work": SWEEP}, aims=[Ratio(1.5)], settle=0.1)
class FunctionOperations:
    """One call of an operation inside a `tf.function`."""

    def tf(tf, np, work):
        program, value = tensorflow_program(tf, np, work)
        function = tf.function(program, autograph=False)
        return lambda: function(value)
