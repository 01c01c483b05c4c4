"""TensorFlow Datasets: a builder of one's own, written, split and read."""

from __future__ import annotations

import tempfile

import numpy as np
import tensorflow_datasets as tfds


class Numbers(tfds.core.GeneratorBasedBuilder):
    """Ten numbers and their squares."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        features = tfds.features.FeaturesDict(
            {"x": np.int64, "label": tfds.features.ClassLabel(num_classes=2)}
        )
        return self.dataset_info_from_configs(features=features, supervised_keys=("x", "label"))

    def _split_generators(self, dl_manager):
        return {"train": self._generate_examples()}

    def _generate_examples(self):
        for n in range(10):
            yield n, {"x": n, "label": n % 2}


def job_builder():
    """Written as TFRecords, read in parts, as NumPy values."""
    builder = Numbers(data_dir=tempfile.mkdtemp())
    builder.download_and_prepare()
    whole = builder.as_dataset(split="train")
    half = builder.as_dataset(split="train[:50%]", as_supervised=True)
    found = sorted(int(x["x"]) for x in tfds.as_numpy(whole))
    return found, len(list(tfds.as_numpy(half))), builder.info.splits["train"].num_examples
