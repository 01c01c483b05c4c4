"""Two networks that train in turn, each with its own variables; one value is looked at."""

import talweg as tf

generator = [tf.Variable(tf.random.normal([4, 4])), tf.Variable(tf.zeros([4]))]
critic = [tf.Variable(tf.random.normal([4, 1])), tf.Variable(tf.zeros([1]))]


def make(noise):
    return noise @ generator[0] + generator[1]


def judge(x):
    return x @ critic[0] + critic[1]


@tf.function
def step(noise, real):
    with tf.GradientTape() as first, tf.GradientTape() as second:
        fake = make(noise)
        score_fake, score_real = judge(fake), judge(real)
        loss_critic = tf.reduce_mean(score_fake) - tf.reduce_mean(score_real)
        loss_generator = -tf.reduce_mean(score_fake)
    for variable, g in zip(critic, first.gradient(loss_critic, critic)):
        if g is not None:
            variable.assign_sub(0.01 * g)
    for variable, g in zip(generator, second.gradient(loss_generator, generator)):
        variable.assign_sub(0.01 * g)
    return loss_critic


for number in range(30):
    value = step(tf.random.normal([8, 4]), tf.random.normal([8, 4]))
print(value)
