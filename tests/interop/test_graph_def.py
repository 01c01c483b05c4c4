"""GraphDefs: what is written can be read again and does the same; what is damaged is refused.

Every primitive is written and read; that TensorFlow runs what is written, with the same results, is
checked by `tools/check_exports.py`, which needs TensorFlow.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from interop import exported
from prims import harness
from programs.support import given

import talweg
from talweg.core.dtypes import of_numpy
from talweg.core.errors import NeedsStaticError
from talweg.interop.graph_def import building
from talweg.interop.graph_def.messages import GraphDef, NodeDef
from talweg.interop.graph_def.tensor_protos import read_values
from talweg.raw import operations

tf = talweg.compat.v1


def node(name, op, inputs=(), **attributes):
    """A node made by hand; attributes are dtypes, numbers, truth values, strings, or messages."""
    made = NodeDef(name=name, op=op)
    made.input.extend(inputs)
    for key, value in attributes.items():
        if hasattr(value, "as_datatype_enum"):
            made.attr[key].type = value.as_datatype_enum
        elif isinstance(value, bool):
            made.attr[key].b = value
        elif isinstance(value, int):
            made.attr[key].i = value
        elif isinstance(value, str):
            made.attr[key].s = value.encode()
        else:
            made.attr[key].CopyFrom(value)
    return made


def graph_of(*nodes):
    """A GraphDef of nodes."""
    message = GraphDef()
    for part in nodes:
        message.node.add().CopyFrom(part)
    return message


def load(message, **options):
    """A new graph with what is imported, and what the import returns."""
    graph = talweg.Graph()
    with graph.as_default():
        return graph, tf.import_graph_def(message, name="", **options)


def run(message, fetches, feed=None):
    """The values of fetches of an imported graph."""
    graph, _ = load(message)
    with tf.Session(graph=graph) as session:
        return session.run(fetches, feed)


X = node("x", "Placeholder", dtype=talweg.float32)


# -- there and back


def written(case, symbolic):
    """(graph, names of results, feed) of a primitive applied to placeholders."""
    arrays = case.arrays()
    graph = talweg.Graph()
    with graph.as_default():
        xs = [
            tf.placeholder(of_numpy(a.dtype), [None] * a.ndim if symbolic else a.shape, f"x{i}")
            for i, a in enumerate(arrays)
        ]
        results = [talweg.identity(y) for y in case.apply(xs)]
        for number, result in enumerate(results):
            graph.label(result.node, f"out_{number}/")
    names = [f"out_{number}:0" for number in range(len(results))]
    return graph, names, {f"x{i}:0": a for i, a in enumerate(arrays)}


PURE = [case for case in harness.cases() if case.prim.effect is None]


@pytest.mark.parametrize("symbolic", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize("case", PURE, ids=[case.name for case in PURE])
def test_primitives_there_and_back(case, symbolic):
    """A primitive does the same after it was written and read, or the node says why it cannot."""
    try:
        graph, names, feed = written(case, symbolic)
    except NeedsStaticError:  # it says that it needs to know a size
        assert symbolic
        return
    message = graph.as_graph_def(include_captured=True)
    without_form = [part for part in message.node if part.op.startswith("Talweg")]
    if without_form:
        assert all(part.attr["_talweg_reason"].s for part in without_form)
        return
    with tf.Session(graph=graph) as session:
        expected = session.run(names, feed)
    for a, b in zip(expected, run(message, names, feed)):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind in "fc":
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
        else:
            assert a.tolist() == b.tolist()


@pytest.mark.parametrize("build", exported.BUILDERS, ids=lambda build: build.__name__)
def test_graphs_there_and_back(build):
    """Branches, loops, variables, random numbers, gradients: as in `tools/check_exports.py`."""
    made = exported.written(build)
    assert not [n.op for n in exported.nodes(made.message) if n.op.startswith("Talweg")]
    graph, _ = load(made.message)
    with tf.Session(graph=graph) as session:
        if made.init:
            session.run(made.init)
        found = session.run(made.outputs, made.feed)
    for a, b in zip(made.expected, found):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def test_text_form():
    """The text of a GraphDef means the same."""
    from google.protobuf import text_format

    graph = talweg.Graph()
    with graph.as_default():
        y = tf.negative(tf.placeholder(tf.float32, [2], name="x"), name="y")
    message = text_format.Parse(text_format.MessageToString(graph.as_graph_def()), GraphDef())
    assert run(message, y.name, {"x:0": [1.0, 2.0]}).tolist() == [-1.0, -2.0]


def test_captured_arrays_are_left_out():
    """A large array is not written unless asked for; its place says how large it is."""
    array = np.ones((1000, 1000), np.float32)
    graph = talweg.Graph()
    with graph.as_default():
        y = tf.reduce_sum(tf.matmul(tf.placeholder(tf.float32, [1, 1000], name="x"), array))
    message = graph.as_graph_def()
    (place,) = [n for n in message.node if "_talweg_captured_bytes" in n.attr]
    assert place.op == "Placeholder" and place.attr["_talweg_captured_bytes"].i == array.nbytes
    assert message.ByteSize() < 10_000
    whole = graph.as_graph_def(include_captured=True)
    assert whole.ByteSize() > array.nbytes
    assert run(whole, y.name, {"x:0": np.ones((1, 1000))}) == 1e6


def test_what_has_no_form_says_so():
    """An operation without a form is written as a node that names it, and is not imported."""
    graph = talweg.Graph()
    with graph.as_default():
        talweg.linalg.pinv(tf.placeholder(tf.float32, [2, 3]), name="y")
    message = graph.as_graph_def()
    (unknown,) = [n for n in message.node if n.op.startswith("Talweg")]
    assert b"pinv" in unknown.attr["_talweg_reason"].s
    with pytest.raises(talweg.errors.NotFoundError, match="Talweg"):
        load(message)


def test_graph_goes_after_writing():
    """Writing keeps nothing of a graph."""
    import weakref

    graph = talweg.Graph()
    with graph.as_default():
        y = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    graph.as_graph_def()
    gone = weakref.ref(graph)
    del graph, y
    assert gone() is None


def test_meta_graph():
    """Collections and variables come back, and can be trained."""
    with talweg.Graph().as_default():
        x = tf.placeholder(tf.float32, [2], name="x")
        v = tf.get_variable("v", initializer=np.float32([1, 2]))
        tf.add_to_collection("results", tf.multiply(x, v, name="y"))
        tf.add_to_collection("numbers", 3)
        message = tf.train.export_meta_graph()
    with talweg.Graph().as_default():
        assert tf.train.import_meta_graph(message, import_scope="m") is not None
        (y,) = tf.get_collection("results")
        (variable,) = tf.trainable_variables()
        assert (y.name, variable.name) == ("m/y:0", "m/v:0")
        assert tf.get_collection("numbers") == [3]
        step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(y))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step, {"m/x:0": [1.0, 1.0]})
            assert session.run(variable).tolist() == [0.0, 1.0]


# -- hostile messages


def refused(message, match, kinds=(ValueError,), **options):
    """The import is refused with an error that says why."""
    with pytest.raises(kinds, match=match):
        load(message, **options)


UNSUPPORTED = (talweg.errors.UnimplementedError,)


def test_bad_nodes_are_named():
    """Every error names the node."""
    neg = {"T": talweg.float32}
    refused(graph_of(X, node("y", "Neg", ["x"])), "node 'y'.*'T'")
    refused(graph_of(X, node("y", "Neg", ["x"], T=3)), "node 'y'.*'T'")
    refused(graph_of(X, node("y", "Neg", ["x"], T=talweg.int32)), "node 'y'")
    refused(graph_of(X, node("y", "Neg", ["x", "x"], **neg)), "node 'y'.*2 inputs")
    refused(graph_of(X, node("y", "Neg", ["x:-1"], **neg)), "node 'y'")
    refused(graph_of(X, node("y", "Neg", ["x:99999999999999999999"], **neg)), "node 'y'")
    refused(graph_of(X, node("y", "Neg", ["^x"], **neg)), "node 'y'")
    refused(graph_of(X, node("y", "Neg", ["x", "^z"], **neg)), "node 'y'.*z")
    refused(graph_of(node("a", "Neg", ["b"], **neg), node("b", "Neg", ["a"], **neg)), "cycle")
    refused(graph_of(node("_x y", "Placeholder", dtype=talweg.float32)), "invalid characters")
    refused(graph_of(node("x", "Placeholder", dtype=_type(77))), "node 'x'")
    pack = node("y", "Pack", ["x"], T=talweg.float32, N=2**62)
    refused(graph_of(X, pack), "node 'y'")
    refused(graph_of(X, node("y", "Pack", ["x"], T=talweg.float32, N=-1)), "node 'y'")
    refused(graph_of(X, node("y", "NoSuchOperation")), "'y'", (talweg.errors.NotFoundError,))


def _type(number):
    message = NodeDef().attr["x"]
    message.type = 1
    message.ParseFromString(b"\x30" + bytes([number]))
    return message


def constant(shape, content=b"", values=(), dtype=talweg.float32):
    """A Const whose parts need not fit."""
    made = node("c", "Const", dtype=dtype)
    tensor = made.attr["value"].tensor
    tensor.dtype = dtype.as_datatype_enum
    for size in shape:
        tensor.tensor_shape.dim.add().size = size
    tensor.tensor_content = content
    tensor.float_val.extend(values)
    return made


def test_constants_are_checked_before_memory_is_taken():
    """A shape that its content does not fill is refused; a repeated value takes no memory."""
    refused(graph_of(constant([2**40], b"\0" * 8)), "node 'c'.*8 bytes")
    refused(graph_of(constant([2**40, 2**40])), "node 'c'.*elements")
    refused(graph_of(constant([-5])), "node 'c'")
    refused(graph_of(constant([1], values=[1.0, 2.0])), "node 'c'")
    refused(graph_of(constant([2**30], values=[1.0, 2.0])), "node 'c'")
    one = [1] * 2
    sums = node("s", "Shape", ["c"], T=talweg.float32, out_type=talweg.int64)
    assert run(graph_of(constant([2**40, 2**20], values=[3.0]), sums), "s:0").tolist() == [
        2**40,
        2**20,
    ]
    assert run(graph_of(constant(one, values=[3.0])), "c:0").tolist() == [[3.0]]


def test_a_long_chain():
    """10,000 nodes in a row are no matter of recursion."""
    chain = [X] + [
        node(f"n{i}", "Neg", [f"n{i - 1}" if i else "x"], T=talweg.float32) for i in range(10_000)
    ]
    assert run(graph_of(*reversed(chain)), "n9999:0", {"x:0": 2.0}) == 2.0


def call(name, function, inputs, **more):
    """A call of a function of the library with one float argument and result."""
    made = node(name, "PartitionedCall", inputs, **more)
    for key in ("Tin", "Tout"):
        made.attr[key].list.type.append(talweg.float32.as_datatype_enum)
    made.attr["f"].func.name = function
    return made


def function(message, name, nodes, result):
    """A function of one float argument `a`."""
    made = message.library.function.add()
    made.signature.name = name
    for field, label in ((made.signature.input_arg, "a"), (made.signature.output_arg, "r")):
        part = field.add()
        part.name, part.type = label, talweg.float32.as_datatype_enum
    for part in nodes:
        made.node_def.add().CopyFrom(part)
    made.ret["r"] = result


def test_functions_that_call_themselves():
    """Recursion and depth of functions have limits, and missing ones are named."""
    message = graph_of(X, call("y", "f", ["x"]))
    refused(message, "'f'", (talweg.errors.NotFoundError,))
    function(message, "f", [call("again", "f", ["a"])], "again:output:0")
    refused(message, "calls itself", UNSUPPORTED)
    deep = graph_of(X, call("y", "f0", ["x"]))
    for number in range(1000):
        inner = [call("next", f"f{number + 1}", ["a"])]
        function(deep, f"f{number}", inner, "next:output:0")
    function(deep, "f1000", [], "a")
    refused(deep, "deep")


def twice_deep(depth):
    """`depth` functions: each of x is the next of x plus the next of -x; the last doubles x + 1."""
    message = graph_of(X, call("y", "f0", ["x"]))
    for number in range(depth):
        add = node("sum", "AddV2", ["p:output:0", "q:output:0"], T=talweg.float32)
        neg = node("neg", "Neg", ["a"], T=talweg.float32)
        inner = [
            neg,
            call("p", f"f{number + 1}", ["a"]),
            call("q", f"f{number + 1}", ["neg:y:0"]),
            add,
        ]
        function(message, f"f{number}", inner, "sum:z:0")
    function(message, f"f{depth}", [node("e", "Exp", ["a"], T=talweg.float32)], "e:y:0")
    return message


def test_functions_that_use_functions_twice_are_built_once():
    """What an import builds grows with what is written, not with how often it is used."""
    counts = []
    for depth in (20, 30, 40):
        graph = talweg.Graph()
        with graph.as_default():
            talweg.compat.v1.import_graph_def(twice_deep(depth), name="")
            counts.append(len(graph.get_operations()))
    assert counts[2] - counts[1] <= counts[1] - counts[0] + 8 and counts[2] < 5000


def test_gradients_of_functions_that_use_functions_twice_are_linear():
    """What is made and written of them grows with what is written."""
    sizes = []
    for depth in (15, 30):
        with talweg.Graph().as_default() as graph:
            talweg.compat.v1.import_graph_def(twice_deep(depth), name="")
            y, x = graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0")
            talweg.gradients(y, x)
        sizes.append(graph.as_graph_def().ByteSize())
    assert sizes[1] < 3 * sizes[0] < 6_000_000


def test_functions_that_are_called_compute_what_they_do_in_place(monkeypatch):
    """Values and gradients are the same."""
    slopes = []
    for short in (0, 10_000):
        monkeypatch.setattr(building, "SHORT", short)
        with talweg.Graph().as_default(), talweg.compat.v1.Session() as session:
            talweg.compat.v1.import_graph_def(twice_deep(5), name="")
            graph = talweg.compat.v1.get_default_graph()
            x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
            slopes.append(session.run([y, *talweg.gradients(y, x)], {x: 0.5}))
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-6)
    np.testing.assert_allclose(slopes[0][0], 32 * np.cosh(0.5), rtol=1e-5)


def test_the_nodes_that_one_import_builds_have_a_limit(monkeypatch):
    """A library that is longer than that is refused."""
    monkeypatch.setattr(building, "INLINED", 50)
    refused(twice_deep(30), "nodes", (talweg.errors.ResourceExhaustedError,))


def test_functions_are_checked():
    """Results, inputs and arguments of functions must be there."""
    for nodes, result in (
        ([], "none:y:0"),
        ([node("y", "Neg", ["a"], T=talweg.float32)], "y:z:0"),
        ([node("y", "Neg", ["a"], T=talweg.float32)], "y:y:1"),
        ([node("y", "Neg", ["b:y:0"], T=talweg.float32)], "y:y:0"),
        ([node("a", "Neg", ["a"], T=talweg.float32)], "a:y:0"),
        (
            [
                node("y", "Neg", ["z:y:0"], T=talweg.float32),
                node("z", "Neg", ["y:y:0"], T=talweg.float32),
            ],
            "y:y:0",
        ),
    ):
        message = graph_of(X, call("y", "f", ["x"]))
        function(message, "f", nodes, result)
        refused(message, "y|a|f")


def test_first_generation_that_makes_no_sense():
    """Switch, Merge and frames that are no tf.cond and no tf.while_loop are named."""
    p = node("p", "Placeholder", dtype=talweg.bool)
    switch = node("s", "Switch", ["x", "p"], T=talweg.float32)
    merge = {"T": talweg.float32, "N": 2}
    refused(graph_of(X, p, switch, node("m", "Merge", ["s:0", "s:0"], **merge)), "'m'", UNSUPPORTED)
    refused(graph_of(X, p, switch, node("m", "Merge", ["s:0", "x"], **merge)), "'m'", UNSUPPORTED)
    add = node("a", "AddV2", ["s:0", "s:1"], T=talweg.float32)
    refused(graph_of(X, p, switch, add), "'a'", UNSUPPORTED)
    refused(graph_of(X, node("e", "Exit", ["x"], T=talweg.float32)), "'e'", UNSUPPORTED)
    enter = node("in", "Enter", ["x"], T=talweg.float32, frame_name="f")
    out = node("out", "Exit", ["in"], T=talweg.float32)
    refused(graph_of(X, enter, out), "'out'", UNSUPPORTED)
    merge_1 = node("m", "Merge", ["x"], T=talweg.float32, N=1)
    refused(graph_of(X, merge_1), "'m'", UNSUPPORTED)


def test_many_branches_inside_one_another():
    """Branches are rebuilt as deep as they are meant to be, and refused beyond."""

    def nested(depth):
        nodes, value = [X, node("p", "Placeholder", dtype=talweg.bool)], "x"
        for level in range(depth):
            predicate = node(f"p{level}", "LogicalNot", ["p"])
            nodes += [
                predicate,
                node(f"s{level}", "Switch", [value, f"p{level}"], T=talweg.float32),
            ]
            value = f"s{level}:1"
        nodes.append(node("y", "Neg", [value], T=talweg.float32))
        value = "y"
        for level in reversed(range(depth)):
            merge = node(f"m{level}", "Merge", [f"s{level}:0", value], T=talweg.float32, N=2)
            nodes.append(merge)
            value = f"m{level}"
        return graph_of(*nodes), f"{value}:0"

    message, result = nested(5)
    assert run(message, result, {"x:0": 3.0, "p:0": False}) == -3.0
    assert run(message, result, {"x:0": 3.0, "p:0": True}) == 3.0
    refused(nested(150)[0], "150|101")


def test_damaged_bytes():
    """Cut or changed bytes are refused by the parser or the import, and nothing else happens."""
    data = given("loops_first", None)
    random = np.random.default_rng(7)
    allowed = (ValueError, TypeError, talweg.errors.OpError)
    from google.protobuf.message import DecodeError

    for _ in range(150):
        damaged = bytearray(data)
        for place in random.integers(0, len(data), 3):
            damaged[place] = random.integers(0, 256)
        message = GraphDef()
        try:
            message.ParseFromString(bytes(damaged))
            load(message)
        except (DecodeError, *allowed):
            continue


def test_no_code_and_no_files(tmp_path):
    """Python functions are refused; checkpoints are neither written nor read."""
    refused(
        graph_of(node("f", "PyFunc", token="x", Tin=_types(), Tout=_types(1))), "'f'", UNSUPPORTED
    )
    names = constant([1], dtype=talweg.string)
    names.attr["value"].tensor.string_val.append(str(tmp_path / "file").encode())
    scalar = NodeDef()
    scalar.CopyFrom(names)
    scalar.name = "path"
    del scalar.attr["value"].tensor.tensor_shape.dim[:]
    save = node("save", "SaveV2", ["path", "c", "c", "x"], dtypes=_types(1))
    graph, _ = load(graph_of(X, names, scalar, save))
    with tf.Session(graph=graph) as session, pytest.raises(talweg.errors.UnimplementedError):
        session.run("save", {"x:0": 1.0})
    assert not list(tmp_path.iterdir())


def _types(*numbers):
    message = NodeDef().attr["x"]
    message.list.type.extend(numbers)
    message.list.SetInParent()
    return message


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(a*)*b"])
def test_patterns_that_would_take_for_ever(pattern):
    """A regular expression of a GraphDef takes time linear in the text."""
    assert not talweg.raw_ops.StaticRegexFullMatch(input="a" * 60, pattern=pattern)


@pytest.mark.parametrize("pattern", ["(", r"(a)\1"])
def test_patterns_that_are_none(pattern):
    """What is no regular expression of RE2's is refused."""
    with pytest.raises(talweg.errors.InvalidArgumentError):
        talweg.raw_ops.StaticRegexFullMatch(input="a", pattern=pattern)


def test_signatures_are_read():
    """Every line of the table of operations is understood."""
    names = list(operations._lines())
    assert len(names) > 500
    for name in names:
        found = operations.find(name)
        known = set(found.attributes)
        for part in (*found.inputs, *found.outputs):
            assert part.dtype is not None or (part.kind or part.listed) in known
            assert not part.number or part.number in known


def test_tensor_messages_of_every_dtype():
    """Arrays survive being a message, as bytes and as values."""
    names = "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64"
    for name in (*names.split(), "bool", "complex64", "complex128"):
        dtype = talweg.as_dtype(name).numpy_dtype
        for array in (
            np.array([[1, 0], [3, 2]]).astype(dtype),
            np.array(5).astype(dtype),
            np.zeros((0, 2), dtype),
        ):
            back = talweg.make_ndarray(talweg.make_tensor_proto(array))
            assert back.dtype == array.dtype and back.tolist() == array.tolist()
    values, dims = read_values(talweg.make_tensor_proto(["a", "bc"]))
    assert values.tolist() == [b"a", b"bc"] and dims == (2,)


def test_generators():
    """A draw is TensorFlow's RngReadAndSkip, and moves the state on there as here."""
    with tf.Graph().as_default() as graph:
        made = tf.random.Generator.from_seed(1)
        drawn, first = [made.normal([2]), made.normal([3])], tf.global_variables_initializer()
        names, init = [x.name for x in drawn], first.name
        definition = graph.as_graph_def()
    assert [n.op for n in definition.node].count("RngReadAndSkip") == 2
    found = []
    for read in (True, False):
        with tf.Graph().as_default() if read else graph.as_default(), tf.Session() as session:
            if read:
                tf.import_graph_def(definition, name="")
            session.run(init)
            found.append([session.run(name) for name in (*names, names[0])])
    for ours, theirs in zip(*found):
        np.testing.assert_array_equal(ours, theirs)
    assert found[0][0].tolist() != found[0][2].tolist()


def test_functions_with_constants_for_variables():
    """convert_variables_to_constants_v2: what TensorFlow's guides freeze functions with."""
    T = importlib.import_module("talweg")
    T.as_tensorflow()
    freeze = importlib.import_module("tensorflow.python.framework.convert_to_constants")
    first, second = T.Variable([[2.0], [1.0]], name="v"), T.Variable([3.0], name="v")
    relu = T.function(T.nn.relu)

    @T.function(input_signature=[T.TensorSpec([None, 2], T.float32, name="x")])
    def f(x):
        y = relu(x @ first)
        return y - second if T.reduce_sum(y) > 1.0 else y + second

    frozen = freeze.convert_variables_to_constants_v2(f.get_concrete_function())
    message = frozen.graph.as_graph_def()
    ops = {node.op for node in message.node}
    assert "Const" in ops and not ops & {"VarHandleOp", "ReadVariableOp", "PartitionedCall"}
    assert [x.name for x in frozen.inputs] == ["x:0"] and len(frozen.outputs) == 1
    x = T.constant([[1.0, 2.0], [-5.0, 1.0]])
    first.assign_add(first), second.assign_add(second)  # the constants stay what they are
    assert frozen(x)[0].numpy().tolist() == [[1.0], [-3.0]]
    assert frozen(-x * 0.0)[0].numpy().tolist() == [[3.0], [3.0]]
