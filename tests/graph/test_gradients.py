"""tf.gradients in graphs: its promises on counts, its sources, its errors."""

import time
from collections import Counter

import numpy as np
import pytest

import talweg as T

v1 = T.compat.v1


def run(fetches, feed=None):
    """The values of fetches, variables initialized."""
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        return session.run(fetches, feed)


def equal_nodes(graph):
    """The operations that are there twice."""
    keys = Counter(node.key for node in graph.table.nodes.values() if node.serial is None)
    return [key for key, count in keys.items() if count > 1]


def ones(graph):
    """The shapes and dtypes of the nodes that are ones everywhere."""
    found = Counter()
    for node in graph.table.nodes.values():
        value = node
        while value.prim.name in ("broadcast_to", "reshape"):
            value = value.inputs[0]
        if value.prim.name == "constant":
            content = value.params["value"]
            if not content.given and content.array.size and np.all(content.array == 1):
                found[node.aval.dims, node.aval.dtype] += 1
    return found


def network(batch=None):
    """A loss and its variables: dense layers, a convolution, an embedding."""
    x = v1.placeholder(T.float32, [batch, 8])
    rows = v1.placeholder(T.int32, [batch])
    table = T.Variable(np.ones((5, 8), np.float32), name="table")
    variables = [table]
    h = x + T.gather(table, rows)
    for _ in range(3):
        w = T.Variable(np.full((8, 8), 0.1, np.float32), name="w")
        b = T.Variable(np.zeros(8, np.float32), name="b")
        variables += [w, b]
        h = T.tanh(T.matmul(h, w) + b)
    image = T.reshape(h, [-1, 2, 4, 1])
    kernel = T.Variable(np.ones((2, 2, 1, 3), np.float32), name="kernel")
    variables.append(kernel)
    c = T.nn.relu(T.nn.conv2d(image, kernel, 1, "SAME"))
    return T.reduce_mean(T.square(c)) + T.reduce_sum(h), variables, x


@pytest.mark.parametrize("batch", [None, 4])
def test_promise_3(batch):
    """No two equal nodes; one `ones` a shape and dtype; asked twice, nothing more."""
    with T.Graph().as_default() as graph:
        loss, variables, _ = network(batch)
        first = v1.gradients(loss, variables)
        live = graph.stats()["live"]
        second = v1.gradients(loss, variables)
        assert graph.stats()["live"] == live
        for a, b in zip(first[1:], second[1:]):
            assert a is b
        assert first[0].values is second[0].values
        assert equal_nodes(graph) == []
        assert max(ones(graph).values()) == 1


def test_promise_3_through_loops_and_branches():
    """The same for loops, branches, and second derivatives."""
    with T.Graph().as_default() as graph:
        x = T.Variable(1.5, name="x")
        p = v1.placeholder(T.bool, [])

        def body(i, a):
            return i + 1, T.cond(p, lambda: a * x, lambda: a + T.sin(x))

        _, y = T.while_loop(lambda i, a: i < 4, body, [0, T.constant(1.0)])
        kept = [y]
        for _ in range(2):
            kept.append(v1.gradients(kept[-1], x)[0])
        live = graph.stats()["live"]
        assert v1.gradients(y, x)[0] is kept[1]
        assert v1.gradients(kept[1], x)[0] is kept[2]
        assert graph.stats()["live"] == live
        assert equal_nodes(graph) == []


def test_dropped_gradients_leave_nothing():
    """What nobody holds is gone: ten thousand gradients are as many nodes as none."""
    with T.Graph().as_default() as graph:
        loss, variables, _ = network()
        before = graph.stats()["live"]
        for _ in range(20):
            found = v1.gradients(loss, variables)
        del found
        assert graph.stats()["live"] == before


def test_gradients_of_targets_are_one_node_of_ones():
    """Several targets of one shape start from one node, which depends on no target."""
    with T.Graph().as_default() as graph:
        x = v1.placeholder(T.float32, [None])
        targets = [x * float(n) for n in range(2, 6)]
        gradient = v1.gradients(targets, x)[0]
        assert max(ones(graph).values()) == 1
        assert run(gradient, {x: [1.0, 2.0]}).tolist() == [14.0, 14.0]


def test_a_long_chain_takes_linear_time():
    """Ten times the nodes, ten times the time of the processor, and no recursion."""
    times = []
    for count in (3_000, 30_000):
        with T.Graph().as_default():
            x = T.Variable(1.0, name="x")
            y = x.value()
            for _ in range(count):
                y = y * 1.0001
            started = time.thread_time()
            gradient = v1.gradients(y, x)[0]
            times.append(time.thread_time() - started)
    assert times[1] < 40 * times[0]
    assert gradient is not None


def test_constants_are_sources_of_their_own():
    """A constant is not merged with an equal number in an expression."""
    with T.Graph().as_default():
        a = T.constant(2.0)
        b = a * 2.0
        assert run(v1.gradients(a * b, [a, b])) == [8.0, 2.0]


def test_equal_constants_are_two_sources():
    """Constants of equal value are not one variable; their array is kept once."""
    with T.Graph().as_default() as graph:
        value = np.arange(1000.0)
        x, y = T.constant(value), T.constant(value)
        found = run(v1.gradients(x * x * y, [x, y]))
        np.testing.assert_allclose(found[0], 2 * value * value)
        np.testing.assert_allclose(found[1], value * value)
        arrays = {id(t.node.params["value"].array) for t in (x, y)}
        assert len(arrays) == 1
        assert T.constant([1, 2]) is T.constant([1, 2])
        before = graph.stats()["live"]
        for _ in range(100):
            z = T.constant(1.0) * 2.0
        del z
        assert graph.stats()["live"] == before


def test_sources_above_each_other():
    """Each source gets all that flows to it, through other sources, too."""
    with T.Graph().as_default():
        x = T.constant(3.0)
        h = x * x
        y = h * h
        assert run(v1.gradients(y, [x, h])) == [108.0, 18.0]
        assert run(v1.gradients(y, [x, h], stop_gradients=[h])[1]) == 18.0
        assert v1.gradients(y, x, stop_gradients=h) == [None]


def test_variables_and_their_handles():
    """A variable, its handle and its value are the same source."""
    with T.Graph().as_default():
        v = T.Variable([1.0, 2.0], name="v")
        y = v * v
        found = [v1.gradients(y, source)[0] for source in (v, v.handle, v.value())]
        assert found[0] is found[1] is found[2]
        assert v1.gradients(v, v)[0] is not None
        assert v1.gradients(y, T.Variable(1.0)) == [None]


def test_reads_after_an_assignment_count():
    """All reads of a variable are added."""
    with T.Graph().as_default():
        v = T.Variable(2.0, name="v")
        with T.control_dependencies([v.assign(5.0)]):
            later = v.read_value()
        assert run(v1.gradients(v * v + 3.0 * later, v)) == [7.0]


def test_weights_of_targets():
    """grad_ys: numbers, arrays, IndexedSlices, scalars that are spread."""
    with T.Graph().as_default():
        v = T.Variable([1.0, 2.0], name="v")
        y = v * 3.0
        slices = T.IndexedSlices(T.constant([5.0]), T.constant([1]), T.constant([2]))
        assert run(v1.gradients(y, v, grad_ys=slices))[0].tolist() == [0.0, 15.0]
        assert run(v1.gradients(y, v, grad_ys=2.0))[0].tolist() == [6.0, 6.0]
        assert run(v1.gradients(y, v, [np.float32([1, 10])]))[0].tolist() == [3.0, 30.0]
        with pytest.raises(ValueError, match="Length mismatch"):
            v1.gradients(y, v, [1.0, 2.0])
        with pytest.raises(ValueError, match="grad_ys|incompatible|broadcast"):
            v1.gradients(y, v, [[1.0, 2.0, 3.0]])
        with pytest.raises(TypeError):
            v1.gradients(y, v, [T.constant([1, 2])])


def test_rows_of_unknown_size():
    """A sparse gradient of a fed tensor has its shape."""
    with T.Graph().as_default():
        x = v1.placeholder(T.float32, [None, 2])
        gradient = v1.gradients(T.gather(x, [1, 1]), x)[0]
        assert isinstance(gradient, T.IndexedSlices)
        dense = T.convert_to_tensor(gradient)
        with v1.Session() as session:
            assert session.run(dense, {x: np.ones((3, 2))}).tolist() == [[0, 0], [2, 2], [0, 0]]


def test_unconnected():
    """None, zeros, or an error that says why."""
    with T.Graph().as_default():
        x, z = T.constant([1.0, 2.0]), v1.placeholder(T.float32, [None])
        n = T.Variable(3, name="n")
        y = x * T.cast(n, T.float32)
        zeros = v1.gradients(y, [z, n], unconnected_gradients="zero")
        assert [g.tolist() for g in run(zeros, {z: [1.0, 2.0, 3.0]})] == [[0.0, 0.0, 0.0], 0]
        with pytest.raises(ValueError, match="TW301"):
            v1.gradients(y, z, unconnected_gradients=T.UnconnectedGradients.ERROR)
        with pytest.raises(ValueError, match="nonsense"):
            v1.gradients(y, x, unconnected_gradients="nonsense")


def test_what_is_no_source_or_target():
    """TypeError for nests, text and complex targets; RuntimeError in eager mode."""
    with T.Graph().as_default():
        x = T.constant([1.0, 2.0])
        for sources in ({"a": x}, [[x], x]):
            with pytest.raises(TypeError):
                v1.gradients(x * x, sources)
        with pytest.raises(TypeError):
            v1.gradients("text", x)
        with pytest.raises(TypeError):
            v1.gradients(T.complex(x, x), x)
        assert v1.gradients(x * x, []) == []
        assert v1.gradients(x * x, 3.0) == [None]
        assert v1.gradients(T.cast(x, T.int32), x) == [None]
    for function in (T.gradients, v1.gradients, T.hessians, v1.hessians):
        with pytest.raises(RuntimeError):
            function(T.constant(1.0), T.constant(1.0))


def test_hessians_of_known_and_unknown_sizes():
    """Batched where the number of elements is known, a loop where it is fed."""
    value = np.array([1.0, 2.0, 3.0])
    want = np.diag(6 * value) + np.ones((3, 3)) - np.eye(3)
    for shape in ([3], [None]):
        with T.Graph().as_default():
            x = v1.placeholder(T.float64, shape)
            total = T.reduce_sum(x)
            y = T.reduce_sum(x**3) + 0.5 * (total * total - T.reduce_sum(x * x))
            (hessian,) = v1.hessians(y, x)
            with v1.Session() as session:
                np.testing.assert_allclose(session.run(hessian, {x: value}), want)


def test_hessian_of_a_line_and_of_nothing():
    """Zeros where the gradient is constant; ValueError where there is none."""
    with T.Graph().as_default():
        x = v1.placeholder(T.float32, [2])
        (hessian,) = v1.hessians(T.reduce_sum(T.sin(x)) - T.reduce_sum(T.sin(x)) + x[0] * 1.0, x)
        with v1.Session() as session:
            assert session.run(hessian, {x: [1.0, 2.0]}).tolist() == [[0, 0], [0, 0]]
        with pytest.raises(ValueError, match="TW301"):
            v1.hessians(T.constant(1.0), x)


def test_gradients_inside_a_loop():
    """`tf.gradients` in the body of a loop, of what the body computes and captures."""
    with T.Graph().as_default():
        w = T.constant(3.0)

        def body(i, a):
            y = a * a * w
            return i + 1, v1.gradients(y, a)[0] + 0.0 * v1.gradients(y, w)[0]

        _, found = T.while_loop(lambda i, a: i < 2, body, [0, T.constant(1.0)])
        assert run(found) == 36.0


def test_equal_identities_are_one_tensor():
    """The derivative by one is that by both; what has a gradient of its own is not merged."""
    own = T.grad_pass_through(T.identity)
    with T.Graph().as_default(), T.compat.v1.Session() as session:
        x = T.compat.v1.placeholder(T.float32, [])
        a, b = T.identity(x), T.identity(x)
        assert session.run(T.gradients(a * b, [a, b]), {x: 3.0}) == [6.0, 6.0]
        a, b = own(x), own(x)
        assert session.run(T.gradients(a * b, [a, b, x]), {x: 3.0}) == [3.0, 3.0, 6.0]


@pytest.mark.parametrize("value", [3.0, [1.0, 2.0], [[1.0, 2.0]]])
def test_hessians_of_a_tensor_of_unknown_rank(value):
    with T.Graph().as_default(), T.compat.v1.Session() as session:
        x = T.compat.v1.placeholder(T.float64)
        (hessian,) = T.hessians(T.reduce_sum(x**3), x)
        assert hessian.shape.rank is None
        found = session.run(hessian, {x: value})
    flat = np.ravel(value)
    np.testing.assert_allclose(found.reshape(flat.size, flat.size), np.diag(6 * flat))
    assert found.shape == np.shape(value) * 2
