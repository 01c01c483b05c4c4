"""Pictures of graphs: what is in them, that nothing overlaps, that the page places as we do."""

from __future__ import annotations

import json
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import talweg as tf
import talweg.compat.v1 as tf1
from talweg.command.drawing import model, page, placing, saved, svg
from talweg.command.drawing.layers import Bend, arrange, inversions, layers_of
from talweg.command.line import main


def step_picture():
    """A training step with scopes, a loop and derivatives."""
    weights = [tf.Variable(tf.ones([4, 4]), name=f"w{i}") for i in range(3)]

    @tf.function
    def step(x, times):
        with tf.GradientTape() as tape:
            h = x
            for weight in weights:
                with tf.name_scope("dense"):
                    h = tf.nn.relu(h @ weight + 1.0)
            i = 0
            while i < times:
                h = h * 0.5 + tf.sin(h)
                i += 1
            loss = tf.reduce_mean(h**2)
        for weight, gradient in zip(weights, tape.gradient(loss, weights)):
            weight.assign_sub(0.1 * gradient)
        return loss

    return model.of_function(
        step.get_concrete_function(tf.TensorSpec([None, 4], tf.float32), tf.constant(3))
    )


@pytest.fixture(scope="module")
def picture():
    return step_picture()


def test_items_say_what_they_are(picture):
    labels = {item.label: item for item in reversed(picture.items)}
    assert labels["x"].kind == "input" and labels["w1"].kind == "variable"
    assert labels["w1"].parent.title == "dense_1"  # where it is used
    assert labels["AddV2(·, 1)"].shape == "float32[?, 4]"  # the constant is written into it
    relu = next(item for item in picture.items if item.label == "Relu" and item.kind != "input")
    assert [group.title for group in relu.parent.above()[1:]] == ["dense"]
    assert "in step: h = tf.nn.relu(h @ weight + 1.0)" in relu.line
    assert labels["AssignSubVariableOp w0"].kind == "effect"
    assert any(
        item.kind == "gradient" and "derivative of" in item.details for item in picture.items
    )
    assert [item.label for item in picture.items if item.is_result] == ["Mean"]
    titles = {group.title for group in all_groups(picture)}
    assert {"dense", "dense_1", "dense_2", "body", "cond"} <= titles


def all_groups(picture):
    found, pending = [], [picture.root]
    while pending:
        found.append(pending.pop())
        pending += found[-1].groups()
    return found


def test_edges_go_through_bodies(picture):
    loop = next(item for item in picture.items if item.label == "While" and item.kind != "gradient")
    sources = {source.label for source, target in picture.edges if target is loop}
    assert {"Less", "AddV2"} <= sources  # the results of the condition and of the body


@pytest.mark.parametrize("depth", [0, 1, 2, 9])
def test_boxes_do_not_overlap_and_lie_in_their_groups(picture, depth):
    layers = arrange(picture)
    placed = placing.place(picture, layers, placing.choose_open_groups(picture, depth))
    assert len(placed.boxes) > 3
    by_parent: dict = {}
    for member, box in placed.boxes.items():
        if member is picture.root:
            continue
        outer = placed.boxes[member.parent]
        assert outer.x <= box.x and box.x + box.width <= outer.x + outer.width + 0.01
        assert outer.y <= box.y and box.y + box.height <= outer.y + outer.height + 0.01
        by_parent.setdefault(member.parent, []).append(box)
    for boxes in by_parent.values():
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                beside = a.x + a.width <= b.x + 0.01 or b.x + b.width <= a.x + 0.01
                below = a.y + a.height <= b.y + 0.01 or b.y + b.height <= a.y + 0.01
                assert beside or below


def test_answers_are_told_apart():
    @tf.function
    def answer(x):
        return tf.cond(x > 0, lambda: tf.sin(x), lambda: tf.cos(x))

    picture = model.of_function(answer.get_concrete_function(tf.constant(1.0)))
    sides = {item.label: item.parent.title for item in picture.items}
    assert sides["Sin"] == "then" and sides["Cos"] == "else"
    numbered = tf.function(lambda i: tf.switch_case(i, [lambda: 1.0 * 2, lambda: tf.sin(2.0)]))
    picture = model.of_function(numbered.get_concrete_function(tf.constant(1)))
    assert {"branch 0", "branch 1"} <= {group.title for group in all_groups(picture)}


def members(*names):
    root = model.Group("root")
    picture = model.Picture("picture", root)
    return [picture.add(model.DrawnItem(name, "operation"), root) for name in names]


def test_rows_follow_the_edges_and_long_edges_bend():
    a, b, c, d = members(*"abcd")
    layers = layers_of([a, b, c, d], [(a, b), (b, c), (a, c), (d, c)])
    rows = [[m.label if not isinstance(m, Bend) else "|" for m in row] for row in layers.rows]
    assert rows[0] == ["a"] and sorted(rows[1]) == ["b", "d", "|"] and rows[2] == ["c"]
    assert len(layers.ways[a, c]) == 1 and not layers.turned


def test_circles_between_groups_are_cut_at_what_was_made_first():
    a, b, c = members(*"abc")
    layers = layers_of([a, b, c], [(a, b), (b, a), (c, a), (b, c)])
    assert layers.turned == {(b, a), (c, a)}
    assert [[m.label for m in row if not isinstance(m, Bend)] for row in layers.rows] == [
        ["a"],
        ["b"],
        ["c"],
    ]


def test_crossings_are_counted_and_removed():
    numbers = [5, 1, 4, 1, 0, 3]
    slow = sum(x > y for i, x in enumerate(numbers) for y in numbers[i + 1 :])
    assert inversions(numbers) == slow
    a, b, c, d = members(*"abcd")
    layers = layers_of([a, b, c, d], [(a, d), (b, c)])
    assert [m.label for m in layers.rows[0]] == ["a", "b"]
    assert [m.label for m in layers.rows[1]] == ["d", "c"]


def test_svg_is_well_formed_and_shows_what_is_open(picture):
    tree = ElementTree.fromstring(svg.draw(picture, 9))
    texts = [text.text for text in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert "MatMul" in texts and "float32[?, 4]" in texts and "dense_1" in texts
    folded = ElementTree.fromstring(svg.draw(picture, 0))
    texts = [text.text for text in folded.iter("{http://www.w3.org/2000/svg}text")]
    assert "dense (4)" in texts and "MatMul" not in texts
    small = model.of_function(
        tf.function(lambda x: x + 1.0).get_concrete_function(tf.constant(1.0))
    )
    assert "AddV2(·, 1)" in svg.draw(small)


STUB = """
const stub = new Proxy(function () {}, {
  get: (target, name) => name === Symbol.toPrimitive ? () => 0 : stub,
  set: () => true, apply: () => stub, construct: () => stub});
globalThis.document = stub; globalThis.window = stub; globalThis.Option = stub;
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the page's script")
def test_the_page_places_boxes_as_python_does(picture, tmp_path):
    text = page.draw([picture])
    script = text.split("<script>")[1].split("</script>")[0].replace('"use strict";', "")
    told = "console.log(JSON.stringify([...boxes]))"
    (tmp_path / "page.js").write_text(
        f"{STUB}{script}\n{told};\ngraph.groups.forEach((g, i) => opened.add(i + "
        f"graph.items.length)); draw();\n{told};"
    )
    done = subprocess.run(["node", str(tmp_path / "page.js")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    layers = arrange(picture)
    everything = set(all_groups(picture))
    for line, opened in zip(
        done.stdout.splitlines(), [placing.choose_open_groups(picture), everything]
    ):
        theirs = {number: box for number, box in json.loads(line)}
        placed = placing.place(picture, layers, opened)
        ours = [(box.x, box.y, box.width, box.height) for member, box in placed.boxes.items()]
        assert len(theirs) == len(ours)
        for their, our in zip(sorted(map(tuple, theirs.values())), sorted(ours)):
            assert their == pytest.approx(our, abs=0.01)


def test_a_graph_of_tensorflow_1_is_grouped():
    with tf1.Graph().as_default() as graph:
        x = tf1.placeholder(tf1.float32, [None, 4], name="x")
        with tf1.variable_scope("hidden"):
            w = tf1.get_variable("w", [4, 8])
            h = tf1.nn.relu(x @ w)
        train = tf1.train.AdamOptimizer(0.1).minimize(tf1.reduce_mean(h))
        picture = model.of_graph(graph)
    titles = {group.title for group in all_groups(picture)}
    assert "hidden" in titles and train is not None
    assert len(picture.root.members) < 40 < len(picture.items)


PROGRAM = """
import tensorflow as tf
@tf.function
def double(x):
    return x * 2.0
print(double(tf.ones([3])))
"""


def test_the_command_draws_functions(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    assert main(["graph", "program.py"]) == 0
    assert "double(x)" in (tmp_path / "graph.html").read_text()
    assert main(["graph", "-o", "g.svg", "program.py"]) == 0
    assert (tmp_path / "g.svg").read_text().startswith("<svg")
    assert main(["graph", "--list", "program.py"]) == 0
    assert "Mul(·, 2)  float32[3]  program.py:5" in capfd.readouterr().out
    assert main(["graph", "--json", "program.py"]) == 0
    (data,) = json.loads(capfd.readouterr().out)
    assert data["edges"] == [[0, 1, "float32[3]"]]
    assert main(["graph", "--only", "triple", "program.py"]) == 1
    assert main(["graph", "-o", "g.png", "program.py"]) == 2
    capfd.readouterr()
    assert main(["graph", "--list", "program.py", "-o", "late.svg"]) == 0
    assert "-o stands behind the program" in capfd.readouterr().err


def test_without_functions_what_ran_is_drawn(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(
        "import tensorflow as tf\nx = tf.Variable(3.0, name='x')\n"
        "with tf.GradientTape() as tape:\n    y = x**2\ntape.gradient(y, x)\n1 / 0\n"
    )
    assert main(["graph", "--list", "program.py"]) == 3  # drawn, although the program failed
    printed = capfd.readouterr()
    assert "Pow(·, 2)" in printed.out and "  x  float32[]" in printed.out
    assert "ZeroDivisionError" in printed.err


def test_saved_graphs(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    with tf1.Graph().as_default() as graph:
        x = tf1.placeholder(tf1.float32, [3], name="x")
        with tf1.name_scope("part"):
            tf1.sqrt(x * 2.0, name="root")
        message = graph.as_graph_def()
    (tmp_path / "graph.pb").write_bytes(message.SerializeToString())
    (tmp_path / "graph.pbtxt").write_text(str(message))
    for name in ("graph.pb", "graph.pbtxt"):
        (picture,) = saved.pictures_of(name)
        assert [item.label for item in picture.items] == ["x", "Mul(·, 2)", "Sqrt"]
        assert picture.items[2].is_result and picture.items[2].parent.title == "part"
    assert main(["graph", "-o", "g.html", "graph.pb"]) == 0
    (tmp_path / "bad.pb").write_bytes(b"no graph")
    assert main(["graph", "bad.pb"]) == 2 and "holds no graph" in capfd.readouterr().err
    concrete = tf.function(lambda x: x + 1.0).get_concrete_function(tf.constant(1.0))
    (tmp_path / "graph.txt").write_text(concrete.to_text())
    assert main(["graph", "--list", "graph.txt"]) == 0


def test_many_long_edges_are_drawn_straight():
    chain = members(*["x"] * 3000)
    edges = list(zip(chain, chain[1:])) + [(chain[i], chain[-1 - i]) for i in range(60)]
    layers = layers_of(chain, edges)
    assert sum(map(len, layers.rows)) < 5000
    assert layers.ways[chain[0], chain[-1]] == []


def test_large_graphs_are_drawn_in_time():
    with tf1.Graph().as_default() as graph:
        x = tf1.placeholder(tf1.float32, [3])
        first = x
        for i in range(1500):
            x = tf1.sin(x * float(i))
        kept = x + first
        picture = model.of_graph(graph)
    assert len(picture.items) > 3000 and kept is not None
    assert len(page.draw([picture], 0)) > 100_000


def test_edges_from_outside_do_not_run_behind_boxes():
    """x enters the group beside w, not behind it."""
    root = model.Group("root")
    picture = model.Picture("picture", root)
    group = model.Group("dense", "scope", root)
    x = picture.add(model.DrawnItem("x", "input"), root)
    root.members.append(group)
    w = picture.add(model.DrawnItem("w", "variable"), group)
    product = picture.add(model.DrawnItem("MatMul", "operation"), group)
    picture.join(w, product, "")
    picture.join(x, product, "")
    layers = arrange(picture)
    placed = placing.place(picture, layers, {root, group})
    (points,) = [edge["points"] for edge in svg.edges_of(picture, layers, placed) if edge["across"]]
    assert len(points) == 4
    box = placed.boxes[w]
    for x_of_bend, y_of_bend in points[1:3]:  # upright past the row
        assert box.y <= y_of_bend <= box.y + box.height
        assert not box.x <= x_of_bend <= box.x + box.width


def crossings(picture, placed, layers):
    """How many boxes the edges of a picture run through."""
    found = 0
    boxes = [box for box in placed.boxes.values() if not box.height > 200]
    for edge in svg.edges_of(picture, layers, placed):
        points = edge["points"]
        for (x, y), (to_x, to_y) in zip(points, points[1:]):
            for part in range(1, 40):
                t = part / 40
                bow = 3 * t * t - 2 * t**3  # as the smooth line goes, sideways
                at = x + (to_x - x) * bow, y + (to_y - y) * t
                found += any(
                    box.x + 1 < at[0] < box.x + box.width - 1
                    and box.y + 1 < at[1] < box.y + box.height - 1
                    for box in boxes
                )
    return found


def test_edges_run_past_tall_groups():
    """An edge over a group of many rows runs beside it, not through it."""
    root = model.Group("root")
    picture = model.Picture("picture", root)
    first = picture.add(model.DrawnItem("first", "input"), root)
    group = model.Group("tall", "scope", root)
    root.members.append(group)
    inner = [picture.add(model.DrawnItem(f"step{i}", "operation"), group) for i in range(3)]
    side = picture.add(model.DrawnItem("side", "input"), root)
    last = picture.add(model.DrawnItem("last", "operation"), root)
    for a, b in zip([first, *inner], [*inner, last]):
        picture.join(a, b, "")
    picture.join(first, last, "")
    picture.join(side, last, "")
    layers = arrange(picture)
    placed = placing.place(picture, layers, {root, group})
    assert crossings(picture, placed, layers) == 0


def test_folded_groups_have_the_colour_of_what_is_in_them():
    root = model.Group("root")
    picture = model.Picture("picture", root)
    group = model.Group("derivatives", "line", root)
    root.members.append(group)
    for _ in range(3):
        picture.add(model.DrawnItem("Mul", "gradient"), group)
    assert group.leading_kind() == "gradient" and root.leading_kind() == "gradient"
    layers = arrange(picture)
    text = svg.document(picture, layers, placing.place(picture, layers, {root}))
    assert text.count(svg.COLOURS["gradient"][0]) == 2  # in the legend, and the folded group
