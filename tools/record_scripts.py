"""Record which script each character of Unicode belongs to, as tf.strings.unicode_script says.

    python tools/record_scripts.py

writes talweg/kernels/strings/scripts.txt with a Python that has TensorFlow: runs of characters of
one script, each "how many:number of the script".
"""

import os
import textwrap
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
WIDTH = 100


def main():
    """Write the table."""
    import numpy as np
    import tensorflow as tf

    scripts = tf.strings.unicode_script(tf.range(0x110000)).numpy()
    starts = np.flatnonzero(np.diff(scripts, prepend=-2))
    counts = np.diff([*starts, len(scripts)])
    runs = " ".join([f"{count}:{scripts[start]}" for start, count in zip(starts, counts)])
    root = Path(__file__).resolve().parent.parent
    lines = textwrap.fill(runs, WIDTH)
    (root / "talweg/kernels/strings/scripts.txt").write_text(lines + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
