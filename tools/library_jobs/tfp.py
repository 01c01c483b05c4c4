"""TensorFlow Probability."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

tfd, tfb = tfp.distributions, tfp.bijectors
SEED = [1, 2]


def job_log_probabilities():
    """Densities of many distributions."""
    pairs = [
        (tfd.Normal(0.0, 1.0), 0.5),
        (tfd.Gamma(2.0, 1.0), 0.5),
        (tfd.Beta(2.0, 3.0), 0.3),
        (tfd.MultivariateNormalTriL([0.0, 1.0], [[1.0, 0.0], [0.5, 2.0]]), [1.0, 1.0]),
        (tfd.StudentT(3.0, 0.0, 1.0), 0.4),
        (tfd.Dirichlet([1.0, 2.0, 3.0]), [0.2, 0.3, 0.5]),
        (tfd.VonMises(0.0, 1.0), 0.3),
    ]
    return [d.log_prob(x).numpy() for d, x in pairs]


def job_samples():
    """Random numbers, by seeds of either kind."""
    known = [tfd.Normal(0.0, 1.0), tfd.Uniform(), tfd.Laplace(0.0, 1.0), tfd.Bernoulli(0.3)]
    found = [d.sample(3, seed=SEED).numpy() for d in known]
    tf.random.set_seed(1)
    return found, tfd.Normal(0.0, 1.0).sample(4, seed=3).numpy()


def job_samples_by_rejection():
    """Random numbers for which TensorFlow chooses among two algorithms."""
    known = [tfd.Gamma(2.0, 1.0), tfd.Poisson(2.0), tfd.StudentT(3.0, 0.0, 1.0)]
    return [d.sample(3, seed=SEED).numpy() for d in known]


def job_bijectors_and_joints():
    """Bijectors, transformed, mixed and joint distributions."""
    chain = tfb.Chain([tfb.Exp(), tfb.Shift(1.0), tfb.Scale(2.0)])
    logistic = tfd.TransformedDistribution(tfd.Normal(0.0, 1.0), tfb.Sigmoid())
    joint = tfd.JointDistributionNamed(
        {"a": tfd.Normal(0.0, 1.0), "b": lambda a: tfd.Normal(a, 1.0)}
    )
    mixed = tfd.MixtureSameFamily(
        tfd.Categorical(probs=[0.3, 0.7]), tfd.Normal([-1.0, 1.0], [0.5, 0.5])
    )
    return (
        chain.forward([0.1, 0.2]).numpy(),
        chain.forward_log_det_jacobian([0.1, 0.2], 0).numpy(),
        logistic.log_prob(0.3).numpy(),
        joint.log_prob({"a": 0.1, "b": 0.2}).numpy(),
        mixed.sample(3, seed=SEED).numpy(),
    )


def job_hamiltonian_monte_carlo():
    """A chain with adapted steps, inside tf.function."""
    inner = tfp.mcmc.HamiltonianMonteCarlo(tfd.Normal(0.0, 1.0).log_prob, 0.5, 3)
    kernel = tfp.mcmc.SimpleStepSizeAdaptation(inner, 20)

    @tf.function
    def chain():
        return tfp.mcmc.sample_chain(
            30, current_state=1.0, kernel=kernel, num_burnin_steps=20, trace_fn=None, seed=SEED
        )

    return chain().numpy()[:6]


def job_variational_inference():
    """A surrogate posterior with deferred parameters."""
    mean, log_scale = tf.Variable(0.0), tf.Variable(0.0)
    surrogate = tfd.Normal(mean, tfp.util.DeferredTensor(log_scale, tf.exp))
    losses = tfp.vi.fit_surrogate_posterior(
        tfd.Normal(2.0, 0.5).log_prob,
        surrogate,
        tf.keras.optimizers.Adam(0.1),
        20,
        sample_size=4,
        seed=SEED,
    )
    return losses.numpy()[:6], mean.numpy()


def job_processes_and_models():
    """A Gaussian process, a hidden Markov model, a structural time series, a linear model."""
    kernel = tfp.math.psd_kernels.ExponentiatedQuadratic(1.0, 0.5)
    points = np.linspace(0, 1, 5)[:, None].astype("float32")
    process = tfd.GaussianProcessRegressionModel(
        kernel, points[:3] + 0.1, points, np.sin(points[:, 0]), observation_noise_variance=0.1
    )
    hidden = tfd.HiddenMarkovModel(
        tfd.Categorical(probs=[0.5, 0.5]),
        tfd.Categorical(probs=[[0.9, 0.1], [0.2, 0.8]]),
        tfd.Normal([0.0, 5.0], 1.0),
        4,
    )
    series = np.sin(np.arange(20.0)).astype("float32")
    trend = tfp.sts.Sum([tfp.sts.LocalLinearTrend(observed_time_series=series)], series)
    space = trend.make_state_space_model(20, [1.0, 0.1, 0.1])
    return (
        process.mean().numpy(),
        hidden.posterior_mode([0.0, 1.0, 5.0, 4.0]).numpy(),
        space.log_prob(series[:, None]).numpy(),
    )


def job_optimizers():
    """L-BFGS and Nelder-Mead."""

    def bowl(x):
        return tf.reduce_sum((x - [1.0, 2.0]) ** 2 * [1.0, 5.0])

    def both(x):
        return tfp.math.value_and_gradient(bowl, x)

    newton = tfp.optimizer.lbfgs_minimize(both, [0.0, 0.0])
    simplex = tfp.optimizer.nelder_mead_minimize(bowl, initial_vertex=[0.0, 0.0])
    return newton.position.numpy(), np.round(simplex.position.numpy(), 2)


def job_layers():
    """Layers that give distributions, and layers with distributions for weights."""
    tf.keras.utils.set_random_seed(1)
    flipout = tf.keras.Sequential([tfp.layers.DenseFlipout(2, input_shape=(3,))])
    flipout(np.ones((2, 3), "float32"))
    normal = tfp.layers.DistributionLambda(lambda t: tfd.Normal(t, 1.0))
    return float(flipout.losses[0]), normal(tf.ones((2, 1))).mean().numpy()


def job_arguments_of_functions():
    """A distribution as an argument of tf.function, and derivatives of samples."""

    @tf.function
    def double(d):
        return d.mean() * 2.0

    v = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        log = tfd.Gamma(v, 2.0).log_prob(3.0)
    return double(tfd.Normal(1.0, 2.0)).numpy(), tape.gradient(log, v).numpy()
