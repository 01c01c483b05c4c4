"""All losses and metrics, and layers of many kinds, on fixed data."""

from __future__ import annotations

import inspect

import numpy as np

from .support import generator, program


def _numbers(value):
    return np.asarray(value, dtype="float64").reshape(-1).tolist()


@program
def loss_functions(tf, keras):
    random = generator(0)
    truth = random.integers(0, 2, (6, 4)).astype("float32")
    score = random.uniform(0.05, 0.95, (6, 4)).astype("float32")
    labels = random.integers(0, 4, 6)
    result = []
    for name in sorted(dir(keras.losses)):
        kind = getattr(keras.losses, name)
        if not inspect.isclass(kind) or name in ("Loss", "CTC", "Reduction"):
            continue
        sparse = "Sparse" in name
        if name in ("CircleLoss", "Circle", "CategoricalGeneralizedCrossEntropy"):
            sparse = True
        for reduction in ("sum_over_batch_size", "none"):
            variable = tf.Variable(score)
            with tf.GradientTape() as tape:
                value = kind(reduction=reduction)(labels if sparse else truth, variable)
            gradient = tape.gradient(value, variable)
            result += _numbers(value) + _numbers(tf.reduce_sum(gradient, axis=0))
    return result


@program
def metric_classes(tf, keras):
    random = generator(1)
    truth = random.integers(0, 2, (8, 3)).astype("float32")
    score = random.uniform(0.05, 0.95, (8, 3)).astype("float32")
    labels = random.integers(0, 3, 8)
    options = {
        "MeanRelativeError": {"normalizer": np.ones((8, 3), "float32")},
        "MeanIoU": {"num_classes": 2},
        "IoU": {"num_classes": 2, "target_class_ids": [0, 1]},
        "OneHotIoU": {"num_classes": 3, "target_class_ids": [0, 2]},
        "OneHotMeanIoU": {"num_classes": 3},
        "BinaryIoU": {"target_class_ids": [0, 1]},
        "SensitivityAtSpecificity": {"specificity": 0.5},
        "SpecificityAtSensitivity": {"sensitivity": 0.5},
        "PrecisionAtRecall": {"recall": 0.5},
        "RecallAtPrecision": {"precision": 0.5},
        "ConcordanceCorrelation": {},
        "PearsonCorrelation": {},
    }
    result = []
    for name in sorted(dir(keras.metrics)):
        kind = getattr(keras.metrics, name)
        if not inspect.isclass(kind) or name in ("Metric", "MeanMetricWrapper"):
            continue
        metric = kind(**options.get(name, {}))
        for rows in (slice(0, 5), slice(5, 8)):
            if name in ("Mean", "Sum"):
                metric.update_state(score[rows])
            elif "Sparse" in name:
                metric.update_state(labels[rows], score[rows])
            elif name in ("IoU", "MeanIoU"):
                metric.update_state(truth[rows], np.round(score[rows]))
            elif name == "MeanRelativeError":
                metric = kind(normalizer=np.ones((len(truth[rows]), 3), "float32"))
                metric.update_state(truth[rows], score[rows])
            else:
                metric.update_state(truth[rows], score[rows])
        result += _numbers(metric.result())
    return result


@program
def activations(tf, keras):
    x = np.linspace(-4, 4, 12).reshape(2, 6).astype("float32")
    result = []
    for name in sorted(dir(keras.activations)):
        function = getattr(keras.activations, name)
        if name in ("deserialize", "serialize", "get", "threshold") or not inspect.isfunction(
            function
        ):
            continue
        variable = tf.Variable(x)
        with tf.GradientTape() as tape:
            value = function(variable)
        result += _numbers(value) + _numbers(tape.gradient(value, variable))
    return result


@program
def initializers(tf, keras):
    result = []
    for name in (
        "GlorotNormal",
        "GlorotUniform",
        "HeNormal",
        "HeUniform",
        "LecunNormal",
        "LecunUniform",
        "Orthogonal",
        "RandomNormal",
        "RandomUniform",
        "TruncatedNormal",
        "VarianceScaling",
    ):
        result += _numbers(getattr(keras.initializers, name)(seed=3)((3, 2)))
    result += _numbers(keras.initializers.Identity()((2, 2)))
    return result
