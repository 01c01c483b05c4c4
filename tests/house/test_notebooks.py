"""Notebooks of the tutorials are up to date and run in a kernel; things show themselves there."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("notebooks", ROOT / "tools" / "notebooks.py")
notebooks = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(notebooks)
TUTORIALS = sorted(notebooks.TUTORIALS.glob("*.md"))

VIEWS = """\
import talweg as tf
%load_ext talweg
---
tf.reshape(tf.range(6.0), [2, 3])
---
tf.Variable([1.0, 2.0], name="w")
---
tf.data.Dataset.range(5).batch(2)
---
tf.function(lambda x: x * 2.0)
---
w = tf.Variable([0.4, 1.6])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.round(w))
tape.explain(loss, w)
---
%%talweg_doctor
tf.square([1.0, 2.0])
x = 1
---
tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
"""


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_the_tutorials_run(tutorial, tmp_path):
    made = notebooks.notebook(tutorial.read_text("utf-8"))
    kept = json.loads((notebooks.NOTEBOOKS / f"{tutorial.stem}.ipynb").read_text("utf-8"))
    assert notebooks.sources(made) == notebooks.sources(kept), "python tools/notebooks.py"
    ran = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in ran] == list(range(1, len(ran) + 1))
    assert "/site-packages/" not in str(ran) and str(Path.home()) not in str(ran)
    again = notebooks.run(made, tmp_path)
    for cell, kept_cell in zip(again["cells"], kept["cells"]):
        kinds = [output["output_type"] for output in cell.get("outputs", ())]
        assert kinds == [output["output_type"] for output in kept_cell.get("outputs", ())]


def test_what_a_kernel_shows(tmp_path):
    made = notebooks.notebook("")
    cells = [notebooks.code(source, "ones([2, 3])" in source) for source in VIEWS.split("---\n")]
    extra = {"execution_count": None, "outputs": []}
    made["cells"] = [{**cell, **extra, "id": f"c{i}"} for i, cell in enumerate(cells)]
    shown = [cell["outputs"] for cell in notebooks.run(made, tmp_path)["cells"]]
    for output in shown[1:7]:
        assert any("text/html" in each.get("data", {}) for each in output), output
    assert "Cell In[7], line 2" in "".join(
        shown[6][-1]["data"]["text/plain"]
    )  # the first is the magic's
    failed = shown[7][-1]
    assert failed["ename"] == "InvalidArgumentError" and "Cell In[8], line 1" in failed["evalue"]
    assert "talweg/" not in "".join(failed["traceback"])
