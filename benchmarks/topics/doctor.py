"""What it costs that gradients explain themselves: origins, a program under the doctor, answers."""

# pyright: reportSelfClsParameterName=false, reportAttributeAccessIssue=false

from __future__ import annotations

from benchmarks.declare import AtMost, Ratio, benchmark
from benchmarks.models import RATE, two_layers

LINKS = 1_000
STEPS = 100


@benchmark(
    "doctor.origins",
    sweep={"call": ["operator", "function", "layer"]},
    aims=[Ratio(1.1, of="talweg without")],
    scale=LINKS,
)
class Origins:
    """One eager operation shown to a tape, with the place in the program and without it."""

    def talweg(tf, np, call):
        return _recorded(tf, np, call, tf.GradientTape)

    def talweg_without(tf, np, call):
        return _recorded(tf, np, call, _without_origins(tf))


def _recorded(tf, np, call, tape):
    """A callable that does LINKS operations under a tape."""
    x = tf.constant(np.full((32, 32), 0.5, "float32"))
    w = tf.constant(np.full((32, 32), 0.03, "float32"))

    def operator():
        y = x
        for _ in range(LINKS):
            y = y * w
        return y

    def function():
        y = x
        for _ in range(LINKS):
            y = tf.tanh(y)
        return y

    def layer():
        y = x
        for _ in range(LINKS // 4):
            y = tf.nn.relu(tf.nn.bias_add(tf.matmul(y, w), w[0]))
        return y

    program = {"operator": operator, "function": function, "layer": layer}[call]

    def run():
        with tape() as recording:
            recording.watch(x)
            return program()

    return run


def _without_origins(tf):
    """A tape that keeps what tapes keep, but for the places."""

    class Tape(tf.GradientTape):
        def record(self, prim, operands, results, params):
            watched = self._watched
            for operand in operands:
                if id(operand) in watched:
                    break
            else:
                self._made.add(id(results))
                return
            self._records.append((prim, operands, results, params, None))
            if type(results) is tuple:
                watched.update(map(id, results))
            else:
                watched.add(id(results))

    return Tape


@benchmark("doctor.watching", aims=[Ratio(2.0, of="talweg alone")], scale=STEPS)
class Watching:
    """A step of an eager training loop, 100-64-10, batch 32, watched by the doctor and alone."""

    def talweg(tf, np):
        from talweg.doctor import examine

        train = _training(tf, np, STEPS)

        def watched():
            examine(train)

        return watched

    def talweg_alone(tf, np):
        return _training(tf, np, STEPS)


@benchmark(
    "doctor.explain",
    sweep={"length": [1_000, 10_000, 100_000]},
    aims=[AtMost(1.0)],
)
class Explain:
    """Why a gradient is absent: a tape of N records, broken by a rounding in the middle."""

    def talweg(tf, length):
        w = tf.Variable(1.5, name="w")
        with tf.GradientTape(persistent=True) as tape:
            y = w * 1.0
            for _ in range(length // 2):
                y = y * 1.0
            y = tf.round(y)
            for _ in range(length // 2):
                y = y * 1.0
        return lambda: len(str(tape.explain(y, w)))


def _training(tf, np, steps):
    parameters, features, labels = two_layers(np)
    w1, b1, w2, b2 = variables = [tf.Variable(value) for value in parameters]
    x, y = tf.constant(features), tf.constant(labels)

    def train():
        for _ in range(steps):
            with tf.GradientTape() as tape:
                hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
                logits = tf.matmul(hidden, w2) + b2
                loss = tf.reduce_mean(
                    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
                )
            for variable, gradient in zip(variables, tape.gradient(loss, variables)):
                variable.assign_sub(RATE * gradient)

    return train
