"""tf-explain: what a model of images looks at."""

from __future__ import annotations

import keras
import numpy as np
from tf_explain.core.activations import ExtractActivations
from tf_explain.core.gradients_inputs import GradientsInputs
from tf_explain.core.integrated_gradients import IntegratedGradients
from tf_explain.core.occlusion_sensitivity import OcclusionSensitivity
from tf_explain.core.vanilla_gradients import VanillaGradients

IMAGES = np.linspace(0, 1, 2 * 12 * 12 * 3, dtype="float32").reshape(2, 12, 12, 3) ** 2


def network():
    """A small model of images."""
    start = keras.initializers.GlorotUniform(seed=1)
    layers = [
        keras.Input((12, 12, 3)),
        keras.layers.Conv2D(4, 3, activation="relu", kernel_initializer=start, name="last"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(2, "softmax", kernel_initializer=start),
    ]
    return keras.Sequential(layers)


def job_gradients():
    """Gradients, gradients times inputs, integrated gradients: sums of the pictures."""
    model, data = network(), (IMAGES, None)
    found = [
        VanillaGradients().explain(data, model, 0),
        GradientsInputs().explain(data, model, 0),
        IntegratedGradients().explain(data, model, 0, n_steps=4),
    ]
    return [[picture.shape, int(picture.astype("int64").sum())] for picture in found]


def job_occlusion_and_activations():
    """What changes when a patch is covered; activations of a layer."""
    model, data = network(), (IMAGES, None)
    covered = OcclusionSensitivity().get_sensitivity_map(model, IMAGES[0], 0, 4)
    shown = ExtractActivations().explain(data, model, ["last"])
    return covered, [shown.shape, int(shown.astype("int64").sum())]
