"""What is saved and what is refused, how functions are picked, files, options."""

import os

import numpy as np
import pytest

import talweg as tf


def saved(module, tmp_path, **options):
    folder = str(tmp_path / "model")
    tf.saved_model.save(module, folder, **options)
    return tf.saved_model.load(folder)


def scale(spec=None):
    module = tf.Module()
    module.v = tf.Variable(2.0)
    spec = tf.TensorSpec([None], tf.float32) if spec is None else spec
    module.scale = tf.function(lambda x: x * module.v, input_signature=[spec])
    return module


def test_methods_are_converted_by_autograph():
    class Loop(tf.Module):
        @tf.function
        def run(self, n):
            x = 0.0
            for _ in tf.range(n):
                x += 1.5
            return x

    assert float(Loop().run(tf.constant(3))) == 4.5


def test_what_is_no_object(tmp_path):
    for value in (3, [tf.Variable(1.0)], tf.function(lambda x: x)):
        with pytest.raises(ValueError, match="Expected an object of type `Trackable`"):
            tf.saved_model.save(value, str(tmp_path / "x"))
    with pytest.raises(AssertionError, match="not supported inside a traced"):
        tf.function(lambda: tf.saved_model.save(tf.Module(), str(tmp_path / "x")))()
    assert not os.listdir(tmp_path)


def test_variables_that_nothing_leads_to(tmp_path):
    hidden, module = tf.Variable(1.0), tf.Module()
    module.f = tf.function(lambda: hidden + 1.0, input_signature=[])
    with pytest.raises(AssertionError, match="'untracked' resource"):
        tf.saved_model.save(module, str(tmp_path / "x"))


@pytest.mark.parametrize("signature", [3, tf.function(lambda x: x)])
def test_what_is_no_signature(signature, tmp_path):
    with pytest.raises(ValueError, match="Expected a TensorFlow function"):
        tf.saved_model.save(tf.Module(), str(tmp_path / "x"), signatures=signature)


def test_results_of_signatures(tmp_path):
    spec = [tf.TensorSpec([], tf.float32)]
    module = tf.Module()
    for wrong, text in (
        (lambda x: {1: x}, "non-string key"),
        (lambda x: {"a": [x]}, "non-Tensor"),
        (lambda x: [x, (x, x)], "non-Tensor"),
    ):
        with pytest.raises(ValueError, match=text):
            tf.saved_model.save(module, str(tmp_path / "x"), tf.function(wrong, spec))
    loaded = saved(module, tmp_path, signatures=tf.function(lambda x: (x, x + 1), spec))
    found = loaded.signatures["serving_default"](x=1.0)
    assert {key: float(value) for key, value in found.items()} == {"output_0": 1, "output_1": 2}


def test_the_default_signature(tmp_path):
    module = scale()
    module.plain = tf.function(lambda x: x)
    module.reset = tf.function(lambda x: module.v.assign(x), [tf.TensorSpec([], tf.float32)])
    module.nothing = tf.function(lambda: None, input_signature=[])
    del module.reset
    assert list(saved(module, tmp_path).signatures) == ["serving_default"]
    module.other = tf.function(lambda x: x, input_signature=[tf.TensorSpec([], tf.float32)])
    assert list(saved(module, tmp_path).signatures) == []


def test_the_trace_that_fits(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x, training=False: x * 2 if training else x)
    module.g = tf.function(lambda x: x)
    module.f(tf.constant([1.0, 2.0]))
    module.f(tf.constant([1.0, 2.0]), training=True)
    loaded = saved(module, tmp_path)
    assert len(loaded.f.concrete_functions) == 2
    assert loaded.f([1, 2]).numpy().tolist() == [1, 2]
    assert loaded.f(x=np.float32([1, 2]), training=True).numpy().tolist() == [2, 4]
    for args in ((tf.constant([1.0]),), (tf.constant([1, 2]),), (tf.constant([1.0, 2.0]), 3)):
        with pytest.raises(ValueError, match="(?s)Could not find matching.*2 option.*Option 2:"):
            loaded.f(*args)
    for args in ((), (1, 2, 3)):
        with pytest.raises(TypeError, match="Binding inputs"):
            loaded.f(*args)
    with pytest.raises(ValueError, match="zero restored functions"):
        loaded.g(1.0)
    with pytest.raises(TypeError, match="missing required arguments: x"):
        saved(scale(), tmp_path).signatures["serving_default"](y=1.0)


def test_arguments_of_other_kinds_are_left_out(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x, how: x)
    module.f(tf.constant(1.0), object())
    module.f(tf.constant(1.0), "how")
    assert len(saved(module, tmp_path).f.concrete_functions) == 1


def test_gradients_and_training(tmp_path):
    loaded = saved(scale(), tmp_path)
    doubled = tf.function(lambda x: 2.0 * loaded.scale(x))
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(doubled([1.0, 2.0]) ** 2)
        slope = tape.gradient(y, loaded.v)
    assert float(slope) == 80 and float(outer.gradient(slope, loaded.v)) == 40
    with tf.autodiff.ForwardAccumulator(loaded.v, tf.constant(1.0)) as accumulator:
        y = loaded.scale([1.0, 2.0])
    assert accumulator.jvp(y).numpy().tolist() == [1, 2]
    loaded.v.assign(5.0)
    assert float(loaded.signatures["serving_default"](x=[1.0])["output_0"][0]) == 5
    assert [v is loaded.v for v in loaded.scale.concrete_functions[0].trainable_variables] == [True]


def test_attributes(tmp_path):
    module = tf.Module()
    module.numbers, module.none = [1, 2], {}
    module.parts = [tf.Variable(1.0), 3, tf.Variable(2.0)]
    module.twin = module.parts[2]
    module.number = 5
    loaded = saved(module, tmp_path)
    assert (loaded.numbers, loaded.none, loaded.parts[1]) == ([], {}, None)
    assert loaded.twin is loaded.parts[2] and not hasattr(loaded, "number")


def test_nothing_is_written_where_saving_fails(tmp_path):
    module = scale()
    folder = str(tmp_path / "model")
    tf.saved_model.save(module, folder)
    module.v.assign(7.0)
    spec = [tf.TensorSpec([], tf.float32)]
    module.bad = tf.function(lambda x: tf.numpy_function(np.sin, [x], tf.float32), spec)
    with pytest.raises(tf.errors.UnimplementedError, match="function of Python"):
        tf.saved_model.save(module, folder)
    assert os.listdir(tmp_path) == ["model"]
    assert float(tf.saved_model.load(folder).v) == 2
    del module.bad
    tf.saved_model.save(module, folder)
    assert float(tf.saved_model.load(folder).v) == 7


def test_damaged_folders(tmp_path):
    folder = tmp_path / "model"
    assert not tf.saved_model.contains_saved_model(folder)
    with pytest.raises(OSError, match="does not exist"):
        tf.saved_model.load(folder)
    tf.saved_model.save(scale(), folder)
    assert tf.saved_model.contains_saved_model(folder)
    whole = (folder / "saved_model.pb").read_bytes()
    (folder / "saved_model.pb").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(OSError, match="Cannot parse"):
        tf.saved_model.load(folder)
    (folder / "saved_model.pb").write_bytes(whole)
    os.unlink(folder / "variables" / "variables.data-00000-of-00001")
    with pytest.raises(tf.errors.NotFoundError):
        tf.saved_model.load(folder)


def test_fingerprints(tmp_path):
    """A file as TensorFlow 2.21 writes it, damaged ones, and talweg's."""
    read = tf.saved_model.experimental.read_fingerprint
    numbers = (2**64 - 1, 2, 3, 300, 5)
    whole = b"\x08" + 9 * b"\xff" + b"\x01\x10\x02\x18\x03 \xac\x02(\x052\x02\x08\x04:\x01u"
    (tmp_path / "fingerprint.pb").write_bytes(whole)
    assert read(tmp_path) == tf.saved_model.experimental.Fingerprint(*numbers)
    assert read(tmp_path).version == 4
    for damaged in (whole[:5], whole[:-1], b"\xff" * 20):
        (tmp_path / "fingerprint.pb").write_bytes(damaged)
        with pytest.raises(RuntimeError, match="SavedModel Fingerprint Error"):
            read(tmp_path)
    saved(scale(), tmp_path)
    own = read(tmp_path / "model")
    assert own.version == 4 and own.checkpoint_hash == 0 and all(own._numbers()[:4])


def test_tags_and_options(tmp_path):
    options = tf.saved_model.SaveOptions(extra_tags=["fast"], experimental_skip_saver=True)
    loaded = saved(scale(), tmp_path, options=options)
    assert float(loaded.v) == 2
    folder = str(tmp_path / "model")
    for tags in ("serve", ["gpu"]):
        with pytest.raises(ValueError, match="incompatible argument to `tags`"):
            tf.saved_model.load(folder, tags)
    empty = tf.saved_model.LoadOptions(experimental_skip_checkpoint=True)
    assert float(tf.saved_model.load(folder, ["serve", "fast"], empty).v) == 0
    again = tf.Module()
    again.v = tf.Variable(0.0)
    tf.train.Checkpoint(again).read(folder + "/variables/variables")
    assert float(again.v) == 2


def test_functions_by_other_names(tmp_path):
    module = scale()
    options = tf.saved_model.SaveOptions(function_aliases={"times": module.scale})
    tf.saved_model.save(module, str(tmp_path / "model"), options=options)
    wanted = tf.saved_model.LoadOptions(experimental_load_function_aliases=True)
    loaded = tf.saved_model.load(str(tmp_path / "model"), options=wanted)
    assert loaded.function_aliases["times"]([3.0]).numpy().tolist() == [6]


def test_sessions(tmp_path):
    """What `save` writes loads into a session."""
    tf.saved_model.save(scale(), str(tmp_path / "model"))
    v1 = tf.compat.v1
    with v1.Session(graph=v1.Graph()) as session:
        meta_graph = v1.saved_model.load(session, ["serve"], str(tmp_path / "model"))
        signature = meta_graph.signature_def["serving_default"]
        found = session.run(signature.outputs["output_0"].name, {signature.inputs["x"].name: [4.0]})
        assert found.tolist() == [8]
        with pytest.raises(RuntimeError, match="could not be found"):
            v1.saved_model.load(session, ["gpu"], str(tmp_path / "model"))


def test_builders(tmp_path):
    v1 = tf.compat.v1
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(AssertionError, match="already exists"):
        v1.saved_model.Builder(str(tmp_path / "full"))
    with v1.Graph().as_default(), v1.Session():
        builder = v1.saved_model.Builder(str(tmp_path / "model"))
        with pytest.raises(AssertionError, match="has not been saved yet"):
            builder.add_meta_graph(["serve"])
        x = v1.placeholder(tf.float32, [])
        with pytest.raises(ValueError, match="cannot be None or empty"):
            v1.saved_model.predict_signature_def({}, {"y": x})
    with pytest.raises(RuntimeError, match="Eager mode"):
        v1.saved_model.build_tensor_info(tf.constant(1.0))


def test_slices_of_variables(tmp_path):
    module = tf.Module()
    module.v = tf.Variable(np.zeros((3, 4), np.float32))

    def write():
        module.v[0].assign([1.0, 2.0, 3.0, 4.0])
        module.v[..., ::2].assign(module.v[..., 1::2] + 1.0)
        module.v[tf.newaxis, 0:2, -1].assign([[9.0, 8.0]])
        return module.v.read_value()

    module.write = tf.function(write, input_signature=[])
    loaded = saved(module, tmp_path)
    np.testing.assert_array_equal(loaded.write(), module.write())


def test_slices_that_only_a_run_knows(tmp_path):
    """The result is TensorFlow's."""
    module, start = tf.Module(), [[1.0, 2.0, 3.0], [3.0, 4.0, 5.0], [0.0, 0.0, 0.0]]
    module.v = tf.Variable(start)

    def write(i):
        module.v[i, 1:].assign([8.0, 8.0])
        module.v[tf.newaxis, i:, -1].assign([[1.0, 1.0]])
        module.v[i + 1].assign(module.v[0] * 10.0)
        return module.v.read_value()

    module.write = tf.function(write, input_signature=[tf.TensorSpec([], tf.int32)])
    loaded = saved(module, tmp_path)
    for function in (module.write, loaded.write):
        assert function(1).numpy().tolist() == [[1, 2, 3], [3, 8, 1], [10, 20, 30]]


def test_the_converter_says_how_to_go_on():
    converter = tf.lite.TFLiteConverter.from_saved_model("folder")
    converter.target_spec.supported_ops = [tf.lite.OpsSet.SELECT_TF_OPS]
    with pytest.raises(tf.errors.UnimplementedError, match="'folder' with TensorFlow"):
        converter.convert()


class Trained(tf.Module):
    """As Keras 2 saves its models: functions that train are hidden while children are asked for."""

    def __init__(self):
        super().__init__()
        self.v = tf.Variable(2.0)
        self.predict_function = None

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def scale(self, x):
        return x * self.v

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        hidden, self.predict_function = self.predict_function, None
        children = super()._trackable_children(save_type, **kwargs)
        self.predict_function = hidden
        return children


def test_an_object_says_its_functions_with_its_children(tmp_path):
    module = Trained()
    module.predict_function = tf.function(lambda x: x + module.v)
    module.predict_function(1.0)
    children = module._trackable_children("savedmodel", cache={})
    assert children["v"] is module.v and set(children) == {"v", "scale"}
    loaded = saved(module, tmp_path)
    assert not hasattr(loaded, "predict_function")
    assert float(loaded.scale(3.0)) == 6.0
    assert [name for name in vars(type(loaded).__mro__[1]) if not name.startswith("_")] == []


def test_a_function_and_a_child_of_one_name(tmp_path):
    module = scale()
    module._track_trackable(tf.Variable(1.0), "scale")
    with pytest.raises(ValueError, match="multiple children with the same name"):
        tf.saved_model.save(module, str(tmp_path / "x"))


def test_what_a_trace_makes_is_saved(tmp_path):
    """Functions with an input signature are traced before the other children are listed."""

    class Lazy(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        def scale(self, x):
            if not hasattr(self, "v"):
                self.v = tf.Variable(3.0)
            return x * self.v

    loaded = saved(Lazy(), tmp_path)
    assert float(loaded.scale(2.0)) == 6.0 and float(loaded.v) == 3.0


def test_a_list_that_grows_where_nothing_is_tracked(tmp_path):
    """Keras 2's ExportArchive adds a model's variables so; a new list there is no child."""
    module = scale()
    module.all_variables = []

    def grow(self):
        self.all_variables += [self.v]
        self.others = [self.v]

    tf.__internal__.tracking.no_automatic_dependency_tracking(grow)(module)
    loaded = saved(module, tmp_path)
    assert [float(v) for v in loaded.all_variables] == [2.0]
    assert not hasattr(loaded, "others")
