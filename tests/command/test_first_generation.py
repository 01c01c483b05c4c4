"""How programs of TensorFlow 1 begin, log and touch files; what TensorFlow raises stands beside."""

from __future__ import annotations

import logging
import sys

import pytest
from absl import flags as absl_flags

import talweg as tf
import talweg.compat.v1 as tf1
from talweg.command.line import main

PROGRAM = """
import tensorflow as tf
flags = tf.app.flags
flags.DEFINE_integer("steps_of_test", default_value=3, docstring="how many")
flags.DEFINE_string("folder_of_test", "", "where to")
FLAGS = flags.FLAGS

def main(arguments):
    x = tf.placeholder(tf.float32, [None, 2])
    w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    if not tf.gfile.Exists(FLAGS.folder_of_test):
        tf.gfile.MakeDirs(FLAGS.folder_of_test)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(FLAGS.steps_of_test):
            _, value = session.run([train, loss], {x: [[1.0, 2.0]]})
        print("loss %.3f" % value, arguments[1:])
        print(tf.train.Saver().save(session, FLAGS.folder_of_test + "/model")[-5:])
    return 4

if __name__ == "__main__":
    tf.app.run()
"""


def test_a_whole_program_of_the_first_generation(tmp_path, capfd):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    command = ["run", str(path), "--steps_of_test", "2", f"--folder_of_test={tmp_path}/new", "own"]
    handlers = list(logging.root.handlers)  # absl puts one of its own there
    try:
        assert main(command) == 4
    finally:
        absl_flags.FLAGS.unparse_flags()
        for name in ("steps_of_test", "folder_of_test"):
            delattr(absl_flags.FLAGS, name)
        logging.root.handlers[:] = handlers
    assert capfd.readouterr().out == "loss 0.000 ['own']\nmodel\n"
    assert (tmp_path / "new" / "model.index").exists()


def test_flags_are_read_when_first_asked_for(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["program", "--own_rate_of_test=0.5"])
    tf1.flags.DEFINE_float("own_rate_of_test", 0.1, "a rate")
    try:
        assert tf1.flags.FLAGS.own_rate_of_test == 0.5
        assert tf1.app.flags is tf1.flags and "own_rate_of_test" in tf1.flags.FLAGS
        tf1.flags.FLAGS.own_rate_of_test = 0.7
        assert absl_flags.FLAGS.own_rate_of_test == 0.7
    finally:
        absl_flags.FLAGS.unparse_flags()
        delattr(absl_flags.FLAGS, "own_rate_of_test")


def test_logging(caplog):
    level = tf1.logging.get_verbosity()
    try:
        tf1.logging.set_verbosity(tf1.logging.INFO)
        assert tf1.logging.get_verbosity() == 20 and tf1.logging.WARN == 30
        with caplog.at_level(logging.INFO, "tensorflow"):
            logging.getLogger("tensorflow").addHandler(caplog.handler)
            tf1.logging.info("step %d", 3)
            tf1.logging.debug("not seen")
            for i in range(5):
                tf1.logging.log_every_n(tf1.logging.INFO, "every %d", 2, i)
                tf1.logging.log_first_n(tf1.logging.WARN, "first %d", 1, i)
        told = list(dict.fromkeys(record.getMessage() for record in caplog.records))
        assert told == ["step 3", "every 0", "first 0", "every 2", "every 4"]
    finally:
        logging.getLogger("tensorflow").removeHandler(caplog.handler)
        tf1.logging.set_verbosity(level)


def test_files_are_written_and_read(tmp_path):
    path = str(tmp_path / "file")
    with tf.io.gfile.GFile(path, "w") as file:
        file.write("ab\n")
        file.write("cd")
    file = tf.io.gfile.GFile(path)
    assert (file.size(), file.readline(), file.tell(), file.read()) == (5, "ab\n", 3, "cd")
    assert file.readlines() == []
    file.seek(0)
    assert list(file) == ["ab\n", "cd"]
    assert tf.io.gfile.GFile(path, "rb").read() == b"ab\ncd"
    with tf1.gfile.FastGFile(path, "a") as more:
        more.write("e")
    statistics = tf.io.gfile.stat(path)
    assert (statistics.length, statistics.is_directory) == (6, False)
    with tf.io.gfile.GFile(path, "w"):
        pass  # a file is opened by the first that is written
    with tf.io.gfile.GFile(str(tmp_path / "none"), "w"):
        pass
    assert tf.io.gfile.stat(path).length == 6 and not tf.io.gfile.exists(str(tmp_path / "none"))


def test_a_closed_file_keeps_what_is_in_it(tmp_path):
    path = tmp_path / "file"
    file = tf.io.gfile.GFile(str(path), "wb")
    file.write(b"ab")
    for finish in (file.close, file.flush, file.close):
        finish()
    assert path.read_bytes() == b"ab"


def test_folders(tmp_path):
    gfile, root = tf.io.gfile, str(tmp_path)
    gfile.makedirs(f"{root}/a/b")
    gfile.makedirs(f"{root}/a/b")
    gfile.mkdir(f"{root}/a")
    for name in ("a/2.txt", "a/1.txt", "a/b/3.txt"):
        gfile.GFile(f"{root}/{name}", "w").write("x")
    assert sorted(gfile.listdir(f"{root}/a")) == ["1.txt", "2.txt", "b"]
    assert gfile.glob(f"{root}/a/*.txt") == [f"{root}/a/1.txt", f"{root}/a/2.txt"]
    below = [(top.removeprefix(root), folders, files) for top, folders, files in gfile.walk(root)]
    assert below == [("", ["a"], []), ("/a", ["b"], ["1.txt", "2.txt"]), ("/a/b", [], ["3.txt"])]
    assert [top for top, _, _ in tf1.gfile.Walk(root, in_order=False)][-1] == root
    gfile.copy(f"{root}/a/1.txt", f"{root}/copy")
    gfile.rename(f"{root}/copy", f"{root}/other")
    assert gfile.exists(f"{root}/other") and not gfile.exists(f"{root}/copy")
    gfile.rmtree(f"{root}/a")
    assert not gfile.isdir(f"{root}/a")


def test_failures_are_tensorflows(tmp_path):
    gfile, missing, errors = tf.io.gfile, str(tmp_path / "none"), tf.errors
    (tmp_path / "there").write_text("x")
    there = str(tmp_path / "there")
    for error, action in (
        (errors.NotFoundError, lambda: gfile.listdir(missing)),
        (errors.NotFoundError, lambda: gfile.remove(missing)),
        (errors.NotFoundError, lambda: gfile.mkdir(f"{missing}/a/b")),
        (errors.NotFoundError, lambda: gfile.stat(missing)),
        (errors.NotFoundError, lambda: gfile.rmtree(missing)),
        (errors.NotFoundError, lambda: gfile.GFile(missing).read()),
        (errors.NotFoundError, lambda: gfile.rename(missing, missing + "2")),
        (errors.AlreadyExistsError, lambda: gfile.copy(missing, there)),
        (errors.AlreadyExistsError, lambda: gfile.rename(there, there)),
        (errors.PermissionDeniedError, lambda: gfile.GFile(there, "w").read()),
        (errors.PermissionDeniedError, lambda: gfile.GFile(there).write("x")),
        (errors.InvalidArgumentError, lambda: gfile.GFile(there, "q")),
    ):
        with pytest.raises(error):
            action()
    assert list(gfile.walk(missing)) == [] and gfile.glob(f"{missing}*") == []
