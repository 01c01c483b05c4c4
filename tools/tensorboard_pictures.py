"""Pictures of what the real TensorBoard shows of files that talweg wrote.

    python tools/tensorboard_pictures.py FOLDER [--browser /usr/bin/chromium]

writes event files of two programs (one with sessions, one with functions) to FOLDER/logs, starts
TensorBoard on them, opens its pages in a browser without a window and saves a picture of each,
FOLDER/*.png, graphs opened node by node.  It needs the packages tensorboard, scikit-learn and
playwright, and a Chromium.  Look at the pictures; what a program can check is checked: it fails
if a page misses what was written.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SIZE = {"width": 1500, "height": 1000}
FUNCTIONS = "__function_library__"  # before the names of functions on the page
WAIT = 60_000  # milliseconds for a page

# -- the files


def data() -> tuple[Any, Any]:
    """Handwritten digits of 8 x 8 pixels, and which they are."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return (digits.images / 16.0).astype("float32"), digits.target


def write_sessions(folder: Path) -> None:
    """A network of the first generation: what it learns, its weights, its graph."""
    import talweg.compat.v1 as tf

    images, labels = data()
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 8, 8], name="pixels")
        y = tf.placeholder(tf.int64, [None], name="labels")
        tf.summary.image("digits", x[..., tf.newaxis], max_outputs=3)
        h = tf.reshape(x, [-1, 64])
        for name, size in ("hidden", 32), ("output", 10):
            with tf.variable_scope(name):
                w = tf.get_variable("weights", [h.shape[1], size])
                b = tf.get_variable("bias", [size], initializer=tf.zeros_initializer())
                h = tf.nn.bias_add(tf.matmul(h, w), b)
                h = tf.nn.relu(h) if name == "hidden" else h
            tf.summary.histogram(f"{name}/weights", w)
        with tf.name_scope("loss"):
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=h)
            )
        with tf.name_scope("accuracy"):
            accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(h, 1), y), tf.float32))
        tf.summary.scalar("loss", loss)
        tf.summary.scalar("accuracy", accuracy)
        tf.summary.text("note", tf.constant("**Digits** by a session\n\n* one\n* two"))
        with tf.name_scope("training"):
            train = tf.train.AdamOptimizer(0.01).minimize(loss)
        merged, start = tf.summary.merge_all(), tf.global_variables_initializer()
        with (
            tf.Session() as session,
            tf.summary.FileWriter(str(folder), graph) as writer,
        ):
            session.run(start)
            for step in range(60):
                part = slice(step * 25, step * 25 + 100)
                summary, _ = session.run([merged, train], {x: images[part], y: labels[part]})
                writer.add_summary(summary, step)
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run(train, {x: images, y: labels}, options, run := tf.RunMetadata())
            writer.add_run_metadata(run, "all digits", 60)


def write_functions(folder: Path) -> None:
    """The same of the second generation, with a branch and a loop in the traced step."""
    import talweg as tf

    images, labels = data()
    sizes = (64, 32, 10)
    weights = [
        tf.Variable(tf.random.normal(pair, stddev=0.2), name=f"weights{place}")
        for place, pair in enumerate(zip(sizes, sizes[1:]))
    ]

    @tf.function
    def dense(x: Any, w: Any) -> Any:
        with tf.name_scope("dense"):
            return tf.matmul(x, w)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            with tf.name_scope("hidden"):
                h = tf.nn.relu(dense(tf.reshape(x, [-1, 64]), weights[0]))
            with tf.name_scope("loss"):
                loss = tf.reduce_mean(
                    tf.nn.sparse_softmax_cross_entropy_with_logits(y, dense(h, weights[1]))
                )
        rate = 0.5
        for _ in tf.range(2):
            rate = rate * 0.8
        if loss > 2.0:
            rate = rate / 2.0
        with tf.name_scope("update"):
            for w, g in zip(weights, tape.gradient(loss, weights)):
                w.assign_sub(rate * g)
        return loss

    writer = tf.summary.create_file_writer(str(folder))
    with writer.as_default():
        tf.summary.text("note", [["a table", "of strings"], ["by a", "function"]], step=0)
        tf.summary.audio("tone", tf.sin(tf.range(8000.0))[None, :, None], 8000, step=0)
        spec = tf.TensorSpec([None, 8, 8], name="pixels"), tf.TensorSpec([None], tf.int64, "labels")
        tf.summary.graph(step.get_concrete_function(*spec).graph)
        for number in range(60):
            part = slice(number * 25, number * 25 + 100)
            if number == 5:
                tf.summary.trace_on(graph=True, profiler=False)
            loss = step(tf.constant(images[part]), tf.constant(labels[part]))
            if number == 5:
                tf.summary.trace_export("one step", step=number)
            tf.summary.scalar("loss", loss, step=number, description="cross entropy, *in nats*")
            tf.summary.histogram("hidden/weights", weights[0], step=number)
            if number % 20 == 0:
                tf.summary.image("digits", images[part][..., None], step=number)
    writer.close()


# -- the pages


@contextmanager
def tensorboard(logs: Path) -> Iterator[str]:
    """TensorBoard on a folder, while the block runs; its address."""
    command = [
        sys.executable,
        "-m",
        "tensorboard.main",
        "--logdir",
        str(logs),
        "--port",
        "0",
        "--load_fast=false",
        "--reload_interval",
        "5",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                found = re.search(r"http://\S+", line)
                if found:
                    time.sleep(5)  # until it has read the files
                    yield found.group()
                    return
            raise SystemExit("tensorboard has not started")
        finally:
            process.terminate()


class Pages:
    """The pages of one TensorBoard in a browser."""

    def __init__(self, page: Any, address: str, folder: Path):
        self.page, self.address, self.folder = page, address, folder

    def open(self, part: str, wanted: str) -> None:
        """Open a page and wait for what it must show."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#{part}")
        self.page.locator(wanted).first.wait_for(timeout=WAIT)
        self.page.wait_for_timeout(3000)  # until it has drawn

    def save(self, name: str) -> None:
        """Take a picture."""
        self.page.screenshot(path=str(self.folder / f"{name}.png"))
        print(self.folder / f"{name}.png")

    def _shape(self, name: str) -> Any:
        """Return the largest shape of a node; small ones stand for it beside its neighbours."""
        found = self.page.locator(f'g.node[data-name="{name}"] > .nodeshape')
        found.first.wait_for(state="attached", timeout=WAIT)
        return max(found.all(), key=lambda shape: (shape.bounding_box() or {"width": 0})["width"])

    def expand(self, *names: str) -> None:
        """Open nodes of a graph, the outer ones first."""
        for name in names:
            self._shape(name).dispatch_event("dblclick", timeout=WAIT)
            self.page.wait_for_timeout(1500)
        self.page.get_by_text("Fit to screen").first.click()
        self.page.wait_for_timeout(1500)

    def choose_tag(self, tag: str) -> None:
        """Choose one of the graphs of a run."""
        self.page.locator("paper-dropdown-menu.run-dropdown").nth(1).click()
        self.page.locator("paper-item").filter(has_text=tag).first.click()
        self.page.wait_for_timeout(1000)

    def select(self, name: str) -> None:
        """Show what is known of a node of a graph."""
        self._shape(name).dispatch_event("click", timeout=WAIT)
        self.page.wait_for_timeout(1000)


def take_pictures(pages: Pages) -> None:
    """All pages."""
    for part, wanted in [
        ("timeseries", "text=loss"),
        ("scalars", "text=accuracy"),
        ("histograms", "text=weights"),
        ("distributions", "text=weights"),
        ("images", "text=digits"),
        ("text", "text=note"),
        ("audio", "text=tone"),
    ]:
        pages.open(part, wanted)
        pages.save(part)


def take_pictures_of_sessions(pages: Pages) -> None:
    """The graph of the sessions: all of it, a layer, the gradient of a layer."""
    pages.open("graphs", 'g.node[data-name="hidden"]')
    pages.save("graph_sessions")
    pages.expand("hidden", "loss")
    pages.select("hidden/MatMul")
    pages.save("graph_sessions_layer")
    pages.open("graphs", 'g.node[data-name="hidden"]')
    pages.expand("training", "training/gradients", "training/gradients/hidden")
    pages.save("graph_sessions_gradients")
    pages.open("graphs", 'g.node[data-name="hidden"]')
    pages.choose_tag("all digits")
    pages.page.locator("paper-radio-button").filter(has_text="Compute time").click()
    pages.expand("hidden", "training", "training/gradients")
    pages.save("graph_sessions_time")


def take_pictures_of_functions(pages: Pages) -> None:
    """The graph of the function: all of it, its gradients, what it calls."""
    pages.open("graphs", 'g.node[data-name="hidden"]')
    pages.save("graph_functions")
    pages.select("gradient_tape")
    pages.page.get_by_text("Add to main graph").first.click()
    pages.expand("gradient_tape", "gradient_tape/loss")
    pages.save("graph_functions_gradients")
    pages.open("graphs", 'g.node[data-name="hidden"]')
    pages.expand("hidden", f"{FUNCTIONS}dense_0", f"{FUNCTIONS}while_body_3")
    pages.save("graph_functions_library")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--browser", default="/usr/bin/chromium")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright  # pyright: ignore[reportMissingImports]

    sys.path.insert(0, str(ROOT))
    logs = options.folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    write_sessions(logs / "sessions")
    write_functions(logs / "functions")
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=options.browser, args=["--no-sandbox", "--use-gl=swiftshader"]
        )
        for part, take in [
            ("sessions", take_pictures_of_sessions),
            ("functions", take_pictures_of_functions),
            ("", take_pictures),
        ]:
            with tensorboard(logs / part) as address:
                page = browser.new_page(viewport=SIZE)
                take(Pages(page, address, options.folder))
                page.close()
        browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
