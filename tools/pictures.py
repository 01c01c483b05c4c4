"""Write docs/pictures: what talweg shows in a terminal, on its pages and in a notebook.

    python tools/pictures.py [NAMES] [--browser /usr/bin/chromium]

Programs run as they stand below; a browser without a window takes the pictures.  Needs the extras
`demo` and `keras`, and a Chromium.  Look at the pictures afterwards.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
sys.path.insert(0, str(ROOT))

NONE = """\
import talweg as tf

w = tf.Variable([0.4, 1.6])
with tf.GradientTape() as tape:
    steps = tf.round(w)
    loss = tf.reduce_sum(steps * steps)
print(tape.gradient(loss, w))
print(tape.explain(loss, w))
"""

NAN = """\
import talweg as tf

w = tf.Variable([1.0, 0.0])
with tf.GradientTape() as tape:
    y = tf.math.log(w)
    loss = tf.reduce_sum(tf.where(w > 0.0, y, 0.0))
print(tape.explain(loss, w))
"""

STEP = """\
import numpy as np
import tensorflow as tf

layers = [tf.Variable(tf.random.normal(shape, stddev=0.1), name=name)
          for name, shape in (("hidden", [64, 32]), ("output", [32, 10]))]


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        with tf.name_scope("network"):
            h = tf.nn.relu(x @ layers[0])
            logits = h @ layers[1]
        with tf.name_scope("loss"):
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
    for layer, gradient in zip(layers, tape.gradient(loss, layers)):
        layer.assign_sub(0.1 * gradient)
    return loss


for step in range(2000):
    train_step(np.ones([256, 64], "f4"), np.arange(256) % 10)
"""

WASTE = """\
import numpy as np
import tensorflow as tf

weights = tf.Variable([100.0, -50.0], name="weights")
scale = tf.Variable(2.0, name="scale")
data = np.ones([200, 200], "f4")


@tf.function
def scaled(x, factor):
    return x * factor


for step in range(6):
    weights.assign_add([1.0, 1.0])
    tf.clip_by_value(weights, -1.0, 1.0)
    scaled(weights, step)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.round(weights) * 3.0)
    tape.gradient(loss, weights)
"""

WATCH = """\
import talweg as tf

inputs = tf.random.normal([64, 8], seed=1)
targets = tf.reduce_sum(inputs, 1, keepdims=True)
kernels = [tf.Variable(tf.random.normal(s, stddev=d, seed=2), name=n) for n, s, d in
           (("first", [8, 32], 0.5), ("second", [32, 32], 0.2), ("last", [32, 1], 0.3))]
with tf.watch_gradients(kernels) as watch:
    for step in range(120):
        with tf.GradientTape() as tape:
            h = tf.nn.relu(tf.sigmoid(inputs @ kernels[0]) @ kernels[1])
            loss = tf.reduce_mean(tf.square(h @ kernels[2] - targets))
        for kernel, gradient in zip(kernels, tape.gradient(loss, kernels)):
            _ = kernel.assign_sub(0.05 * gradient)
watch.plot("watch.svg")
"""

Shot = Callable[[Path, str, tuple[int, int]], None]


def output_of(command: list[str], folder: Path) -> str:
    """What a command prints in a folder; reports of profiles go to stderr."""
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return found.stdout or found.stderr


def talweg(folder: Path, *words: str) -> str:
    """What `talweg ...` prints."""
    return output_of([sys.executable, "-m", "talweg", *words], folder)


def terminal(path: Path, parts: list[tuple[str, str]], width: int = 100) -> tuple[int, int]:
    """Write an SVG of a terminal with programs ("python") and output ("text"); its size."""
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    with open(path.with_suffix(".out"), "w") as sink:
        console = Console(record=True, width=width, file=sink, force_terminal=True)
        for kind, text in parts:
            if kind == "python":
                console.print(Syntax(text, "python", background_color="default"))
            else:
                console.print(Text(text.rstrip(), style="grey93"))
                console.print()
        svg = console.export_svg(title="talweg")
    svg = re.sub(r"@font-face\s*{.*?}", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code", "DejaVu Sans Mono")
    path.write_text(svg)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert size is not None
    return int(float(size.group(1))), int(float(size.group(2)))


def explain(folder: Path, shoot: Shot) -> None:
    """A gradient that is None and one that is NaN, with their answers."""
    parts = []
    for name, program in (("none.py", NONE), ("nan.py", NAN)):
        (folder / name).write_text(program)
        shown = output_of([sys.executable, name], folder).replace(f"{folder}/", "")
        parts += [("python", program), ("text", shown)]
    size = terminal(folder / "explain.svg", parts, 112)
    shoot(folder / "explain.svg", "explain", size)


def graph(folder: Path, shoot: Shot) -> None:
    """The page of a training step's graph."""
    (folder / "train.py").write_text(STEP)
    talweg(folder, "graph", "-o", "graph.html", "--depth", "2", "train.py")
    shoot(folder / "graph.html", "graph", (1200, 800))


def doctor(folder: Path, shoot: Shot) -> None:
    """The page of the doctor's report."""
    (folder / "waste.py").write_text(WASTE)
    talweg(folder, "doctor", "--html", "doctor.html", "waste.py")
    shoot(folder / "doctor.html", "doctor", (870, 1010))


def profile(folder: Path, shoot: Shot) -> None:
    """What `talweg profile` prints."""
    (folder / "train.py").write_text(STEP)
    shown = talweg(folder, "profile", "--top", "6", "train.py").replace(f"{folder}/", "")
    shoot(folder / "p.svg", "profile", terminal(folder / "p.svg", [("text", shown)], 120))


def watch(folder: Path, shoot: Shot) -> None:
    """Norms of gradients over the steps of a training."""
    (folder / "watch.py").write_text(WATCH)
    print(output_of([sys.executable, "watch.py"], folder), end="")
    size = re.search(r"viewBox='0 0 (\d+) (\d+)'", (folder / "watch.svg").read_text())
    assert size is not None
    shoot(folder / "watch.svg", "watch", (int(size.group(1)), int(size.group(2))))


def views(folder: Path, shoot: Shot) -> None:
    """How a notebook shows images, a dataset and a model."""
    import numpy as np
    from sklearn.datasets import load_digits

    import talweg as tf

    images = tf.constant(load_digits().images[:1, ..., None] / 16.0, tf.float32)
    model = tf.keras.Sequential(
        [tf.keras.layers.Input((8, 8, 1)), tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)]
    )
    data = tf.data.Dataset.from_tensor_slices(np.ones([8, 3], "f4")).batch(4)
    things = [images, tf.Variable(tf.ones([2, 3]), name="w"), data, model]
    shown = [thing._repr_html_() for thing in things if hasattr(thing, "_repr_html_")]
    body = "".join(f"<div style='margin:16px'>{each}</div>" for each in shown)
    (folder / "views.html").write_text(f"<body style='font:14px sans-serif'>{body}</body>")
    shoot(folder / "views.html", "views", (760, 350))


def digits(folder: Path, shoot: Shot) -> None:
    """The demo's picture, as it writes it."""
    target = PICTURES / "digits.png"
    program = str(ROOT / "examples" / "digits.py")
    print(output_of([sys.executable, program, "--output", str(target)], folder), end="")


DRAWN = (explain, graph, doctor, profile, watch, views, digits)


def main() -> None:
    """Draw the pictures named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help=", ".join(draw.__name__ for draw in DRAWN))
    parser.add_argument("--browser", default="chromium")
    options = parser.parse_args()
    from PIL import Image

    PICTURES.mkdir(exist_ok=True)

    def shoot(page: Path, name: str, size: tuple[int, int]) -> None:
        flags = ["--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"]
        flags += [f"--screenshot={PICTURES / name}.png", f"--window-size={size[0]},{size[1]}"]
        subprocess.run([options.browser, *flags, page.as_uri()], capture_output=True, check=True)

    for draw in DRAWN:
        if not options.names or draw.__name__ in options.names:
            with tempfile.TemporaryDirectory() as folder:
                draw(Path(folder).resolve(), shoot)
            path = (PICTURES / draw.__name__).with_suffix(".png")
            with Image.open(path) as picture:
                small = picture.convert("RGB").quantize(96)
            small.save(path, optimize=True)
            print(f"{draw.__name__}: {path}, {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
