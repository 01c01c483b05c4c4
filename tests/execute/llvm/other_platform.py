"""A program on a platform that lacks what Linux has: run by test_other_platforms.py.

    python other_platform.py darwin|win32

What the other platform has not is taken away before talweg is imported: names of `os`, modules, the
library without a name, /proc and /sys.  Python's own modules are imported before that, as they are
here.  Prints what compiled.
"""

from __future__ import annotations

import builtins
import ctypes
import importlib
import os
import platform
import sys
import tempfile

import numpy as np

PYTHONS_OWN = ("logging", "multiprocessing", "pathlib", "shutil", "socket", "subprocess")
OTHERS = ("threading", "llvmlite.binding", "scipy.special")
ABSENT = {
    "darwin": ((), ("sched_getaffinity", "sched_setaffinity")),
    "win32": (
        ("fcntl", "resource", "pwd", "grp", "termios"),
        ("sched_getaffinity", "sched_setaffinity", "fork", "fchmod", "getuid", "geteuid", "killpg"),
    ),
}


def pretend(kind: str) -> None:
    """Take away what `kind` has not."""
    modules, names = ABSENT[kind]
    for module in modules:
        sys.modules[module] = None  # type: ignore[assignment]
    for name in names:
        delattr(os, name)
    whole = ctypes.CDLL

    class Library(whole):  # type: ignore[misc, valid-type]
        def __init__(self, name=None, *args, **kwargs):
            if name is None and kind == "win32":
                raise TypeError("bad argument type for built-in operation")
            if "libm.so" in str(name):
                raise OSError(f"{name}: not found")
            super().__init__(name, *args, **kwargs)

    opening = builtins.open

    def opened(path, *args, **kwargs):
        if str(path).startswith(("/proc/", "/sys/")):
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return opening(path, *args, **kwargs)

    ctypes.CDLL, builtins.open, sys.platform = Library, opened, kind
    if kind == "win32":
        pretend_files()
    system = "Windows" if kind == "win32" else "Darwin"
    platform.system, platform.machine = lambda: system, lambda: "x86_64"


def pretend_files() -> None:
    """Windows neither replaces nor deletes a file that is open, and opens no folder."""
    fds = "/proc/self/fd"

    def is_open(path):
        found = []
        for handle in os.listdir(fds):
            try:
                found.append(os.path.samefile(f"{fds}/{handle}", path))
            except OSError:
                continue
        return any(found)

    def refusing(function, count):
        def called(*paths, **kwargs):
            for path in paths[:count]:
                if os.path.isfile(path) and is_open(path):
                    raise PermissionError(13, "The process cannot access the file", str(path))
            return function(*paths, **kwargs)

        return called

    for name, count in (("replace", 2), ("rename", 2), ("unlink", 1), ("remove", 1)):
        setattr(os, name, refusing(getattr(os, name), count))
    opening = os.open

    def opened(path, *args, **kwargs):
        if isinstance(path, (str, bytes)) and os.path.isdir(path):
            raise PermissionError(13, "Permission denied", str(path))
        return opening(path, *args, **kwargs)

    os.open = opened


class Windows:
    """`os` as talweg's files see it there."""

    name = "nt"

    def __getattr__(self, name):
        return getattr(os, name)


def main() -> None:
    """Compile, train on several threads, write and read files of all kinds."""
    for module in (*PYTHONS_OWN, *OTHERS):
        importlib.import_module(module)
    pretend(sys.argv[1])
    import talweg as tf
    from talweg.execute.llvm.link import elf
    from talweg.execute.llvm.runtime import interrupts
    from talweg.formats import files

    if sys.argv[1] == "win32":
        from talweg.api.io import gfile

        files.os = gfile.os = Windows()  # type: ignore[assignment]
        assert gfile.path_of("file:///C:/data/a.txt") == "C:/data/a.txt"
        assert gfile.path_of("C:\\data") == "C:\\data"
    declared = "declare i64 @GetTickCount64()"  # Windows' clock, which is not here: one that stands
    made = "define private i64 @GetTickCount64() {\n  ret i64 1\n}"
    interrupts.WINDOWS = interrupts.WINDOWS.replace(declared, made)

    assert not elf.works()  # so machine code is loaded by JITLink
    w = tf.Variable(tf.ones([64, 8]) * 0.1)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(x @ w) - 0.1))
        w.assign_sub(0.01 * tape.gradient(loss, w))
        return loss

    x = tf.constant(np.linspace(-1, 1, 640 * 64).reshape(640, 64), tf.float32)
    losses = [float(step(x)) for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and abs(losses[0] - 0.85375) < 1e-4
    total = tf.function(lambda a: tf.reduce_sum(tf.exp(a) * 2.0))  # long enough for all threads
    assert abs(float(total(tf.zeros([3_000_000]))) - 6e6) < 10

    folder = tempfile.mkdtemp()
    path = tf.train.Checkpoint(w=w).save(os.path.join(folder, "saved"))
    before = w.numpy()
    w.assign(tf.zeros_like(w))
    tf.train.Checkpoint(w=w).restore(path)
    assert np.array_equal(before, w.numpy())
    with tf.io.TFRecordWriter(os.path.join(folder, "records")) as file:
        file.write(b"abc")
    records = tf.data.TFRecordDataset(os.path.join(folder, "records"))
    assert [record.numpy() for record in records] == [b"abc"]
    data = tf.data.Dataset.range(10).map(lambda n: n * 2, num_parallel_calls=2).prefetch(2)
    assert [int(n) for n in data] == list(range(0, 20, 2))
    for _ in range(2):  # the second replaces the first
        tf.saved_model.save(tf.Module(), os.path.join(folder, "model"))
        tf.saved_model.load(os.path.join(folder, "model"))
        data.save(os.path.join(folder, "data"))
        assert len(list(tf.data.Dataset.load(os.path.join(folder, "data")))) == 10
        tf.io.write_file(os.path.join(folder, "text"), "abc")
        assert tf.io.read_file(os.path.join(folder, "text")).numpy() == b"abc"
        with tf.summary.create_file_writer(os.path.join(folder, "events")).as_default():
            tf.summary.scalar("loss", 1.0, step=0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(w=w), folder + "/many", max_to_keep=1)
    for _ in range(3):
        manager.save()
    assert len(manager.checkpoints) == 1
    odd = os.path.join(folder, "C:\\Users\\me\\data.txt")  # a name like any other here
    with tf.io.gfile.GFile(odd, "w") as file:
        file.write("abc")
    assert tf.io.gfile.exists(odd) and len(tf.io.gfile.glob(os.path.join(folder, "C:*"))) == 1
    tf.io.gfile.rename(odd, odd + "2", overwrite=True)
    tf.io.gfile.remove(odd + "2")
    print("llvm" if "talweg.execute.llvm.link.jit" in sys.modules else "from disk")


if __name__ == "__main__":
    main()
