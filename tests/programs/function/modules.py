"""`tf.Module` with traced methods: collections, names, training, and sharing."""


def collects_variables(tf, np):
    class Dense(tf.Module):
        def __init__(self, width, depth, name=None):
            super().__init__(name=name)
            self.weights = tf.Variable(tf.ones([width, depth]), name="weights")
            self.bias = tf.Variable(tf.zeros([depth]), name="bias")
            self.seen = tf.Variable(0, trainable=False, name="seen")

        @tf.function
        def __call__(self, x):
            self.seen.assign_add(1)
            return tf.matmul(x, self.weights) + self.bias

    dense = Dense(3, 2, name="dense")
    dense(tf.ones([1, 3]))
    return {
        "value": dense(tf.ones([2, 3])).numpy(),
        "variables": [v.name for v in dense.variables],
        "trainable": [v.name for v in dense.trainable_variables],
        "rest": [v.numpy() for v in dense.non_trainable_variables],
    }


def collects_submodules(tf, np):
    class Leaf(tf.Module):
        def __init__(self, value, name=None):
            super().__init__(name=name)
            self.value = tf.Variable(value)

    class Tree(tf.Module):
        def __init__(self):
            super().__init__(name="tree")
            self.leaves = [Leaf(1.0, "one"), Leaf(2.0, "two")]
            self.table = {"b": Leaf(4.0, "four"), "a": (Leaf(3.0, "three"),)}

        @tf.function
        def total(self):
            return tf.add_n([leaf.value for leaf in self.submodules])

    tree = Tree()
    return {
        "names": [m.name for m in tree.submodules],
        "values": [v.numpy() for v in tree.variables],
        "total": tree.total().numpy(),
    }


def name_scopes(tf, np):
    names = []

    class Layer(tf.Module):
        @tf.Module.with_name_scope
        def __call__(self, x):
            names.append(self.name_scope.name)
            if not hasattr(self, "scale"):
                self.scale = tf.Variable(2.0, name="scale")
            return self.scale

    class Model(tf.Module):
        def __init__(self):
            super().__init__(name="model")
            with self.name_scope:
                self.layer = Layer(name="layer")
                self.offset = tf.Variable(1.0, name="offset")

        @tf.Module.with_name_scope
        def __call__(self, x):
            return self.layer(x) * x + self.offset

    model = Model()
    value = model(tf.constant(3.0)).numpy()
    return [value, names, sorted(v.name for v in model.variables)]


def default_names(tf, np):
    class MyLittleModule(tf.Module):
        pass

    class HTTPServer2(tf.Module):
        pass

    return [MyLittleModule().name, HTTPServer2().name]


def variables_made_on_the_first_call(tf, np):
    class Lazy(tf.Module):
        def __init__(self, depth):
            super().__init__()
            self.depth, self.weights = depth, None

        @tf.function
        def __call__(self, x):
            if self.weights is None:
                self.weights = tf.Variable(tf.fill([x.shape[1], self.depth], 0.25))
            return tf.matmul(x, self.weights)

    lazy = Lazy(2)
    before = len(lazy.variables)
    value = lazy(tf.ones([1, 4])).numpy()
    return [before, value, len(lazy.variables), lazy(tf.ones([3, 4])).numpy()]


def shared_module_in_a_sequence(tf, np):
    class Scale(tf.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = tf.Variable(factor)

        def __call__(self, x):
            return x * self.factor

    class Sequence(tf.Module):
        def __init__(self, layers):
            super().__init__()
            self.layers = layers

        @tf.function
        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    scale = Scale(3.0)
    model = Sequence([scale, Scale(2.0), scale])
    first = model(tf.constant(1.0)).numpy()
    scale.factor.assign(10.0)
    return [first, model(tf.constant(1.0)).numpy(), len(model.variables)]


def training_step(tf, np):
    class Line(tf.Module):
        def __init__(self):
            super().__init__()
            self.slope = tf.Variable(0.0, dtype=tf.float64)
            self.offset = tf.Variable(0.0, dtype=tf.float64)

        @tf.function
        def step(self, x, y, rate):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self.slope * x + self.offset - y) ** 2)
            slope, offset = tape.gradient(loss, [self.slope, self.offset])
            self.slope.assign_sub(rate * slope)
            self.offset.assign_sub(rate * offset)
            return loss

    line = Line()
    x = tf.constant(np.linspace(-1.0, 1.0, 9))
    rate = tf.constant(0.3, tf.float64)
    losses = [line.step(x, 2.0 * x + 1.0, rate).numpy() for _ in range(5)]
    return [losses, line.slope.numpy(), line.offset.numpy()]


def network_trains(tf, np):
    class Network(tf.Module):
        def __init__(self):
            super().__init__()
            self.first = tf.Variable(np.sin(np.arange(8.0)).reshape(2, 4))
            self.second = tf.Variable(np.cos(np.arange(4.0)).reshape(4, 1))

        def __call__(self, x):
            return tf.matmul(tf.tanh(tf.matmul(x, self.first)), self.second)

    network = Network()

    @tf.function
    def train(x, y, steps):
        loss = tf.constant(0.0, tf.float64)
        for _ in tf.range(steps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(network(x) - y))
            gradients = tape.gradient(loss, network.trainable_variables)
            for variable, gradient in zip(network.trainable_variables, gradients):
                variable.assign_sub(0.1 * gradient)
        return loss

    x = tf.constant([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], tf.float64)
    y = tf.constant([[0.0], [1.0], [1.0], [0.0]], tf.float64)
    losses = [train(x, y, tf.constant(n)).numpy() for n in (1, 5, 5)]
    return [losses, [v.numpy() for v in network.variables]]


def momentum_in_slots(tf, np):
    class Momentum(tf.Module):
        def __init__(self, variables):
            super().__init__()
            self.variables_of_model = variables
            self.slots = [tf.Variable(tf.zeros_like(v)) for v in variables]

        @tf.function
        def apply(self, gradients):
            for slot, variable, gradient in zip(self.slots, self.variables_of_model, gradients):
                slot.assign(0.5 * slot + gradient)
                variable.assign_sub(0.1 * slot)

    v = [tf.Variable([1.0, 2.0]), tf.Variable(3.0)]
    momentum = Momentum(v)
    for _ in range(3):
        momentum.apply([2.0 * x for x in v])
    return [x.numpy() for x in v] + [s.numpy() for s in momentum.slots]


def module_as_an_argument(tf, np):
    class Scale(tf.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = tf.Variable(factor)

    @tf.function
    def run(module, x):
        return module.factor * x

    double, triple = Scale(2.0), Scale(3.0)
    x = tf.constant(5.0)
    return [run(double, x).numpy(), run(triple, x).numpy(), run(double, x).numpy()]


PROGRAMS = [
    collects_variables,
    collects_submodules,
    name_scopes,
    default_names,
    variables_made_on_the_first_call,
    shared_module_in_a_sequence,
    training_step,
    network_trains,
    momentum_in_slots,
    module_as_an_argument,
]
