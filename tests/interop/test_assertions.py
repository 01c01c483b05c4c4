"""Assertions in files: conditions as operations, and Assert with what TensorFlow shows."""

import pytest

import talweg as tf

v1 = tf.compat.v1
debugging = tf.debugging
INVALID = tf.errors.InvalidArgumentError
MATRIX, VECTOR, SCALAR = [[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0], 3.0

# name: (assertion of x (a vector) and u (of any rank), values that pass, values that fail, what the
# error then says).  The texts are those of TensorFlow 2.21 for the same functions, which does not
# trace `scalar` and does not run `many`.
CASES = {
    "equal": (
        lambda x, u: debugging.assert_equal(x, u, message="note"),
        ([1.0], 1.0),
        ([1.0, 2.0], 1.0),
        "[note] [Condition x == y did not hold element-wise:] [x (x:0) = ] [1 2] [y (u:0) = ] [1]",
    ),
    "equal_number": (
        lambda x, u: debugging.assert_equal(x, 1.0),
        ([1.0], 1.0),
        ([2.0], 1.0),
        "[2]",
    ),
    "none_equal": (
        lambda x, u: debugging.assert_none_equal(x, u),
        ([1.0], 2.0),
        ([1.0, 2.0], VECTOR),
        "[Condition x != y did not hold element-wise:] [x (x:0) = ] [1 2]",
    ),
    "less": (lambda x, u: debugging.assert_less(x, u), ([1.0], 2.0), ([2.0], 2.0), "x < y"),
    "less_equal": (
        lambda x, u: debugging.assert_less_equal(u, x[0]),
        ([4.0], MATRIX),
        ([3.0], MATRIX),
        "x <= y did not hold element-wise:] [x (u:0) = ] [[1 2][3...]...]",
    ),
    "greater": (lambda x, u: debugging.assert_greater(u, 0.5), ([], MATRIX), ([], 0.5), "x > y"),
    "greater_equal": (
        lambda x, u: debugging.assert_greater_equal(u, x, summarize=1),
        ([1.0, 2.0], MATRIX),
        ([1.0, 3.0], MATRIX),
        "x >= y did not hold element-wise:] [x (u:0) = ] [[1...]...] [y (x:0) = ] [1...]",
    ),
    "near": (
        lambda x, u: debugging.assert_near(x, u, message="note"),
        ([1.0, 2.0], VECTOR),
        ([1.0, 2.0], 1.0),
        "[note.  ] [x and y not equal to tolerance rtol = ",
    ),
    "near_by": (
        lambda x, u: debugging.assert_near(x, 1.0, rtol=x[0], atol=u),
        ([1.0, 2.0], 0.5),
        ([0.0, 2.0], 1.0),
        "x and y not equal",
    ),
    "positive": (
        lambda x, u: debugging.assert_positive(u, message="note"),
        ([], MATRIX),
        ([], 0.0),
        "[note.  ] [Condition x > 0 did not hold element-wise:] [x (u:0) = ] [0]",
    ),
    "negative": (lambda x, u: debugging.assert_negative(x), ([-1.0], 1.0), ([0.0], 1.0), "x < 0"),
    "non_negative": (
        lambda x, u: debugging.assert_non_negative(tf.cast(x, tf.int32)),
        ([0.0], 1.0),
        ([-1.0], 1.0),
        "x >= 0",
    ),
    "non_positive": (
        lambda x, u: debugging.assert_non_positive(x),
        ([0.0], 1.0),
        ([1.0], 1.0),
        "x <= 0",
    ),
    "rank": (
        lambda x, u: debugging.assert_rank(u, 2, message="note"),
        ([], MATRIX),
        ([], VECTOR),
        "[note.  ] [Tensor u:0 must have rank] [2] [Received shape: ] [2]",
    ),
    "rank_of_tensor": (
        lambda x, u: debugging.assert_rank(u, tf.size(x)),
        ([1.0, 1.0], MATRIX),
        ([1.0], MATRIX),
        "must have rank] [1] [Received shape: ] [2 2]",
    ),
    "rank_at_least": (
        lambda x, u: debugging.assert_rank_at_least(u, 1),
        ([], MATRIX),
        ([], SCALAR),
        "must have rank at least] [1] [Received shape: ] []",
    ),
    "rank_in": (
        lambda x, u: debugging.assert_rank_in(u, [0, 2]),
        ([], SCALAR),
        ([], VECTOR),
        "must have rank in] [0] [2] [Received shape: ] [2]",
    ),
    "scalar": (
        lambda x, u: debugging.assert_scalar(u),
        ([], SCALAR),
        ([], VECTOR),
        "must have rank] [0]",
    ),
    "shapes": (
        lambda x, u: debugging.assert_shapes([(u, ("N", 2)), (x, ("N",))], message="note"),
        ([1.0, 2.0], MATRIX),
        ([1.0], MATRIX),
        "[note.  ] [Specified by tensor u:0 dimension 0] [Tensor x:0 dimension] [0] "
        "[must have size] [2] [Received shape: ] [1]",
    ),
    "shapes_rank": (
        lambda x, u: debugging.assert_shapes([(u, ("N", 2)), (x, ("N",))]),
        ([1.0, 2.0], MATRIX),
        ([1.0], 3.0),
        "[Tensor u:0 must have rank] [2] [Received shape: ] []",
    ),
    "shapes_number": (
        lambda x, u: debugging.assert_shapes([(x, (2,))]),
        ([1.0, 2.0], 1.0),
        ([1.0], 1.0),
        "[Specified explicitly] [Tensor x:0 dimension] [0] [must have size] [2] "
        "[Received shape: ] [1]",
    ),
    "shapes_many": (
        lambda x, u: debugging.assert_shapes([(u, (..., "N", 2)), (x, ("N",))]),
        ([1.0, 2.0], MATRIX),
        ([1.0], MATRIX),
        "[Specified by tensor u:0 dimension -2] [Tensor x:0 dimension] [0]",
    ),
    "shapes_scalar": (
        lambda x, u: debugging.assert_shapes([(u, ("N",)), (x, ("N",))], data=[x], summarize=1),
        ([1.0], 3.0),
        ([1.0, 2.0], 3.0),
        "failed: [1...]",
    ),
    "any": (
        lambda x, u: tf.Assert(x[0] > 0.0, ["note", x, u, 1, True]),
        ([1.0], 1.0),
        ([0.0], 1.5),
        "[note] [0] [1.5] [1] [1]",
    ),
    "many": (lambda x, u: tf.Assert(u > 0.0, ["note"]), ([], MATRIX), ([], [1.0, 0.0]), "[note]"),
    "within": (
        lambda x, u: tf.cond(
            x[0] > 0.0,
            lambda: tf.group(debugging.assert_greater(x, 1.0, "note")),
            lambda: tf.no_op(),
        ),
        ([0.0], 1.0),
        ([1.0], 1.0),
        "[note] [Condition x > y",
    ),
}


def the_function(assertion):
    specs = [tf.TensorSpec([None], name="x"), tf.TensorSpec(None, name="u")]

    @tf.function(input_signature=specs, autograph=False)
    def checked(x, u):
        assertion(x, u)
        return x * 2.0

    return checked


OF_TRUTH = {"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "All"}
OF_TRUTH |= {"LogicalOr", "LogicalAnd"}


@pytest.mark.parametrize("name", CASES)
def test_conditions_are_truth_values(name):
    definition = the_function(CASES[name][0]).get_concrete_function().graph.as_graph_def()
    count = 0
    for nodes in (definition.node, *[f.node_def for f in definition.library.function]):
        by_name = {node.name: node for node in nodes}
        for node in nodes:
            assert not node.op.startswith("Talweg"), node
            if node.op == "Assert":
                assert by_name[node.input[0].partition(":")[0]].op in OF_TRUTH
                count += 1
    assert count


@pytest.mark.parametrize("name", CASES)
def test_saved_assertions(name, tmp_path):
    assertion, good, bad, text = CASES[name]
    module = tf.Module()
    module.checked = the_function(assertion)
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    for checked in (module.checked, loaded.checked):
        assert checked(*map(tf.constant, good)).numpy().tolist() == [2 * x for x in good[0]]
        with pytest.raises(INVALID):
            checked(*map(tf.constant, bad))
    with pytest.raises(INVALID) as caught:
        loaded.checked(*map(tf.constant, bad))
    assert "assertion failed: " in str(caught.value)
    assert text in str(caught.value)


def test_imported_graph():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        checks = [
            v1.assert_positive(x, name="sign"),
            tf.Assert(x[0] < 9.0, ["big", x], name="size"),
        ]
        with tf.control_dependencies(checks):
            tf.identity(x, name="y")
        definition = graph.as_graph_def()
    assert {node.name for node in definition.node if node.op == "Assert"} == {"sign", "size"}
    with tf.Graph().as_default(), v1.Session() as session:
        (y,) = tf.import_graph_def(definition, return_elements=["y:0"], name="")
        assert session.run(y, {"x:0": [1.0, 2.0]}).tolist() == [1.0, 2.0]
        for value, text in (([0.5, -1.5], "[0.5 -1.5]"), ([9.0, 2.0], "[big] [9 2]")):
            with pytest.raises(INVALID) as caught:
                session.run(y, {"x:0": value})
            assert text in str(caught.value)


def test_requirements_that_are_known_to_be_met_are_not_written():
    """Of a shape, only the sizes that a run tells."""
    spec = tf.TensorSpec([None, 2], name="x")

    @tf.function(input_signature=[spec], autograph=False)
    def checked(x):
        debugging.assert_shapes([(x, (3, 2))])
        return x

    nodes = checked.get_concrete_function().graph.as_graph_def().node
    assert [node.op for node in nodes].count("Assert") == 1


def test_a_trace_has_no_conditions():
    """They cost nothing until the graph is written: the assertion is one node beside the result."""
    checked = the_function(CASES["near"][0]).get_concrete_function()
    before = len(checked.graph.get_operations())
    checked.graph.as_graph_def()
    assert len(checked.graph.get_operations()) == before
    assert [x.type for x in checked.graph.get_operations()].count("Less") == 0
