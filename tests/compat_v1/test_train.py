"""Optimizers, schedules and averages: counts of nodes, eager mode, slots, errors."""

import gc
import weakref

import numpy as np
import pytest

import talweg as T

v1 = T.compat.v1
train = v1.train


def every_optimizer():
    """One of each, by name."""
    return {
        "descent": train.GradientDescentOptimizer(0.1),
        "momentum": train.MomentumOptimizer(0.1, 0.9),
        "nesterov": train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        "adagrad": train.AdagradOptimizer(0.3),
        "adadelta": train.AdadeltaOptimizer(2.0, 0.9, 1e-3),
        "rmsprop": train.RMSPropOptimizer(0.05, momentum=0.5),
        "centered": train.RMSPropOptimizer(0.05, centered=True),
        "adam": train.AdamOptimizer(0.1),
        "ftrl": train.FtrlOptimizer(0.3, l1_regularization_strength=0.1, beta=0.2),
        "power": train.FtrlOptimizer(0.3, learning_rate_power=-0.7),
        "proximal": train.ProximalGradientDescentOptimizer(0.1, 0.2, 0.1),
        "proximal adagrad": train.ProximalAdagradOptimizer(0.3, 0.1, 0.2, 0.1),
    }


NAMES = list(every_optimizer())
TARGET = np.float32([0.5, 1.0, 0.0])
TABLE = np.arange(8, dtype=np.float32).reshape(4, 2) / 4


def loss_of(v, table):
    """A loss with a dense and a sparse gradient, a row of which is named twice."""
    rows = T.gather(table, [1, 3, 1])
    return T.reduce_sum(T.square(v - TARGET)) + T.reduce_sum(T.square(rows - 1.0))


def in_a_graph(name, steps):
    """The variables after some steps in a graph."""
    with T.Graph().as_default(), v1.Session() as session:
        v, table = T.Variable([1.0, -2.0, 0.5]), T.Variable(TABLE)
        step = every_optimizer()[name].minimize(loss_of(v, table))
        session.run(v1.global_variables_initializer())
        for _ in range(steps):
            session.run(step)
        return session.run([v, table])


def in_eager_mode(name, steps):
    """The same without a graph."""
    v, table = T.Variable([1.0, -2.0, 0.5]), T.Variable(TABLE)
    optimizer = every_optimizer()[name]
    for _ in range(steps):
        assert optimizer.minimize(lambda: loss_of(v, table)) is None
    return [v.numpy(), table.numpy()]


@pytest.mark.parametrize("name", NAMES)
def test_eager_mode_does_what_a_graph_does(name):
    """The same numbers, dense and sparse."""
    for a, b in zip(in_a_graph(name, 3), in_eager_mode(name, 3)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_costs_few_nodes(name):
    """One update for each slot and one for the variable; the settings are there once."""
    with T.Graph().as_default() as graph:
        optimizer = every_optimizer()[name]
        variables = [T.Variable(np.ones((3, 3), np.float32)) for _ in range(10)]
        pairs = [(v1.placeholder(T.float32, [3, 3]), v) for v in variables]
        inits = len(graph.get_collection("variables"))
        step = optimizer.apply_gradients(pairs)
        updates = [n for n in graph.table.nodes.values() if n.prim.name == "update_variable"]
        slots = len(optimizer.get_slot_names())
        own = len(optimizer.variables())
        extra = own - 10 * slots  # the powers of Adam's settings
        assert len(updates) - (inits + own) == 10 * (slots + 1) + extra
        casts = [n for n in graph.table.nodes.values() if n.prim.name == "cast"]
        assert len(casts) <= 6
        assert step is not None


def test_the_same_step_asked_again():
    """Building a step twice adds updates, not gradients."""
    with T.Graph().as_default() as graph:
        v = T.Variable([1.0, 2.0])
        loss = T.reduce_sum(T.exp(v) * T.sin(v))
        optimizer = train.GradientDescentOptimizer(0.1)
        first = optimizer.minimize(loss)
        live = graph.stats()["live"]
        second = optimizer.minimize(loss)
        assert graph.stats()["live"] - live <= 2
        assert first is not second


def test_a_trained_graph_goes_without_the_collector():
    """Optimizers, slots, averages and savers make no cycle."""
    gc.collect()
    gc.disable()
    try:
        graph = T.Graph()
        with graph.as_default():
            v = T.Variable([1.0, 2.0])
            optimizer = train.AdamOptimizer(0.1)
            step = optimizer.minimize(T.reduce_sum(v * v), train.get_or_create_global_step())
            averages = train.ExponentialMovingAverage(0.9)
            update = averages.apply([v])
            saver = train.Saver()
            with v1.Session() as session:
                session.run(v1.global_variables_initializer())
                session.run([step, update])
        there = weakref.ref(graph)
        del graph, v, optimizer, step, averages, update, saver, session
        assert there() is None
    finally:
        gc.enable()


def test_slots_are_named_as_in_tensorflow():
    """Inside the variable scope, outside of name scopes, numbered."""
    with T.Graph().as_default():
        with v1.variable_scope("a"):
            v = v1.get_variable("v", initializer=np.float32([1.0, 2.0]))
        optimizer = train.AdamOptimizer(0.1)
        with T.name_scope("train"):
            step = optimizer.minimize(T.reduce_sum(v * v))
        train.AdamOptimizer(0.1).minimize(T.reduce_sum(v * v))
        names = [variable.name for variable in v1.global_variables()]
        assert {"a/v/Adam:0", "a/v/Adam_1:0", "a/v/Adam_2:0", "a/v/Adam_3:0"} <= set(names)
        assert step.name == "train/Adam"
        assert optimizer.get_slot(v, "m").name == "a/v/Adam:0"
        assert optimizer.get_slot(v, "nothing") is None


def test_constraints():
    """A variable's constraint is applied behind the update; a sparse update refuses."""

    def positive(x):
        return T.maximum(x, 0.0)

    with T.Graph().as_default(), v1.Session() as session:
        v = T.Variable([1.0, 2.0], constraint=positive)
        optimizer = train.GradientDescentOptimizer(1.5)
        step = optimizer.minimize(T.reduce_sum(v))
        session.run(v1.global_variables_initializer())
        session.run(step)
        assert session.run(v).tolist() == [0.0, 0.5]
        with pytest.raises(RuntimeError, match="sparse"):
            optimizer.minimize(T.reduce_sum(T.gather(v, [0])))
    w = T.Variable([1.0, 2.0], constraint=positive)
    train.GradientDescentOptimizer(1.5).minimize(lambda: T.reduce_sum(w))
    assert w.numpy().tolist() == [0.0, 0.5]


class Signed(train.Optimizer):
    """An optimizer as users write them: the sign of the gradient, and a count in a slot."""

    def __init__(self):
        super().__init__(use_locking=False, name="Signed")

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "count", self._name)

    def _prepare(self):
        self._rate = T.convert_to_tensor(0.25)

    def _apply_dense(self, grad, var):
        count = self.get_slot(var, "count").assign_add(T.ones(var.shape))
        return T.group(var.assign_sub(self._rate * T.sign(grad)), count)

    def _apply_sparse(self, grad, var):
        slices = T.IndexedSlices(self._rate * T.sign(grad.values), grad.indices)
        return var.scatter_sub(slices)


def test_own_optimizers():
    """A class derived from Optimizer."""
    with T.Graph().as_default(), v1.Session() as session:
        v, table = T.Variable([1.0, -2.0]), T.Variable(TABLE)
        optimizer = Signed()
        step = optimizer.minimize(T.reduce_sum(v * v) + T.reduce_sum(T.gather(table, [0, 2])))
        session.run(v1.global_variables_initializer())
        session.run(step)
        assert session.run(v).tolist() == [0.75, -1.75]
        assert session.run(optimizer.get_slot(v, "count")).tolist() == [1.0, 1.0]
        want = TABLE - 0.25 * np.float32([[1], [0], [1], [0]])
        assert session.run(table).tolist() == want.tolist()
        assert step.name == "Signed"


def test_a_base_without_a_rule():
    """NotImplementedError names the class and the method."""
    optimizer = train.Optimizer(False, "Nothing")
    with pytest.raises(NotImplementedError, match="_apply_dense"):
        optimizer.apply_gradients([(T.constant(1.0), T.Variable(1.0))])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda o, v: o.minimize(v * v), RuntimeError),
        (lambda o, v: o.apply_gradients([]), ValueError),
        (lambda o, v: o.apply_gradients([(None, v)]), ValueError),
        (lambda o, v: o.apply_gradients([(1.0, 3.0)]), TypeError),
        (lambda o, v: o.apply_gradients([(object(), v)]), TypeError),
        (lambda o, v: o.minimize(lambda: T.constant(1.0), var_list=[v]), ValueError),
        (lambda o, v: o.compute_gradients(lambda: v * v, gate_gradients=7), ValueError),
        (lambda o, v: train.Optimizer(False, ""), ValueError),
        (lambda o, v: train.AdagradOptimizer(0.1, 0.0), ValueError),
        (lambda o, v: train.FtrlOptimizer(0.1, learning_rate_power=1.0), ValueError),
        (lambda o, v: train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0), ValueError),
        (lambda o, v: train.piecewise_constant(1, [2], [1.0]), ValueError),
        (lambda o, v: train.exponential_decay(1.0, None, 2, 0.5), ValueError),
        (lambda o, v: train.piecewise_constant(1, [2.5], [1.0, 2.0])(), ValueError),
    ],
)
def test_errors(call, error):
    """TensorFlow's classes; nothing is changed."""
    v = T.Variable(2.0)
    with pytest.raises(error):
        call(train.GradientDescentOptimizer(0.1), v)
    assert v.numpy() == 2.0


def test_a_failing_step_changes_nothing_that_needs_it():
    """An error in a gradient leaves its variable and slot as they were, and the session usable."""
    with T.Graph().as_default(), v1.Session() as session:
        v, w = T.Variable([1.0, 2.0]), T.Variable([3.0, 4.0])
        rows = v1.placeholder(T.int32, [1])
        optimizer = train.MomentumOptimizer(0.1, 0.9)
        step = optimizer.minimize(T.reduce_sum(v * v) + T.reduce_sum(T.gather(w, rows)))
        session.run(v1.global_variables_initializer())
        with pytest.raises(T.errors.InvalidArgumentError):
            session.run(step, {rows: [7]})
        slot = optimizer.get_slot(w, "momentum")
        assert [x.tolist() for x in session.run([w, slot])] == [[3.0, 4.0], [0.0, 0.0]]
        session.run(step, {rows: [1]})
        assert np.allclose(session.run(w), [3.0, 3.9])


def test_eager_names_are_numbered():
    """Slots of two optimizers on a variable have different names, so that they can be saved."""
    v = T.Variable([1.0], name="v")
    optimizers = [train.AdamOptimizer(0.1), train.AdamOptimizer(0.1)]
    for optimizer in optimizers:
        optimizer.minimize(lambda: T.reduce_sum(v * v))
    names = [x.name for optimizer in optimizers for x in optimizer.variables() if "/" in x.name]
    assert names == ["v/Adam:0", "v/Adam_1:0", "v/Adam_2:0", "v/Adam_3:0"]


def test_schedules_in_eager_mode_are_functions():
    """They give the rate of the step's present value, and optimizers call them."""
    step = T.Variable(0, dtype=T.int64)
    rate = train.exponential_decay(0.5, step, 1, 0.5)
    v = T.Variable(1.0)
    optimizer = train.GradientDescentOptimizer(rate)
    for _ in range(2):
        optimizer.apply_gradients([(T.constant(1.0), v)], global_step=step)
    assert v.numpy() == 0.25
    assert step.numpy() == 2


def test_averages_in_eager_mode():
    """The average begins with the value and follows it."""
    v = T.Variable(2.0, name="v")
    averages = train.ExponentialMovingAverage(0.5)
    averages.apply([v])
    v.assign(4.0)
    averages.apply([v])
    assert averages.average(v).numpy() == 3.0
    assert averages.average_name(v) == "v/ExponentialMovingAverage"


def test_initial_values_from_a_checkpoint(tmp_path):
    """By names, scopes and variables; nothing is changed where one is missing."""
    with T.Graph().as_default(), v1.Session() as session:
        T.Variable([1.0, 2.0], name="v")
        T.Variable(3.0, name="w")
        session.run(v1.global_variables_initializer())
        path = train.Saver().save(session, str(tmp_path / "m"), write_meta_graph=False)
    with T.Graph().as_default(), v1.Session() as session:
        v = T.Variable([0.0, 0.0], name="in/v")
        w = T.Variable(0.0, name="in/w")
        with pytest.raises(ValueError, match="not found"):
            train.init_from_checkpoint(path, {"w": w, "x": v})
        with pytest.raises(ValueError, match="Shape"):
            train.init_from_checkpoint(path, {"w": "in/w", "v": w})
        session.run(v1.global_variables_initializer())
        assert session.run(w) == 0.0
        train.init_from_checkpoint(path, {"/": "in/"})
        session.run(v1.global_variables_initializer())
        assert session.run(v).tolist() == [1.0, 2.0]
        assert session.run(w) == 3.0
