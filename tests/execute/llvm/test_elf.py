"""Object files are put into memory without LLVM, and what is not known is left to it."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from talweg.core import settings
from talweg.execute.llvm.link import code, elf, jit

pytestmark = pytest.mark.skipif(not elf.works(), reason="object files of other systems: LLVM links")

TEXT = """
declare i64 @ours(i64)
declare double @fmod(double, double)
define i64 @run(i64 %x) {
  switch i64 %x, label %other [i64 0, label %a  i64 1, label %b  i64 2, label %c  i64 3, label %d]
a:
  ret i64 11
b:
  %called = call i64 @ours(i64 5)
  ret i64 %called
c:
  %rest = call double @fmod(double 7.5, double 4.0)
  %bits = fptosi double %rest to i64
  ret i64 %bits
d:
  %own = call i64 @helper(i64 3)
  ret i64 %own
other:
  ret i64 -1
}
define private i64 @helper(i64 %x) noinline {
  %y = mul i64 %x, 100
  ret i64 %y
}
define void @scale(ptr %x) {
  %v = load <8 x float>, ptr %x, align 4
  %w = fmul <8 x float> %v, <float 1.0, float 2.0, float 3.0, float 4.0,
    float 5.0, float 6.0, float 7.0, float 8.0>
  store <8 x float> %w, ptr %x, align 4
  ret void
}
"""


@pytest.fixture(scope="module")
def made():
    return jit.compile_texts([TEXT])[0]


def results(linked) -> list:
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(linked.addresses["run"])
    x = np.ones(8, np.float32)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(linked.addresses["scale"])(x.ctypes.data)
    return [*[run(i) for i in range(5)], x.tolist()]


def test_it_does_what_llvm_does(made):
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    callback = kind(lambda x: x * 7)
    symbols = {"ours": ctypes.cast(callback, ctypes.c_void_p).value or 0}
    found = results(elf.Image(made, symbols))
    assert found == [11, 35, 3, 300, -1, [1, 2, 3, 4, 5, 6, 7, 8]]
    assert found == results(jit.Linked([made], symbols, ("run", "scale")))


def test_code_cannot_be_written_and_goes_when_closed(made):
    image = elf.Image(made, {"ours": 1})
    page = image.addresses["run"] & ~0xFFF
    rights = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = [int(number, 16) for number in line.split()[0].split("-")]
        if first <= page < last:
            rights.append(line.split()[1])
    assert rights == ["r-xp"]
    image.close()
    image.close()


def test_another_linker_is_asked_where_there_is_something_unknown(made, monkeypatch):
    def refuse(content, symbols):
        raise elf.UnknownObjectError("a relocation of another kind")

    monkeypatch.setattr(elf, "Image", refuse)
    found = code.LoadedCode(made, {"ours": 1}, ("run", "scale"))
    assert [type(each) for each in found._images] == [jit.Linked] and found.addresses["run"]


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b[:100],
        lambda b: b"",
        lambda b: b"MZ" + b[2:],
        lambda b: b[:18] + b"\xb7\x00" + b[20:],  # of aarch64
        lambda b: b[:16] + b"\x02\x00" + b[18:],  # a program
        lambda b: b[:0x28] + (1 << 40).to_bytes(8, "little") + b[0x30:],
    ],
)
def test_files_that_are_none(made, change):
    with pytest.raises(elf.UnknownObjectError):
        elf.Image(change(made), {"ours": 1})


def test_every_byte_changed_is_no_crash(made):
    """Whatever the file says, nothing is written or read outside of what it is given."""
    random = np.random.default_rng(0)
    for _ in range(2000):
        changed = bytearray(made)
        changed[random.integers(len(made))] = random.integers(256)
        with contextlib.suppress(elf.UnknownObjectError, RuntimeError):
            elf.Image(bytes(changed), {"ours": 1})


def test_data_that_can_be_written_is_left_to_llvm():
    text = "@n = global i32 4\ndefine i32 @run() {\n  %x = load i32, ptr @n\n  ret i32 %x\n}"
    with settings.cache("off"):
        found = code.compile_module(text)
    assert [type(each) for each in found._images] == [jit.Linked]
    assert ctypes.CFUNCTYPE(ctypes.c_int32)(found.addresses["run"])() == 4


PROGRAM = """
import sys
import numpy as np
import talweg as tf

@tf.function
def step(x):
    return tf.reduce_sum(tf.nn.softmax(x @ x) * x)

print(float(step(tf.constant(np.eye(40, dtype=np.float32)))))
print([name for name in sys.modules if name.split(".")[0] == "llvmlite"])
"""


def test_a_second_process_does_not_load_llvm(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROGRAM))
    variables = {"TALWEG_CACHE": str(tmp_path / "cache"), "TALWEG_EXECUTOR": "llvm"}
    outputs = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(file)],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": ":".join(sys.path), **variables},
        )
        outputs.append(done.stdout.splitlines())
    assert outputs[0][0] == outputs[1][0]
    assert "llvmlite" in outputs[0][1] and outputs[1][1] == "[]"
