"""Recurrent networks: cells, static and dynamic, both directions, lengths, gradients."""

from programs.support import names, raised, run, static


def waves(tf, np):
    """An initializer whose numbers go up and down."""

    def make(shape, dtype=None, partition_info=None):
        sizes = [int(size) for size in shape]
        return tf.constant(
            np.sin(0.3 + 1.7 * np.arange(np.prod(sizes))).reshape(sizes) * 0.5, dtype
        )

    return make


def sequence(np, *shape):
    """Inputs of a given shape."""
    return np.cos(0.2 + 1.3 * np.arange(np.prod(shape))).reshape(shape).astype(np.float32)


def cells(tf):
    """Some cell of each kind."""
    kinds = tf.nn.rnn_cell
    return {
        "basic": kinds.BasicRNNCell(3),
        "relu": kinds.BasicRNNCell(3, activation=tf.nn.relu),
        "gru": kinds.GRUCell(3),
        "basic lstm": kinds.BasicLSTMCell(3),
        "lstm": kinds.LSTMCell(3),
        "peepholes": kinds.LSTMCell(3, use_peepholes=True, cell_clip=0.4),
        "projection": kinds.LSTMCell(4, num_proj=3, forget_bias=0.5),
    }


def one_step_of_each_cell(tf, np):
    found = {}
    for key, cell in cells(tf).items():
        with tf.variable_scope(key.replace(" ", "_"), initializer=waves(tf, np)):
            found[key] = cell(tf.constant(sequence(np, 2, 4)), cell.zero_state(2, tf.float32))
    return [run(tf, list(found.values())), sorted(names(tf.global_variables()))]


def sizes_of_each_cell(tf, np):
    return {key: [cell.output_size, cell.state_size] for key, cell in cells(tf).items()}


def state_tuples(tf, np):
    state = tf.nn.rnn_cell.LSTMStateTuple(tf.zeros([1, 2]), tf.ones([1, 2]))
    got = run(tf, state)
    return [list(state._fields), got.c, got.h]


def unrolled(tf, np, cell):
    """A static network over three steps; its outputs, its state and some gradients."""
    x = tf.constant(sequence(np, 2, 3, 4))
    with tf.variable_scope("net", initializer=waves(tf, np)):
        outputs, state = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
    loss = tf.add_n([tf.reduce_sum(output**2) for output in outputs])
    gradients = tf.gradients(loss, [x, *tf.trainable_variables()])
    return run(tf, [outputs, state, gradients])


def static_basic(tf, np):
    return unrolled(tf, np, tf.nn.rnn_cell.BasicRNNCell(3))


def static_gru(tf, np):
    return unrolled(tf, np, tf.nn.rnn_cell.GRUCell(3))


def static_basic_lstm(tf, np):
    return unrolled(tf, np, tf.nn.rnn_cell.BasicLSTMCell(3, forget_bias=0.3))


def static_lstm(tf, np):
    return unrolled(tf, np, tf.nn.rnn_cell.LSTMCell(3, use_peepholes=True))


def static_with_lengths(tf, np):
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    steps = [tf.constant(sequence(np, 2, 4)) * (n + 1.0) for n in range(3)]
    with tf.variable_scope("net", initializer=waves(tf, np)):
        outputs, state = tf.nn.static_rnn(cell, steps, sequence_length=[1, 3], dtype=tf.float32)
    return run(tf, [outputs, state])


def looped(tf, np, cell, **options):
    """A dynamic network; its outputs, its state and gradients."""
    x = tf.constant(sequence(np, 2, 5, 4))
    with tf.variable_scope("net", initializer=waves(tf, np)):
        outputs, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, **options)
    gradients = tf.gradients(tf.reduce_sum(outputs**2), [x, *tf.trainable_variables()])
    return [static(outputs), run(tf, [outputs, state, gradients])]


def dynamic_basic(tf, np):
    return looped(tf, np, tf.nn.rnn_cell.BasicRNNCell(3))


def dynamic_gru(tf, np):
    return looped(tf, np, tf.nn.rnn_cell.GRUCell(3))


def dynamic_basic_lstm(tf, np):
    return looped(tf, np, tf.nn.rnn_cell.BasicLSTMCell(3))


def dynamic_lstm(tf, np):
    return looped(tf, np, tf.nn.rnn_cell.LSTMCell(3, num_proj=2))


def dynamic_with_lengths(tf, np):
    return looped(tf, np, tf.nn.rnn_cell.GRUCell(3), sequence_length=[2, 4])


def dynamic_lstm_with_lengths(tf, np):
    return looped(tf, np, tf.nn.rnn_cell.LSTMCell(3), sequence_length=[0, 5])


def dynamic_options_are_accepted(tf, np):
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    return looped(tf, np, cell, parallel_iterations=1, swap_memory=True, scope="named")


def dynamic_time_major(tf, np):
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    x = tf.constant(sequence(np, 5, 2, 4))
    with tf.variable_scope("net", initializer=waves(tf, np)):
        outputs, state = tf.nn.dynamic_rnn(
            cell, x, sequence_length=[3, 5], dtype=tf.float32, time_major=True
        )
    return run(tf, [outputs, state, tf.gradients(outputs, x)])


def dynamic_with_an_initial_state(tf, np):
    cell = tf.nn.rnn_cell.LSTMCell(3)
    x = tf.constant(sequence(np, 2, 3, 4))
    start = tf.nn.rnn_cell.LSTMStateTuple(tf.ones([2, 3]), -tf.ones([2, 3]))
    with tf.variable_scope("net", initializer=waves(tf, np)):
        outputs, state = tf.nn.dynamic_rnn(cell, x, initial_state=start)
    return run(tf, [outputs, state, tf.gradients(state.h, list(start))])


def dynamic_of_unknown_sizes(tf, np):
    cell = tf.nn.rnn_cell.GRUCell(3)
    x = tf.placeholder(tf.float32, [None, None, 4])
    lengths = tf.placeholder(tf.int32, [None])
    with tf.variable_scope("net", initializer=waves(tf, np)):
        outputs, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    gradient = tf.gradients(tf.reduce_sum(outputs**2), x)[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        fetches = [outputs, state, gradient]
        found = [
            session.run(fetches, {x: sequence(np, batch, time, 4), lengths: [time] * batch})
            for batch, time in [(1, 2), (3, 4)]
        ]
    return [static(outputs), static(state), found]


def dynamic_equals_static(tf, np):
    x = tf.constant(sequence(np, 2, 6, 4))
    cell = tf.nn.rnn_cell.GRUCell(3)
    with tf.variable_scope("net", initializer=waves(tf, np)):
        looped_outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, scope="rnn")
    with tf.variable_scope("net", reuse=True):
        outputs, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32, scope="rnn")
    got, other = run(tf, [looped_outputs, tf.stack(outputs, 1)])
    return [bool(np.allclose(got, other, atol=1e-6)), names(tf.global_variables())]


def several_layers(tf, np):
    kinds = tf.nn.rnn_cell
    cell = kinds.MultiRNNCell([kinds.BasicRNNCell(3), kinds.GRUCell(2), kinds.LSTMCell(2)])
    found = looped(tf, np, cell)
    return [*found, cell.state_size, names(tf.trainable_variables())]


def several_layers_static(tf, np):
    kinds = tf.nn.rnn_cell
    return unrolled(tf, np, kinds.MultiRNNCell([kinds.BasicLSTMCell(3) for _ in range(2)]))


def wrapped_cells(tf, np):
    kinds = tf.nn.rnn_cell
    cell = kinds.DropoutWrapper(kinds.BasicRNNCell(4), input_keep_prob=1.0, output_keep_prob=1.0)
    return looped(tf, np, kinds.ResidualWrapper(cell))


def dropped_outputs(tf, np):
    kinds = tf.nn.rnn_cell
    cell = kinds.DropoutWrapper(kinds.BasicRNNCell(50), output_keep_prob=0.5, seed=1)
    x = tf.constant(sequence(np, 4, 5, 3))
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    got = run(tf, outputs)
    return [got.shape, bool(abs(np.mean(got == 0) - 0.5) < 0.1)]


def both_directions_dynamic(tf, np):
    kinds = tf.nn.rnn_cell
    x = tf.constant(sequence(np, 2, 4, 3))
    with tf.variable_scope("net", initializer=waves(tf, np)):
        outputs, states = tf.nn.bidirectional_dynamic_rnn(
            kinds.GRUCell(2), kinds.BasicRNNCell(3), x, sequence_length=[3, 4], dtype=tf.float32
        )
    gradient = tf.gradients([tf.reduce_sum(output**2) for output in outputs], x)
    return [run(tf, [outputs, states, gradient]), names(tf.trainable_variables())]


def both_directions_time_major(tf, np):
    kinds = tf.nn.rnn_cell
    x = tf.constant(sequence(np, 4, 2, 3))
    with tf.variable_scope("net", initializer=waves(tf, np)):
        outputs, states = tf.nn.bidirectional_dynamic_rnn(
            kinds.LSTMCell(2), kinds.LSTMCell(2), x, dtype=tf.float32, time_major=True
        )
    return run(tf, [tf.concat(outputs, 2), states])


def both_directions_static(tf, np):
    kinds = tf.nn.rnn_cell
    steps = [tf.constant(sequence(np, 2, 3)) * (n + 1.0) for n in range(3)]
    with tf.variable_scope("net", initializer=waves(tf, np)):
        outputs, forward, backward = tf.nn.static_bidirectional_rnn(
            kinds.BasicLSTMCell(2), kinds.BasicLSTMCell(2), steps, dtype=tf.float32
        )
    return run(tf, [outputs, forward, backward, tf.gradients(outputs, steps)])


def cell_of_ones_own(tf, np):
    class Summing(tf.nn.rnn_cell.RNNCell):
        @property
        def state_size(self):
            return 2

        @property
        def output_size(self):
            return 2

        def call(self, inputs, state):
            return state + inputs, 0.5 * (state + inputs)

    x = tf.constant(sequence(np, 1, 4, 2))
    outputs, state = tf.nn.dynamic_rnn(Summing(), x, dtype=tf.float32)
    return run(tf, [outputs, state, tf.gradients(state, x)])


def raw_network(tf, np):
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    x = tf.constant(sequence(np, 4, 2, 3))
    table = tf.TensorArray(tf.float32, 4).unstack(x)

    def step(time, output, state, loop_state):
        following = cell.zero_state(2, tf.float32) if output is None else state
        done = time >= [3, 4]
        reads = tf.cond(tf.reduce_all(done), lambda: tf.zeros([2, 3]), lambda: table.read(time))
        return done, reads, following, output, None

    with tf.variable_scope("net", initializer=waves(tf, np)):
        outputs, state, _ = tf.nn.raw_rnn(cell, step)
    return run(tf, [outputs.stack(), state])


def training_a_network(tf, np):
    x = tf.constant(sequence(np, 4, 5, 2))
    targets = tf.constant([[0.0], [1.0], [0.0], [1.0]])
    with tf.variable_scope("net", initializer=waves(tf, np)):
        _, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(3), x, dtype=tf.float32)
        W = tf.get_variable("W", [3, 1])
    loss = tf.reduce_mean(tf.square(tf.matmul(state.h, W) - targets))
    gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, tf.trainable_variables()), 1.0)
    optimizer = tf.train.AdamOptimizer(0.05)
    step = optimizer.apply_gradients(zip(gradients, tf.trainable_variables()))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run([loss, norm, step])[:2] for _ in range(5)]


def network_errors(tf, np):
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    x = tf.zeros([2, 3, 4])
    return [
        raised(lambda: tf.nn.dynamic_rnn(cell, x)),
        raised(lambda: tf.nn.static_rnn(cell, x, dtype=tf.float32)),
        raised(lambda: tf.nn.static_rnn(cell, [], dtype=tf.float32)),
        raised(lambda: tf.nn.dynamic_rnn(3, x, dtype=tf.float32)),
        raised(lambda: tf.nn.dynamic_rnn(cell, x, [[1, 2]], dtype=tf.float32)),
    ]


TOLERANCE = {"*": {"rtol": 1e-4, "atol": 1e-5}}

PROGRAMS = [
    one_step_of_each_cell,
    sizes_of_each_cell,
    state_tuples,
    static_basic,
    static_gru,
    static_basic_lstm,
    static_lstm,
    static_with_lengths,
    dynamic_basic,
    dynamic_gru,
    dynamic_basic_lstm,
    dynamic_lstm,
    dynamic_with_lengths,
    dynamic_lstm_with_lengths,
    dynamic_options_are_accepted,
    dynamic_time_major,
    dynamic_with_an_initial_state,
    dynamic_of_unknown_sizes,
    dynamic_equals_static,
    several_layers,
    several_layers_static,
    wrapped_cells,
    dropped_outputs,
    both_directions_dynamic,
    both_directions_time_major,
    both_directions_static,
    cell_of_ones_own,
    raw_network,
    training_a_network,
    network_errors,
]
