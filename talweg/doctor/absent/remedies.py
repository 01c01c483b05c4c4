"""Remedies: code to write in place of an operation that no gradient passes.

Two kinds: a smooth function that is near it (another derivative of another function), and a
straight-through estimate (the value of the operation, the derivative of the identity; Bengio,
Leonard and Courville 2013).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talweg.core.primitive import NoGradient, Primitive

STRAIGHT = (
    "a straight-through estimate: x + tf.stop_gradient({op}(x) - x), or a smooth function near it"
)
SMOOTH_STEP = "a smooth step instead: tf.sigmoid(k * (a - b)), with k as sharp as training allows"
POSITION = (
    "an expected position instead of a position: "
    "tf.reduce_sum(tf.nn.softmax(beta * x) * tf.range(n, dtype=x.dtype)).\n"
    "To train a classifier: a cross entropy of the logits, not the accuracy of their argmax"
)
CHOSEN = (
    "weigh both sides instead of choosing one: p = tf.sigmoid(k * score); p * a + (1.0 - p) * b"
)
ROWS = (
    "weigh rows instead of picking one: "
    "tf.linalg.matvec(table, tf.nn.softmax(scores), transpose_a=True)"
)
GUMBEL = (
    "Gumbel-softmax, a sample that has a derivative: "
    "noise = -tf.math.log(-tf.math.log(u)), u uniform in (0, 1); "
    "tf.nn.softmax((logits + noise) / temperature)   (Jang et al. 2017)"
)
SCORE = (
    "a score-function estimate: add tf.stop_gradient(reward) * log_probability(sample) to the loss"
)

BY_NAME = {
    "round": STRAIGHT.format(op="tf.round"),
    "floor": STRAIGHT.format(op="tf.floor"),
    "ceil": STRAIGHT.format(op="tf.math.ceil"),
    "sign": "a smooth sign instead: tf.tanh(k * x)",
    "argmax": POSITION,
    "argmin": POSITION.replace("beta * x", "-beta * x"),
    "equal": "a smooth equality instead: tf.exp(-k * tf.square(a - b))",
    "not_equal": "a smooth inequality instead: 1.0 - tf.exp(-k * tf.square(a - b))",
    "logical_and": "products of probabilities instead of truth values: p * q",
    "logical_or": "probabilities instead of truth values: p + q - p * q",
    "logical_not": "a probability instead of a truth value: 1.0 - p",
    "random_classes": GUMBEL,
    "random_poisson": SCORE,
    "random_binomial": SCORE,
    "argsort": "tf.sort gives values that have a gradient; positions have none",
    "nonzero": CHOSEN,
    "top_k": "the values that tf.math.top_k gives have a gradient; the positions have none",
    "floor_div": "tf.math.divide has a gradient; for its whole part: "
    "z + tf.stop_gradient(tf.floor(z) - z)",
    "truncate_div": "tf.math.divide has a gradient",
    "bitcast": "tf.cast changes the dtype and keeps the value",
    "one_hot": "tf.nn.softmax(scores) in the place of tf.one_hot(tf.argmax(scores), n)",
    "gather": ROWS,
    "gather_rows": ROWS,
    "gather_nd": ROWS,
    "sparse_softmax_cross_entropy": "one-hot (or soft) labels and "
    "tf.nn.softmax_cross_entropy_with_logits",
    "histogram": "a soft histogram: tf.reduce_sum(tf.exp(-k * tf.square(x[:, None] - centres)), 0)",
    "histogram_bins": "a soft histogram: "
    "tf.reduce_sum(tf.exp(-k * tf.square(x[:, None] - centres)), 0)",
    "searchsorted": "smooth steps over the boundaries: "
    "tf.reduce_sum(tf.sigmoid(k * (x[:, None] - boundaries)), 1)",
    "sequence": "tf.linspace(start, stop, n) has a gradient by both ends",
    "shape_of": "a size has no derivative: use the values themselves",
    "zeros_of": "tf.zeros_like and tf.ones_like give constants: use the values themselves",
    "update_variable": "compute with the value that is assigned, and assign it beside that: "
    "new = f(w); v.assign(new); loss = g(new)",
    "stop_gradient": "leave tf.stop_gradient out on this path, or stop only the part that is meant",
    "host_call": "write it in tensor operations, use tf.py_function (tapes see inside), or give it "
    "a rule with @tf.custom_gradient",
}
COMPARISONS = ("less", "less_equal", "greater", "greater_equal")
CHOICES = ("select", "gate", "branch")

TO_INTEGER = (
    "keep the value a float on this path; where it must be rounded, a straight-through estimate: "
    "x + tf.stop_gradient(tf.round(x) - x)"
)
TO_INDEX = (
    "an index has no derivative; between two rows it has, by interpolation:\n"
    "low = tf.floor(i); t = i - low; (1 - t) * row(low) + t * row(low + 1)"
)
TO_TEXT = "texts have no derivative: print or log beside the path, not on it"
TO_TRUTH = CHOSEN

RANDOM = "random_"  # how primitives that draw begin


def remedy_for(prim: Primitive, reason: NoGradient, operand: str = "") -> str:
    """Return the code to write in place of a primitive that has no derivative by this operand."""
    name = prim.name
    if name in BY_NAME:
        return BY_NAME[name]
    if name in COMPARISONS:
        return SMOOTH_STEP
    if name in CHOICES or operand == "c":
        return CHOSEN
    if name.startswith("random_") and not (reason is not None and reason.cure):
        return SCORE
    if operand in ("i", "ids"):
        return ROWS
    if reason is not None and reason.cure:
        return reason.cure
    return (
        "compute it from operations that have a derivative, or say what the derivative is with "
        "@tf.custom_gradient"
    )
