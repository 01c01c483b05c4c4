"""DeepXDE on TensorFlow 1's sessions."""

from __future__ import annotations

import os

os.environ["DDE_BACKEND"] = "tensorflow.compat.v1"
from library_jobs.deepxde import job_inverse, job_poisson  # noqa: E402, F401
