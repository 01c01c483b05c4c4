"""The methods of `tf.data.Dataset` that write elements to files and read them back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talweg.pipeline.stage import Stage


class Keeping:
    """Datasets and files."""

    of: Callable[..., Any]
    stage: Stage
