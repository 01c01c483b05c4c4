"""tf.train.Checkpoint: TensorFlow's files both ways, what comes later, what does not fit."""

import contextlib
import copy
import gc
import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

import talweg as tf
from talweg.formats.bundle.reader import Bundle
from talweg.interop.checkpoint import object_graph as messages

RECORDED = str(Path(__file__).parent / "object_checkpoints" / "tensorflow-1")
TOOL = Path(__file__).parent.parent.parent / "tools" / "record_object_checkpoint.py"


def recorder():
    """The program that recorded the checkpoint with TensorFlow."""
    spec = importlib.util.spec_from_file_location("record_object_checkpoint", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Dense(tf.Module):
    """A layer that makes its variables with its first batch."""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def __call__(self, x):
        if not hasattr(self, "w"):
            self.w = tf.Variable(tf.zeros([x.shape[-1], self.size]))
            self.b = tf.Variable(tf.zeros([self.size]))
        return x @ self.w + self.b


def filled(layer, x):
    """A layer whose variables are made, and not zero."""
    layer(x)
    layer.w.assign(tf.random.normal(layer.w.shape))
    layer.b.assign(tf.random.normal(layer.b.shape))
    return layer


# -- TensorFlow's files


def test_restores_what_tensorflow_wrote():
    """Variables, lists, dictionaries, tuples, generators, tables: each has its value."""
    checkpoint = recorder().objects(tf, by=10)
    status = checkpoint.restore(RECORDED)
    status.assert_consumed().assert_existing_objects_matched().assert_nontrivial_match()
    module = checkpoint.module
    assert module.w.numpy().tolist() == [1, 2]
    assert [float(module.items[0]), float(module.items[2][0])] == [3, 4]
    assert float(module.d["a/b.c"]) == 5 and float(module.t[0]) == 6
    assert [float(v) for v in module.p] == [7, 8]
    assert module.generator.state.numpy().tolist() == [3, 0, 0]
    assert module.table.lookup(["a", "z"]).numpy().tolist() == [5, -1]
    assert module.words.numpy().tolist() == [b"b", b"c"]
    assert int(checkpoint.step) == 9 and bool(checkpoint.list[0])
    assert int(checkpoint.save_counter) == 1


def test_writes_what_tensorflow_wrote(tmp_path):
    """The same tensors under the same keys, and the same object graph: TensorFlow reads it."""
    path = recorder().objects(tf).save(tmp_path / "ours")
    assert path == str(tmp_path / "ours-1")
    ours, theirs = Bundle(path), Bundle(RECORDED)
    assert set(ours.entries) == set(theirs.entries)
    for name in set(ours.entries) - {messages.KEY}:
        assert ours.entries[name].dtype is theirs.entries[name].dtype
        np.testing.assert_array_equal(ours.read(name), theirs.read(name))
    message = theirs.read(messages.KEY)[()]
    nodes = messages.decode(message)
    assert messages.encode(nodes) == message
    # TensorFlow reaches a table as a table and two variables under other numbers: compare paths.
    assert described(messages.decode(ours.read(messages.KEY)[()])) == described(nodes)


def described(nodes):
    """The objects of a graph by all keys and names, whatever their numbers."""
    found = set()
    for node in nodes:
        for name, child in node.children:
            found.update((name, a.name, a.full_name, a.key) for a in nodes[child].attributes)
    return found


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_damaged_object_graphs(cut):
    """Damage is DataLossError, or other objects; never anything else."""
    value = messages.Attribute("VARIABLE_VALUE", "v", "a/.ATTRIBUTES/VARIABLE_VALUE")
    root, below = messages.SavedObject([("a", 1)]), messages.SavedObject([], [value])
    message = messages.encode([root, below])
    for flip in (0, 0x80, 0xFF):
        place = cut % len(message)
        changed = bytes([*message[:place], message[place] ^ flip, *message[place + 1 :]])
        for data in (message[:place], changed):
            with contextlib.suppress(tf.errors.DataLossError):
                messages.decode(data)


# -- what comes later


def test_variables_made_later(tmp_path):
    """A layer that is built after the restore begins with the restored values."""
    x = tf.ones([1, 3])
    before = filled(Dense(2), x)
    path = tf.train.Checkpoint(net=before).save(tmp_path / "c")
    later = Dense(2)
    status = tf.train.Checkpoint(net=later).restore(path)
    with pytest.raises(AssertionError, match=r"\(root\)\.net\.[wb]"):
        status.assert_consumed()
    np.testing.assert_array_equal(later(x), before(x))
    status.assert_consumed()
    later.w.assign(tf.zeros([3, 2]))
    later.w = tf.Variable(tf.ones([3, 2]))  # a restore happens once
    assert later.w.numpy().sum() == 6


def test_variables_made_later_in_a_function(tmp_path):
    """So it is for variables that are made while a function is traced."""
    x = tf.ones([1, 3])
    before = filled(Dense(2), x)
    path = tf.train.Checkpoint(net=before).save(tmp_path / "c")
    later = Dense(2)
    tf.train.Checkpoint(net=later).restore(path)
    np.testing.assert_allclose(tf.function(later)(x), before(x), rtol=1e-6)


def test_elements_that_lists_get_later(tmp_path):
    """Layers appended to a list, and entries of dictionaries, get their values, too."""
    x = tf.ones([1, 2])
    before = tf.Module()
    before.layers = [filled(Dense(2), x), filled(Dense(2), x)]
    before.heads = {"a": filled(Dense(1), x)}
    path = tf.train.Checkpoint(before).save(tmp_path / "c")
    later = tf.Module()
    later.layers = []
    status = tf.train.Checkpoint(later).restore(path)
    later.heads = {}
    later.layers += [Dense(2), Dense(2)]
    later.heads["a"] = Dense(1)
    for mine, saved in zip([*later.layers, later.heads["a"]], [*before.layers, before.heads["a"]]):
        np.testing.assert_array_equal(mine(x), saved(x))
    status.assert_consumed()
    assert len(later.variables) == 6


def test_lists_made_later(tmp_path):
    """A list set after the restore gives what is appended its value at once; no status is kept."""
    saved = tf.train.Checkpoint(listed=[tf.Variable(1.0), tf.Variable(2.0)])
    saved.mapped = {"one": saved.listed[0], "two": tf.Variable(3.0)}
    path = saved.save(tmp_path / "c")
    later = tf.train.Checkpoint()
    later.restore(path)
    gc.collect()
    later.listed = []
    later.mapped = {}
    later.listed.append(tf.Variable(0.0))
    later.listed += [tf.Variable(0.0)]
    later.mapped["two"] = tf.Variable(0.0)
    assert [float(v) for v in later.listed] == [1, 2] and float(later.mapped["two"]) == 3
    assert isinstance(later.listed, list) and isinstance(later.mapped, dict)
    assert type(copy.deepcopy(later.listed)) is list
    mapped = tf.nest.map_structure(float, later.listed)
    mapped.append(3.0)
    assert mapped == [1.0, 2.0, 3.0]


def test_lists_that_others_have_stay(tmp_path):
    """A list that the program refers to elsewhere is not replaced: it is looked at again."""
    path = tf.train.Checkpoint(listed=[tf.Variable(1.0), tf.Variable(2.0)]).save(tmp_path / "c")
    later = tf.train.Checkpoint()
    status = later.restore(path)
    mine = []
    later.listed = mine
    mine.append(tf.Variable(0.0))
    mine.append(tf.Variable(0.0))
    assert later.listed is mine
    status.assert_consumed()
    assert [float(v) for v in mine] == [1, 2]


def test_later_shape_that_does_not_fit(tmp_path):
    """A variable of another shape that comes later says so where it becomes an attribute."""
    path = tf.train.Checkpoint(net=filled(Dense(2), tf.ones([1, 3]))).save(tmp_path / "c")
    later = Dense(2)
    tf.train.Checkpoint(net=later).restore(path).expect_partial()
    with pytest.raises(ValueError, match=r"shape \(3, 2\).*shape \(4, 2\)"):
        later(tf.ones([1, 4]))


def test_modules_are_what_they_were(tmp_path):
    """What waits at a module is no variable of it, and is neither copied nor pickled."""
    path = tf.train.Checkpoint(net=filled(Dense(2), tf.ones([1, 3]))).save(tmp_path / "c")
    later = Dense(2)
    tf.train.Checkpoint(net=later).restore(path).expect_partial()
    assert later.variables == () and later.submodules == ()
    assert copy.deepcopy(later)(tf.ones([1, 3])).numpy().sum() == 0


# -- what does not fit


def test_nothing_changes_where_a_restore_fails(tmp_path):
    """Shapes, dtypes, damage, objects of the user's: all variables keep their values."""
    path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable([1.0, 2.0])).save(tmp_path / "c")
    a = tf.Variable(5.0)
    with pytest.raises(ValueError, match=r"incompatible tensor with shape \(2,\).*\(3,\)"):
        tf.train.Checkpoint(a=a, b=tf.Variable([0.0, 0.0, 0.0])).restore(path)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected dtype int32"):
        tf.train.Checkpoint(a=a, b=tf.Variable([0, 0])).restore(path)
    data = Path(f"{path}.data-00000-of-00001")
    data.write_bytes(data.read_bytes()[:-9])
    with pytest.raises(tf.errors.DataLossError):
        tf.train.Checkpoint(a=a, b=tf.Variable([0.0, 0.0])).restore(path)
    assert float(a) == 5.0


class Counted(tf.__internal__.tracking.AutoTrackable):
    """An object that says itself what is saved of it."""

    def __init__(self, count, fail=False):
        self.count, self.fail = count, fail

    def _serialize_to_tensors(self):
        return {"count": tf.constant(self.count), "a/b": tf.constant("text")}

    def _restore_from_tensors(self, restored_tensors):
        if self.fail:
            raise RuntimeError("not today")
        self.count = int(restored_tensors["count"])


def test_objects_that_say_what_is_saved(tmp_path):
    """Their tensors are saved under the names they give; their errors undo a restore."""
    path = tf.train.Checkpoint(c=Counted(7), v=tf.Variable(1.0)).save(tmp_path / "c")
    names = [name for name, _ in tf.train.list_variables(path)]
    assert {"c/.ATTRIBUTES/count", "c/.ATTRIBUTES/a..Sb"} < set(names)
    later = Counted(0)
    tf.train.Checkpoint(c=later, v=tf.Variable(0.0)).restore(path).assert_consumed()
    assert later.count == 7
    v = tf.Variable(5.0)
    with pytest.raises(RuntimeError, match="not today"):
        tf.train.Checkpoint(c=Counted(0, fail=True), v=v).restore(path)
    assert float(v) == 5.0


def test_partial_restores(tmp_path):
    """What the program has not is left; what the checkpoint has not stays as it is."""
    path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).save(tmp_path / "c")
    a, extra = tf.Variable(0.0), tf.Variable(9.0)
    status = tf.train.Checkpoint(a=a, extra=extra).restore(path)
    assert float(a) == 1 and float(extra) == 9
    with pytest.raises(AssertionError, match="not bound to checkpointed values"):
        status.assert_consumed()  # TensorFlow's first question, too
    with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint \(root\)\.b"):
        tf.train.Checkpoint(a=a).restore(path).assert_consumed()
    with pytest.raises(AssertionError, match="Found 1 Python objects .*numpy=9"):
        status.assert_existing_objects_matched()
    status.assert_nontrivial_match().expect_partial()


def test_values_that_are_left_are_reported(tmp_path, monkeypatch):
    """A restore that ends with values left says which; after expect_partial it says nothing."""
    path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).save(tmp_path / "c")
    gc.collect()
    said = []
    monkeypatch.setattr(tf.get_logger(), "warning", lambda text, *args: said.append(text % args))
    v = tf.Variable(0.0)
    tf.train.Checkpoint(a=v).restore(path).expect_partial()
    gc.collect()
    assert not said
    tf.train.Checkpoint(a=v).restore(path)
    gc.collect()
    assert len(said) == 1 and "(root).b" in said[0] and "(root).a" not in said[0]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: tf.train.Checkpoint(x=5), ValueError, "expecting x to be a trackable"),
        (lambda: tf.train.Checkpoint(5), ValueError, "expecting root to be a trackable"),
        (lambda: tf.train.Checkpoint().restore("nope"), tf.errors.NotFoundError, "nope"),
        (lambda: tf.train.Checkpoint().restore("."), tf.errors.NotFoundError, "latest_checkpoint"),
        (lambda: tf.train.Checkpoint().restore(None).assert_consumed(), AssertionError, "None"),
        (
            lambda: tf.train.Checkpoint().read(RECORDED).assert_nontrivial_match(),
            AssertionError,
            "Nothing to load",
        ),
        (
            lambda: tf.train.Checkpoint(q=tf.Variable(1)).read(RECORDED).assert_nontrivial_match(),
            AssertionError,
            "Nothing except the root",
        ),
        (lambda: tf.train.Checkpoint(d={1: tf.Variable(1)}).write("x"), ValueError, "key 1"),
        (
            lambda: tf.function(lambda: tf.train.Checkpoint().save("x"))(),
            NotImplementedError,
            "inside a tf.function",
        ),
        (
            lambda: tf.train.CheckpointManager(tf.train.Checkpoint(), "d", 0),
            ValueError,
            "positive integer or `None`",
        ),
        (
            lambda: tf.train.CheckpointManager(
                tf.train.Checkpoint(), "d", 1, checkpoint_interval=2
            ),
            ValueError,
            "step_counter",
        ),
    ],
)
def test_errors(call, kind, words):
    """TensorFlow's classes and words."""
    with pytest.raises(kind, match=words):
        call()


def test_conflicting_children():
    """A keyword argument may name a child of the root only if it is that child."""
    module = tf.Module()
    module.w = tf.Variable([1.0, 2.0])
    tf.train.Checkpoint(module, w=module.w)
    with pytest.raises(ValueError, match=r"root\.w already exists"):
        tf.train.Checkpoint(module, w=tf.Variable(1.0))


def test_a_failed_save_counts_nothing(tmp_path):
    """The counter, the old checkpoint and the file `checkpoint` stay."""
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    path = checkpoint.save(tmp_path / "c")
    checkpoint.d = {1: tf.Variable(2.0)}
    with pytest.raises(ValueError, match="key 1"):
        checkpoint.save(tmp_path / "c")
    assert int(checkpoint.save_counter) == 1
    assert tf.train.latest_checkpoint(tmp_path) == path
    assert sorted(os.listdir(tmp_path)) == ["c-1.data-00000-of-00001", "c-1.index", "checkpoint"]


# -- kinds of things


def test_iterators(tmp_path):
    """An iterator goes on behind the elements that were taken."""
    data = tf.data.Dataset.range(10).shuffle(10, seed=3, reshuffle_each_iteration=False)
    iterator = iter(data)
    taken = [int(next(iterator)) for _ in range(4)]
    path = tf.train.Checkpoint(iterator=iterator).save(tmp_path / "c")
    rest = [int(x) for x in iterator]
    other = iter(data)
    tf.train.Checkpoint(iterator=other).restore(path).assert_consumed()
    assert [int(x) for x in other] == rest and len(taken) == 4


def test_a_savers_checkpoint_by_names(tmp_path):
    """What tf.compat.v1.train.Saver wrote is matched by the names of variables."""
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    path = tf.compat.v1.train.Saver([a, b]).save(None, str(tmp_path / "s"))
    net = tf.Module()
    net.v = tf.Variable(0.0, name="a")
    status = tf.train.Checkpoint(net=net).read(path)
    assert float(net.v) == 1
    with pytest.raises(AssertionError, match="b"):
        status.assert_consumed()
    status.expect_partial()


def test_callbacks(tmp_path):
    """Functions that are called when a checkpoint is there."""
    said = []
    options = tf.train.CheckpointOptions(
        experimental_write_callbacks=[
            lambda path: said.append(path),
            lambda: said.append((tmp_path / "c.index").exists()),
        ]
    )
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "c", options)
    assert said == [path, True]


# -- the manager


def test_manager(tmp_path):
    """Old ones go, a later manager takes over, the counter goes on."""
    step = tf.Variable(0)
    checkpoint = tf.train.Checkpoint(step=step)
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=2)
    assert manager.latest_checkpoint is None and manager.restore_or_initialize() is None
    for _ in range(3):
        step.assign_add(1)
        manager.save()
    assert [os.path.basename(p) for p in manager.checkpoints] == ["ckpt-2", "ckpt-3"]
    assert sorted(p.name for p in tmp_path.glob("*.index")) == ["ckpt-2.index", "ckpt-3.index"]
    assert 'model_checkpoint_path: "ckpt-3"' in (tmp_path / "checkpoint").read_text()
    later = tf.train.Checkpoint(step=tf.Variable(0))
    manager = tf.train.CheckpointManager(later, tmp_path, max_to_keep=2)
    assert manager.restore_or_initialize() == str(tmp_path / "ckpt-3")
    assert int(later.step) == 3 and int(later.save_counter) == 3
    assert os.path.basename(manager.save(checkpoint_number=tf.Variable(77))) == "ckpt-77"
    assert [os.path.basename(p) for p in manager.checkpoints] == ["ckpt-3", "ckpt-77"]
    assert manager.latest_checkpoint == tf.train.latest_checkpoint(tmp_path)
    assert list(tf.train.checkpoints_iterator(tmp_path, timeout=0)) == [str(tmp_path / "ckpt-77")]


def test_manager_keeps_one_for_some_hours(tmp_path, monkeypatch):
    """Of those that go, one for every n hours stays, and is not counted any more."""
    now = [1e9]
    monkeypatch.setattr("talweg.interop.checkpoint.manager.time.time", lambda: now[0])
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, 1, keep_checkpoint_every_n_hours=2)
    for _ in range(6):
        now[0] += 3600
        manager.save()
    assert len(manager.checkpoints) == 1
    left = sorted(p.stem for p in tmp_path.glob("*.index"))
    assert left == ["ckpt-2", "ckpt-4", "ckpt-6"]


def test_manager_with_an_interval(tmp_path):
    """Nothing is saved until the counter has gone far enough."""
    step = tf.Variable(0)
    called = []
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(step=step),
        tmp_path,
        None,
        step_counter=step,
        checkpoint_interval=3,
        init_fn=lambda: called.append(True),
    )
    assert manager.restore_or_initialize() is None and called == [True]
    saved = []
    for _ in range(8):
        if manager.save():
            saved.append(int(step))
        step.assign_add(1)
    assert saved == [0, 3, 6]
    assert manager.save(check_interval=False)


def test_graph_variables(tmp_path):
    """compat.v1: values come from a session and go into another."""
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        v, w = tf.Variable(2.0), tf.Variable(3.0)
        checkpoint = v1.train.Checkpoint(v=v)
        with v1.Session() as session:
            session.run(v.initializer)
            path = checkpoint.save(tmp_path / "c", session)
        with v1.Session() as session:
            both = v1.train.Checkpoint(v=v, w=w)
            both.restore(path).initialize_or_restore(session)
            assert session.run([v, w]) == [2.0, 3.0]


def test_writing_in_functions(tmp_path):
    """As in TensorFlow: whenever the function runs, with the values of that moment."""
    v = tf.Variable(1.0)
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(["a"], [3])
    checkpoint = tf.train.Checkpoint(v=v, table=table)

    @tf.function
    def step(x, path):
        v.assign_add(x)
        written = checkpoint.write(path)
        v.assign(100.0)
        return written

    first = step(tf.constant(2.0), tf.constant(str(tmp_path / "a"))).numpy().decode()
    second = step(tf.constant(5.0), tf.constant(str(tmp_path / "b"))).numpy().decode()
    table.remove(["a"])
    checkpoint.read(first)
    assert float(v) == 3 and int(table.lookup("a")) == 3
    checkpoint.read(second)
    assert float(v) == 105
    with pytest.raises(NotImplementedError, match="checkpoint.write"):
        tf.function(lambda: checkpoint.save(str(tmp_path / "c")))()


def test_prefixes_may_be_bytes(tmp_path):
    prefix = os.fsencode(tmp_path / "one")
    v = tf.Variable(3.0)
    checkpoint = tf.train.Checkpoint(v=v)
    checkpoint.write(prefix)
    v.assign(1.0)
    checkpoint.read(prefix)
    assert v.numpy() == 3.0 and os.path.exists(prefix + b".index")
