"""Files that are damaged at random: a value or TensorFlow's error, and nothing else.

`./run probe` runs the same with other seeds for as long as is wanted.
"""

from __future__ import annotations

import random
import warnings

import pytest

from tests.faults.damaged import FORMATS, mutate


@pytest.mark.parametrize("name", FORMATS)
def test_damage_is_told_as_tensorflow_does(name, tmp_path):
    form, rng = FORMATS[name], random.Random(name)
    whole = form.make(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, of damaged pictures
        form.read(whole, tmp_path)
        for _ in range(1000):
            data = mutate(whole, rng)
            try:
                form.read(data, tmp_path)
            except form.right:
                continue
            except Exception as error:
                raise AssertionError(f"{type(error).__name__} for {data!r}") from error
