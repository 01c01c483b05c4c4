"""talweg without the packages of its extras: all works but what needs one, and that says which.

One process has only what `pip install talweg` installs.  It runs programs of users, and then
imports every module and looks up every public name.
"""

from __future__ import annotations

import json
import re

import pytest

from talweg.api.table import TABLE
from tests.absent_packages import run_without

# Modules with public names and hooks that need the extra `graphdef`.
GRAPHDEF = (
    "talweg.api.examples.messages",
    "talweg.compat_v1.summary.messages",
    "talweg.interop.graph_def.cluster_messages",
    "talweg.interop.graph_def.exporting",
    "talweg.interop.graph_def.files",
    "talweg.interop.graph_def.importing",
    "talweg.interop.graph_def.messages",
    "talweg.interop.graph_def.meta_graph",
    "talweg.interop.graph_def.tensor_protos",
    "talweg.interop.graph_def.utilities",
    "talweg.interop.graph_def.variable_defs",
    "talweg.interop.saved_model.loading",
    "talweg.interop.saved_model.messages",
    "talweg.interop.saved_model.saving",
    "talweg.interop.saved_model.structured_values",
    "talweg.interop.saved_model_v1.builder",
    "talweg.interop.saved_model_v1.loader",
    "talweg.interop.saved_model_v1.method_names",
    "talweg.interop.saved_model_v1.signatures",
    "talweg.private.definition_graph",
)
INNER = {  # packages whose modules without public names may need an extra, too
    "talweg.interop.graph_def.": "graphdef",
    "talweg.interop.saved_model.": "graphdef",
    "talweg.execute.xla.": "xla",
}
SHARED = "talweg.compat_v1.shared"  # gives names of others in `compat.v1`, too
PLUGIN = "talweg.command.pytest_plugin"  # which pytest loads
NAMESPACES = ("initializers", "keras", "losses", "metrics", "optimizers")  # Keras's

HALF = b"\x08\x13\x12\x04\x12\x02\x08\x01\x6a\x01\x07"  # a TensorProto with `half_val`
USES = {  # what a user does: what the error says to install, or "" for what works
    "tf.train.Example()": "graphdef",
    "tf.train.ServerDef": "graphdef",
    "tf.train.ClusterSpec({'worker': ['a:1']}).as_cluster_def()": "graphdef",
    "tf.TensorShape([1]).as_proto()": "graphdef",
    "tf.make_tensor_proto(1.0)": "graphdef",
    "tf.io.decode_proto([b''], 'm.M', [], [])": "graphdef",
    "tf.io.encode_proto([[1]], [[[1]]], ['a'], 'm.M')": "graphdef",
    "tf.io.decode_json_example('{}')": "graphdef",
    "tf.function(tf.io.decode_json_example)('{}')": "graphdef",
    "tf.io.parse_tensor(tf.io.serialize_tensor([1.0]), tf.float32)": "",
    f"tf.io.parse_tensor({HALF}, tf.half)": "graphdef",
    "tf.summary.create_file_writer('logs')": "graphdef",
    "tf.summary.scalar('a', 1.0, step=1)": "",
    "v1.summary.FileWriter('logs')": "graphdef",
    "tf.Graph().as_graph_def()": "graphdef",
    "tf.saved_model.save(tf.Module(), 'model')": "graphdef",
    "tf.saved_model.load('model')": "graphdef",
    "tf.saved_model.contains_saved_model('model')": "",
    "tf.saved_model.experimental.Fingerprint(1, 2, 3, 4, 5).singleprint()": "",
    "importlib.import_module('tensorflow.core.framework.graph_pb2')": "graphdef",
    "importlib.import_module('tensorflow.compiler.tf2xla.python.xla').call_module": "",
    "tf.io.decode_png(b'\\x89PNG\\r\\n\\x1a\\n')": "images",
    "tf.strings.regex_replace('ab12', '[0-9]+', 'x')": "",
    "tf.strings.regex_replace('ab12', '\\\\pL', 'x')": "regex",
    "tf.distribute.TPUStrategy()": "xla",
    "tf.keras": "keras",
    "importlib.import_module('tensorflow.keras.layers')": "keras",
    "train_in_a_session()": "",
    "train_monitored()": "",
    "train_supervised()": "",
    "draw('events.tfevents.1')": "graphdef",
    "draw('graph.pb')": "graphdef",
    "run_through_xla()": "xla",
    "plot('training.svg')": "",
    "plot('training.png')": "demo",
}

PROGRAM = """
import contextlib, importlib, io, json, os, pkgutil, sys
import talweg as tf
from talweg.command.line import main
from talweg.core.settings import SETTINGS

tf.as_tensorflow()
v1 = tf.compat.v1
sys.path.insert(0, os.getcwd())
os.chdir({folder!r})

def a_step():
    x = v1.get_variable("x", initializer=3.0)
    step = v1.train.get_or_create_global_step()
    return v1.train.GradientDescentOptimizer(0.25).minimize(x * x, step), x

def train_in_a_session():
    with tf.Graph().as_default(), v1.Session() as session:
        train, x = a_step()
        saver = v1.train.Saver()
        session.run(v1.global_variables_initializer())
        session.run(train)
        path = saver.save(session, "saved/model")
        session.run(train)
        saver.restore(session, path)
        assert session.run(x) == 1.5

def train_monitored():
    for _ in range(2):
        with tf.Graph().as_default():
            train, x = a_step()
            with v1.train.MonitoredTrainingSession(checkpoint_dir="monitored") as session:
                session.run(train)
                result = session.run(x)
    assert result == 0.75

def train_supervised():
    with tf.Graph().as_default():
        train, x = a_step()
        supervisor = v1.train.Supervisor(logdir="supervised")
        with supervisor.managed_session() as session:
            session.run(train)
    assert os.path.isfile("supervised/checkpoint")

def draw(name):
    open(name, "wb").close()
    with contextlib.redirect_stderr(io.StringIO()) as told:
        assert main(["graph", name]) == 2
    raise ImportError(told.getvalue())

def run_through_xla():
    with SETTINGS["executor"]("xla"):
        tf.function(tf.square)(1.0)

def error_of(load, *arguments):
    try:
        load(*arguments)
    except Exception as error:
        return [type(error).__name__, str(error)]

def plot(name):
    variable = tf.Variable(3.0)
    with tf.watch_gradients([variable]) as watch:
        for _ in range(2):
            with tf.GradientTape() as tape:
                loss = variable * variable
            tape.gradient(loss, variable)
    watch.plot(name)

uses = {{text: error_of(eval, text, globals()) for text in {uses!r}}}

from talweg.api.export import look_up
from talweg.api.table import TABLE
from talweg.private.contents import CONTENTS
from talweg.private.modules import find_at

names = {{
    name: error_of(importlib.import_module, home) if "hook:" in name else error_of(look_up, name)
    for name, home in TABLE.items()
}}
modules = {{
    each.name: error_of(importlib.import_module, each.name)
    for each in pkgutil.walk_packages(tf.__path__, "talweg.")
}}
private = {{
    f"{{module}}.{{name}}": error_of(find_at, place)
    for module, places in CONTENTS.items() for name, place in places.items()
}}
found = [uses, names, modules, private]
print(json.dumps([{{name: error for name, error in each.items() if error}} for each in found]))
"""


def named(error: list) -> str:
    """The extra that an error says to install, once."""
    extras = set(re.findall(r"pip install '?talweg\[(\w+)\]", error[1]))
    assert len(extras) == 1, error
    return extras.pop()


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The errors of uses, of names, of modules and of private names."""
    folder = str(tmp_path_factory.mktemp("bare"))
    return json.loads(run_without(PROGRAM.format(folder=folder, uses=list(USES))))


@pytest.mark.parametrize("use", USES)
def test_a_use_works_or_names_its_extra(told, use):
    error = told[0].get(use)
    assert (error and named(error)) == (USES[use] or None), error


def test_names_that_need_an_extra_are_those_of_declared_modules(told):
    failed = told[1]
    keras = {name for name in failed if name.removeprefix("compat.v1.") in NAMESPACES}
    assert {TABLE[name] for name in failed.keys() - keras} == {*GRAPHDEF, SHARED}
    for name, error in failed.items():
        late = name in keras or TABLE[name] == SHARED
        assert error[0] == ("AttributeError" if late else "ImportError"), (name, error)
        assert named(error) == ("keras" if name in keras else "graphdef"), name


def test_modules_that_need_an_extra_are_declared(told):
    failed = dict(told[2])
    assert "pytest" in failed.pop(PLUGIN)[1]
    assert set(GRAPHDEF) <= failed.keys()
    public = set(TABLE.values()) - set(GRAPHDEF)
    for name, error in failed.items():
        extra = next((INNER[start] for start in INNER if name.startswith(start)), "graphdef")
        assert named(error) == extra and name not in public, (name, error)
        assert name in GRAPHDEF or name.startswith(tuple(INNER)), name


def test_private_names_name_their_extra(told):
    """Most need none; these write or read messages."""
    assert len(told[3]) <= 6
    for name, error in told[3].items():
        assert named(error) == "graphdef", name
