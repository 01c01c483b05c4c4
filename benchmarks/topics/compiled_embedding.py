"""Tables of embeddings: a dense gradient, and an update that touches only the rows it looks up.

8,192 ids of a 50,000 x 128 table; the loss is half the squared distance of the rows from targets.
"""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from functools import partial

from benchmarks.declare import Flat, Ratio, benchmark
from benchmarks.models import RATE, moved
from benchmarks.topics.cnn import xla

ROWS, WIDTH, IDS = 50_000, 128, 8_192


def _data(np, rows):
    """The table, the ids, the targets."""
    random = np.random.default_rng(0)
    table = random.standard_normal((rows, WIDTH), dtype="float32")
    targets = random.standard_normal((IDS, WIDTH), dtype="float32")
    return table, random.integers(0, rows, IDS), targets


@benchmark("compiled.embedding_gradient", aims=[Ratio(0.4)], settle=1.0)
class DenseGradient:
    """The gradient of a 50,000x128 table by 8,192 looked up rows, as a dense array."""

    def numpy(np):
        table, ids, targets = _data(np, ROWS)

        def gradient():
            made = np.zeros_like(table)
            np.add.at(made, ids, table[ids] - targets)
            return made

        return gradient

    def tf(tf, np):
        return _tensorflow_gradient(tf, np, tf.function)

    def tensorflow_xla(tf, np):
        return _tensorflow_gradient(tf, np, xla(tf))

    def jax_jit(jax, jnp, np):
        table, ids, targets = map(jnp.asarray, _data(np, ROWS))
        gradient = jax.jit(jax.grad(_jax_loss), static_argnums=3)
        return lambda: gradient(table, ids, targets, jnp).block_until_ready()

    def torch(torch, np):
        return _torch_gradient(torch, np, lambda function: function)

    def torch_compiled(torch, np):
        return _torch_gradient(torch, np, torch.compile)


def _tensorflow_gradient(tf, np, compiled):
    table, ids, targets = _data(np, ROWS)
    table, ids, targets = tf.Variable(table), tf.constant(ids), tf.constant(targets)

    @compiled
    def gradient():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.gather(table, ids) - targets)) / 2
        return tf.convert_to_tensor(tape.gradient(loss, table))

    return gradient


def _torch_gradient(torch, np, compiled):
    table, ids, targets = map(torch.from_numpy, _data(np, ROWS))
    table.requires_grad_()

    @compiled
    def loss(table, ids, targets):
        rows = torch.nn.functional.embedding(ids, table)
        return (rows - targets).square().sum() / 2

    return lambda: torch.autograd.grad(loss(table, ids, targets), table)[0]


@benchmark(
    "compiled.embedding_update",
    aims=[Ratio(0.25), Flat(1.5)],
    sweep={"rows": [ROWS, 3 * ROWS, 9 * ROWS]},
    settle=1.0,
)
class Update:
    """Lookup of 8,192 rows of 128 and their SGD update, whatever the size of the table."""

    def numpy(np, rows):
        table, ids, targets = _data(np, rows)

        def step():
            difference = table[ids] - targets
            np.add.at(table, ids, np.float32(-RATE) * difference)
            return np.square(difference).sum() / 2

        return step, _evidence(np, step, table, ids, lambda: table)

    def tf(tf, np, rows):
        return _tensorflow_update(tf, np, rows, tf.function)

    def tensorflow_xla(tf, np, rows):
        return _tensorflow_update(tf, np, rows, xla(tf))

    def jax_jit(jax, jnp, np, rows):
        """The gradient of the whole table, as jax.grad gives it."""

        def update(table, ids, targets):
            value, gradient = jax.value_and_grad(_jax_loss)(table, ids, targets, jnp)
            return value, table - RATE * gradient

        return _jax_update(jax, jnp, np, rows, update)

    def jax_rows(jax, jnp, np, rows):
        """The gradient of the rows, scattered by hand."""

        def update(table, ids, targets):
            difference = table[ids] - targets
            return jnp.square(difference).sum() / 2, table.at[ids].add(-RATE * difference)

        return _jax_update(jax, jnp, np, rows, update)

    def torch(torch, np, rows):
        return _torch_update(torch, np, rows, is_sparse=False)

    def torch_sparse(torch, np, rows):
        return _torch_update(torch, np, rows, is_sparse=True)

    def torch_compiled_rows(torch, np, rows):
        table, ids, targets = map(torch.from_numpy, _data(np, rows))

        @partial(torch.compile, dynamic=False)  # each size of table gets code of its own
        def update(table, ids, targets):
            difference = table[ids] - targets
            table.index_add_(0, ids, difference, alpha=-RATE)
            return difference.square().sum() / 2

        def step():
            return update(table, ids, targets)

        return step, _evidence(np, step, table.numpy(), ids.numpy(), lambda: table)


@benchmark(
    "compiled.embedding_unique",
    aims=[Ratio(1.0), Flat(1.5)],
    sweep={"rows": [ROWS, 9 * ROWS]},
    settle=1.0,
)
class Unique:
    """The same with one update for each different id, of which nobody knows how many there are.

    `tf.unique` and a sum for each, as optimizers do it; JAX and XLA refuse.
    """

    def numpy(np, rows):
        table, ids, targets = _data(np, rows)

        def step():
            difference = table[ids] - targets
            places, numbers = np.unique(ids, return_inverse=True)
            sums = np.zeros((len(places), WIDTH), "float32")
            np.add.at(sums, numbers, np.float32(RATE) * difference)
            table[places] -= sums
            return np.square(difference).sum() / 2

        return step, _evidence(np, step, table, ids, lambda: table)

    def tf(tf, np, rows):
        return _tensorflow_update(tf, np, rows, tf.function, is_unique=True)

    def torch(torch, np, rows):
        table, ids, targets = map(torch.from_numpy, _data(np, rows))

        def step():
            difference = table[ids] - targets
            places, numbers = torch.unique(ids, return_inverse=True)
            sums = torch.zeros(len(places), WIDTH).index_add_(0, numbers, difference)
            table.index_add_(0, places, sums, alpha=-RATE)
            return difference.square().sum() / 2

        return step, _evidence(np, step, table.numpy(), ids.numpy(), lambda: table)


def _evidence(np, step, before, ids, table):
    """The loss and how far the looked up rows have moved, after a further step."""
    rows = before[ids]

    def evidence():
        return [step(), *moved(np, [rows], [np.asarray(table())[ids]], RATE)]

    return evidence


def _tensorflow_update(tf, np, rows, compiled, is_unique=False):
    values, places, goals = _data(np, rows)
    table, ids, targets = tf.Variable(values), tf.constant(places), tf.constant(goals)

    @compiled
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.gather(table, ids) - targets)) / 2
        gradient = tape.gradient(loss, table)
        updates, rows = RATE * gradient.values, gradient.indices
        if is_unique:
            rows, numbers = tf.unique(rows)
            updates = tf.math.unsorted_segment_sum(updates, numbers, tf.size(rows))
        table.scatter_sub(tf.IndexedSlices(updates, rows))
        return loss

    return step, _evidence(np, step, values, places, lambda: table)


def _jax_loss(table, ids, targets, jnp):
    return jnp.square(table[ids] - targets).sum() / 2


def _jax_update(jax, jnp, np, rows, update):
    values, places, goals = _data(np, rows)
    table, ids, targets = jnp.array(values), jnp.asarray(places), jnp.asarray(goals)
    update = jax.jit(update, donate_argnums=0)

    def step():
        nonlocal table
        value, table = update(table, ids, targets)
        return value.block_until_ready()

    return step, _evidence(np, step, values, places, lambda: table)


def _torch_update(torch, np, rows, is_sparse):
    values, places, goals = _data(np, rows)
    table = torch.tensor(values).requires_grad_()
    ids, targets = torch.from_numpy(places), torch.from_numpy(goals)

    def step():
        found = torch.nn.functional.embedding(ids, table, sparse=is_sparse)
        loss = (found - targets).square().sum() / 2
        (gradient,) = torch.autograd.grad(loss, table)
        with torch.no_grad():
            table.add_(gradient, alpha=-RATE)
        return loss

    return step, _evidence(np, step, values, places, lambda: table.detach())
