"""Which recorded cases mean something else in a graph, and why; and what counts as the same answer.

The cases were recorded eagerly.  A graph has no values while it is built, so a case that asks
Python for one is no case for a graph; these rules say which those are, by their text.
"""

import re

from recorded import comparison

EVERY = frozenset({"constant", "floats", "all", "rank"})
UNKNOWN = EVERY - {"constant"}

RULES = [  # (what the text holds, the modes it concerns, why the case says nothing there)
    (r"\.assign|\.(batch_)?scatter_|_assign", EVERY, "an assignment is made when asked for"),
    (r"[^=!<>]==|!=| in \[|\d in tf\.| is x ", EVERY, "tensors are compared by identity"),
    (r"jac\(lambda x: tf\.constant", EVERY, "equal constants are one tensor"),
    (r"text\(|repr\(|str\(|\bf['\"]|['\"] % |\.format\(", EVERY, "values are not printed"),
    (r"Generator|set_seed|get_seed|random_seed|rng_state", EVERY, "random state is the session's"),
    (r"add_n\(tf\.constant\(|from_sparse", EVERY, "Python reads the tensor"),
    (
        r"iter\(tf\.data\.|_from_dataset|DatasetInit|features_dataset|example_dataset",
        EVERY,
        "Python iterates over a dataset",
    ),
    (r"executing_eagerly|inside_function|is_tensor|get_static_value", EVERY, "asks what it is"),
    (
        r"\.device|\.ref\(|hash\(|\.op\b|\.name\b|\.graph\b|type\(|[tT]ype_?[sS]pec",
        EVERY,
        "asks what it is",
    ),
    (r"pickle|copy\.|__\w+__|dlpack|id\(|\.cpu\(|\.gpu\(", EVERY, "the object, not the value"),
    (
        r"raised\(|try:|debugging\.|no_op|group\(|tf\.(gradients|hessians)",
        EVERY,
        "operations that must be run, or that there are in graphs only",
    ),
    (
        r"tf\.function|recompute_grad|custom_gradient|grad_pass_through|stop_recording",
        EVERY,
        "functions and tapes in graphs have tests of their own",
    ),
    (
        r'lambda s: s, "a"|"x:y"|shape=\[None\]|convert_to_tensor\(tf\.ragged|constant\(tf\.ragged',
        EVERY,
        "graphs have other rules here, as TensorFlow's have",
    ),
    (
        r"TensorSpec|\.shape|\.rank\b|\.ndim|get_shape|\bdims\b|len\(|\.set_shape",
        UNKNOWN,
        "asks Python for sizes",
    ),
    (r"jac\(|jacobian", UNKNOWN, "batched over a number of elements that must be known"),
    (r"in (tf\.|x\b|y\b|v\b)|\*tf\.|iter\(|tf\.unstack", UNKNOWN, "Python iterates over a tensor"),
    (r"[sS]parse(?!_soft)|[rR]agged|IndexedSlices", UNKNOWN, "made of values that must be known"),
    (r"channels_first\(|concat\(", {"rank"}, "asks for the rank"),
    (
        r"ii->i|wave\(1\), wave\(3\)|_poisson_loss\(\[1.0\], \[1|=\[1.0\], logits=\[1.0, 2"
        r"|_n\(\[tf.constant\(\[1.0\]\), tf.constant\(\[1.0, 2|\[\[3, 3\]\]",
        UNKNOWN,
        "refused only where sizes are known; else what does not fit is broadcast or cut",
    ),
    (
        r"tape.gradient\(y, x,|tf.range\(x\)|dropout|gather_nd|embedding_lookup",
        {"rank"},
        "ranks decide what is refused, what is sparse and what is drawn",
    ),
    (
        r"\.(insert|remove|erase|insert_or_assign)\(",
        EVERY,
        "tables are written when a graph runs",
    ),
    (
        r"Queue\(|StackV2\(|VarHandleOp\(",
        EVERY,
        "what is put in or assigned before is not run by fetching what is taken out",
    ),
    (
        r"tf\.raw_ops\.Resource\w+\(",
        EVERY,
        "what is written to a variable before is not run by fetching the variable",
    ),
    (r"parallel_stack", EVERY, "refused eagerly only"),
    (
        r"(conv|max_pool)2d\(tf\.ones\(\[1, 2, 2, 1\]\)",
        EVERY,
        "a window that does not fit is refused while a graph is built, else gives nothing",
    ),
    (r"\.assert_\w+\(\)", EVERY, "operations that must be run"),
    (
        r"\.batch_shape|\.event_shape|\.block_shape|facts\(|algebra\(|kind\(|\bis_square\b",
        UNKNOWN,
        "asks Python for sizes, and for hints; test_operators_in_graphs.py compares the numbers",
    ),
    (
        r"LinearOperatorZeros\(2, 3\)$|LinearOperatorDiag\(1\.0\)$"
        r"|LinearOperatorFullMatrix\(\[1\.0\]\)$",
        UNKNOWN,
        "refused only where sizes are known",
    ),
    (
        r"image\.\w+\((\w+=)?tf\.zeros\(\[(2, )?0, 4, 3\]|glimpse\(input=wave\(2, 5"
        r"|overlap_and_add\(signal=tf\.zeros\(\[0",
        UNKNOWN,
        "refused, or empty, only where sizes are known: an empty picture has no pixels to read",
    ),
    (r"LinearOperatorPermutation\(\[0, 0\]\)", {"all"}, "refused only where values are known"),
    (r"is None", UNKNOWN, "refused only where sizes are known"),
    (r"StructuredTensor\.from_fields\(", {"all"}, "the number of sizes in `shape` is not known"),
    (
        r"(_transpose|expand_dims|tensordot)\(.*tf\.constant\(",
        {"all"},
        "the number of sizes or axes is not known",
    ),
]
AREAS = {
    "random_stateful": "random state lives in the session",
    "test_tools": "they compare values",
    "nest": "Python structures",
    "control": "branches and loops have programs of their own",
}
REFUSALS = ("OperatorNotAllowedInGraphError", "NotImplementedError", "TypeError", "AttributeError")
ALIKE = {"InvalidArgumentError", "ValueError", "TypeError", "InternalError"}


def reason_to_skip(case, mode):
    """Why a case says nothing in this mode; None if it does."""
    if case.area in AREAS:
        return AREAS[case.area]
    for pattern, modes, reason in RULES:
        if mode in modes and re.search(pattern, case.text):
            return reason
    return None


def asked_python(outcome):
    """Whether the case itself, not the library, asked a symbolic tensor for its value."""
    given = outcome.gives
    return isinstance(given, dict) and given.get("raises") in REFUSALS and outcome.outside


def unranked(outcome):
    """Whether a function said that it needs a rank."""
    given = outcome.gives
    return isinstance(given, dict) and "NeedsStaticError" in given.get("classes", ())


def difference(outcome, wanted, flags):
    """What differs from what was recorded, or None.

    An error may come while the graph is built or when it runs, and is then of a class TensorFlow
    uses at that time: for shapes ValueError when built and InvalidArgumentError when run.
    """
    given = outcome.gives
    error = given.get("raises") if isinstance(given, dict) else None
    expected = wanted.get("raises") if isinstance(wanted, dict) else None
    if error and expected and error in ALIKE | {expected}:
        return None
    return comparison.difference(given, wanted, flags)
