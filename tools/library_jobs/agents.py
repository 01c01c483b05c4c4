"""TF-Agents."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tf_agents.agents.dqn import dqn_agent
from tf_agents.agents.ppo import ppo_clip_agent
from tf_agents.agents.reinforce import reinforce_agent
from tf_agents.bandits.agents import lin_ucb_agent
from tf_agents.bandits.policies import policy_utilities
from tf_agents.environments import py_environment, tf_py_environment
from tf_agents.networks import actor_distribution_network, sequential, value_network
from tf_agents.replay_buffers import tf_uniform_replay_buffer
from tf_agents.specs import array_spec, tensor_spec
from tf_agents.trajectories import time_step as ts
from tf_agents.trajectories import trajectory


class Walk(py_environment.PyEnvironment):
    """Steps to the left or to the right; the episode ends at 3 or -3."""

    def __init__(self):
        super().__init__()
        self._action_spec = array_spec.BoundedArraySpec((), np.int32, 0, 1, "action")
        self._observation_spec = array_spec.ArraySpec((2,), np.float32, "observation")
        self._place, self._count = 0, 0

    def action_spec(self):
        return self._action_spec

    def observation_spec(self):
        return self._observation_spec

    def _make_observation(self):
        return np.array([self._place, self._count / 10], np.float32)

    def _reset(self):
        self._place, self._count = 0, 0
        return ts.restart(self._make_observation())

    def _step(self, action):
        if self._current_time_step.is_last():
            return self.reset()
        self._place += 2 * int(action) - 1
        self._count += 1
        if abs(self._place) == 3 or self._count == 10:
            return ts.termination(self._make_observation(), float(self._place))
        return ts.transition(self._make_observation(), 0.1, 0.9)


def dense(units, activation=None):
    """A layer whose first weights depend on no seed of the process."""
    start = tf.keras.initializers.VarianceScaling(seed=units)
    return tf.keras.layers.Dense(units, activation, kernel_initializer=start)


def job_deep_q_network():
    """Collect into a replay buffer by an epsilon-greedy policy, train in tf.function."""
    environment = tf_py_environment.TFPyEnvironment(Walk())
    network = sequential.Sequential([dense(8, "relu"), dense(2)])
    agent = dqn_agent.DqnAgent(
        environment.time_step_spec(),
        environment.action_spec(),
        q_network=network,
        optimizer=tf.keras.optimizers.Adam(0.01),
        target_update_period=2,
    )
    agent.initialize()
    buffer = tf_uniform_replay_buffer.TFUniformReplayBuffer(agent.collect_data_spec, 1, 100)
    step = environment.reset()
    for index in range(30):
        action = tf.constant([index * 7 % 3 % 2])
        following = environment.step(action)
        buffer.add_batch(
            trajectory.from_transition(
                step, agent.policy.action(step)._replace(action=action), following
            )
        )
        step = following
    everything = buffer.gather_all()
    pairs = tf.nest.map_structure(
        lambda x: tf.stack([x[0, i : i + 2] for i in range(20)]), everything
    )
    losses = [agent.train(pairs).loss.numpy() for _ in range(5)]
    chosen = agent.policy.action(environment.reset()).action
    return losses, chosen.numpy(), int(buffer.num_frames())


def evenly(variables):
    """Give variables values that depend on no generator."""
    for variable in variables:
        variable.assign(tf.reshape(tf.linspace(-0.5, 0.5, tf.size(variable)), variable.shape))


def job_policy_gradients():
    """REINFORCE on one episode of continuous actions."""
    observation = tensor_spec.TensorSpec((2,), tf.float32)
    action_spec = tensor_spec.BoundedTensorSpec((1,), tf.float32, -1, 1)
    network = actor_distribution_network.ActorDistributionNetwork(
        observation, action_spec, fc_layer_params=(6,)
    )
    agent = reinforce_agent.ReinforceAgent(
        ts.time_step_spec(observation),
        action_spec,
        actor_network=network,
        optimizer=tf.keras.optimizers.Adam(0.01),
        normalize_returns=True,
    )
    agent.initialize()
    evenly(network.trainable_variables)
    steps = tf.reshape(tf.linspace(-1.0, 1.0, 12), (1, 6, 2))
    episode = trajectory.Trajectory(
        step_type=tf.constant([[0, 1, 1, 1, 1, 2]]),
        observation=steps,
        action=steps[..., :1] / 2,
        policy_info=(),
        next_step_type=tf.constant([[1, 1, 1, 1, 2, 0]]),
        reward=tf.constant([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]]),
        discount=tf.constant([[1.0, 1.0, 1.0, 1.0, 0.0, 1.0]]),
    )
    mode = agent.policy.action(ts.restart(steps[0], 6)).action
    return [agent.train(episode).loss.numpy() for _ in range(3)], mode.numpy()


def job_clipped_proximal_policy():
    """PPO's losses with normalized observations and generalized advantages."""
    observation = tensor_spec.TensorSpec((2,), tf.float32)
    action_spec = tensor_spec.BoundedTensorSpec((1,), tf.float32, -1, 1)
    actor = actor_distribution_network.ActorDistributionNetwork(
        observation, action_spec, fc_layer_params=(4,)
    )
    value = value_network.ValueNetwork(observation, fc_layer_params=(4,))
    agent = ppo_clip_agent.PPOClipAgent(
        ts.time_step_spec(observation),
        action_spec,
        optimizer=tf.keras.optimizers.Adam(0.01),
        actor_net=actor,
        value_net=value,
        num_epochs=2,
    )
    agent.initialize()
    evenly([*actor.trainable_variables, *value.trainable_variables])
    steps = tf.reshape(tf.linspace(-1.0, 1.0, 12), (1, 6, 2))
    data = trajectory.Trajectory(
        step_type=tf.constant([[0, 1, 1, 1, 1, 2]]),
        observation=steps,
        action=steps[..., :1] / 2,
        policy_info={
            "dist_params": {"loc": steps[..., :1] / 3, "scale": tf.ones((1, 6, 1))},
        },
        next_step_type=tf.constant([[1, 1, 1, 1, 2, 0]]),
        reward=tf.constant([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]]),
        discount=tf.constant([[1.0, 1.0, 1.0, 1.0, 0.0, 1.0]]),
    )
    return [agent.train(data).loss.numpy() for _ in range(2)]


def job_bandit():
    """LinUCB, trained by closed form."""
    observation = tensor_spec.TensorSpec((2,), tf.float32)
    agent = lin_ucb_agent.LinearUCBAgent(
        ts.time_step_spec(observation), tensor_spec.BoundedTensorSpec((), tf.int32, 0, 2)
    )
    seen = tf.reshape(tf.linspace(-1.0, 1.0, 12), (6, 1, 2))
    data = trajectory.single_step(
        observation=seen,
        action=tf.constant([[0], [1], [2], [0], [1], [2]]),
        policy_info=policy_utilities.PolicyInfo(),
        reward=tf.constant([[0.0], [1.0], [0.5], [0.1], [0.9], [0.4]]),
        discount=tf.ones((6, 1)),
    )
    loss = agent.train(data).loss
    chosen = agent.policy.action(ts.restart(seen[:, 0], 6)).action
    return loss.numpy(), chosen.numpy()
