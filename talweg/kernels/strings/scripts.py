"""The script of a character, by the numbers of ICU's UScriptCode (Unicode Standard Annex 24).

The table is Unicode's, in the version that TensorFlow has (`tools/record_scripts.py`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np


@cache
def _table() -> tuple[np.ndarray, np.ndarray]:
    """Return the starts of runs of one script, and their scripts."""
    text = Path(__file__).with_name("scripts.txt").read_text(encoding="ascii")
    counts, scripts = np.array([run.split(":") for run in text.split()], np.int64).T
    return np.cumsum(counts) - counts, scripts.astype(np.int32)


def scripts_of(characters: np.ndarray) -> np.ndarray:
    """Return the number of the script of each character, -1 for invalid ones."""
    starts, scripts = _table()
    x = np.asarray(characters, np.int64)
    found = scripts[np.maximum(np.searchsorted(starts, x, "right") - 1, 0)]
    return np.where((x < 0) | (x > 0x10FFFF), np.int32(-1), found)
