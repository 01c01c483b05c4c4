"""Machine code for AArch64, whose vectors have 16 bytes, run by an emulator: for a release.

    python tools/neon.py                      everything
    python tools/neon.py math                 the bounds of the elementary functions
    python tools/neon.py declared [names]     the samples of every declaration
    python tools/neon.py composed --programs 200 --seed 7      random programs of several operations

needs Debian's `qemu-user-static`, `gcc-aarch64-linux-gnu` and `libc6-dev-arm64-cross`.  LLVM makes
the code here (`--cpu` says for which processor); a small program in C, linked with it, gives it
buffers that end where a page begins which nobody may touch, and writes out what is in them then.
Programs that call Python or BLAS, or have stacks, are left out.
Results are compared with those of the NumPy kernels, as the tests do with code for this machine.
"""

from __future__ import annotations

import argparse
import io
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import llvmlite.binding as llvm
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from scipy import special

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from talweg.core.dtypes import BY_NAME  # noqa: E402
from talweg.core.errors import OpError  # noqa: E402
from talweg.execute.llvm.codegen.program import emit  # noqa: E402
from talweg.execute.llvm.link import jit  # noqa: E402
from talweg.execute.llvm.runtime.execution_context import hosts  # noqa: E402
from talweg.execute.llvm.vector_math.library import (  # noqa: E402
    BINARY,
    BOUNDS,
    FUNCTIONS,
    VectorMathLibrary,  # noqa: E402
)
from talweg.lower.build import Lowered, build  # noqa: E402
from talweg.lower.ir.loops import Call, Kernel, stacks  # noqa: E402
from talweg.lower.ir.scalars import SCALARS  # noqa: E402
from talweg.lower.ir.visitors import all_statements  # noqa: E402
from talweg.passes.optimize.pipeline import optimize  # noqa: E402
from talweg.passes.specialize.program import SpecializationError  # noqa: E402
from tests.execute.llvm import vector_math_harness as harness  # noqa: E402
from tests.lower import compositions, declared, test_declared  # noqa: E402
from tests.prims.harness import fitted  # noqa: E402

TRIPLE, VECTOR_BYTES = "aarch64-unknown-linux-gnu", 16
COMPILER = ["aarch64-linux-gnu-gcc", "-O1", "-static"]
EMULATOR = ["qemu-aarch64-static"]
TOGETHER = 200  # programs in one process of the emulator
FRESH, GIVEN, PART = range(3)

DRIVER = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
typedef void run_t(void **, int64_t, int64_t, void *);
@DECLARED@
static run_t *const runs[] = {@RUNS@};
void talweg_barrier(void *p, int64_t i, int64_t n) { abort(); }
int64_t talweg_next(void *p, int64_t i) { abort(); }
int32_t talweg_host(void *p, int64_t i) { abort(); }
void talweg_poll(void *p, int64_t i) {}
void *talweg_move(void *p, void *q, int64_t n) { return memmove(p, q, n); }
void *talweg_set(void *p, int32_t c, int64_t n) { return memset(p, c, n); }
static int64_t number(void) {
  int64_t n;
  if (fread(&n, 8, 1, stdin) != 1) exit(3);
  return n;
}
static char *guarded(int64_t n) {
  int64_t pages = (n + 4095) / 4096 + 1;
  char *p = mmap(0, (pages + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(p + pages * 4096, 4096, PROT_NONE);
  return p + pages * 4096 - n;
}
int main(void) {
  static int64_t pool[65536];
  for (int64_t at = 0, count = number(); at < count; at++) {
    int64_t n = number(), size[n], wanted[n];
    void *table[n + 1];
    for (int64_t i = 0; i < n; i++) {
      int64_t kind = number(), whole, offset;
      size[i] = number(), whole = number(), offset = number(), wanted[i] = number();
      if (kind == 2) {
        table[i] = (char *)table[whole] + offset;
        continue;
      }
      table[i] = guarded(size[i]);
      memset(table[i], 0xF5, size[i]);
      if (kind == 1 && size[i] && fread(table[i], size[i], 1, stdin) != 1) exit(3);
    }
    fprintf(stderr, "%ld\n", (long)at);
    memset(pool, 0, sizeof pool);
    runs[at](table, 0, 1, pool);
    for (int64_t i = 0; i < n; i++)
      if (wanted[i] && size[i]) fwrite(table[i], size[i], 1, stdout);
    fflush(stdout);
  }
}
"""


class EmulatedBuffer(NamedTuple):
    """A buffer of a program, whose memory is fresh, given with content, or a part of another's."""

    kind: int
    nbytes: int
    content: bytes = b""
    whole: int = 0
    offset: int = 0
    wanted: bool = False  # whether to come back


class Job(NamedTuple):
    """A module with a function @run, its buffers, and what looks at those that come back."""

    name: str
    text: str
    buffers: list[EmulatedBuffer]
    check: Callable[[list[bytes]], Any]


class CrossCompiler:
    """LLVM for the other processor."""

    def __init__(self, cpu: str):
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        target = llvm.Target.from_triple(TRIPLE)
        self.machine = target.create_target_machine(
            cpu=cpu, opt=2, reloc="pic", codemodel="small", jit=True
        )

    def object_file(self, text: str) -> bytes:
        """Return a module's object file."""
        module = llvm.parse_assembly(text, llvm.create_context())
        module.triple, module.data_layout = TRIPLE, str(self.machine.target_data)
        jit.optimize(module)
        return self.machine.emit_object(module)


def image(jobs: list[Job]) -> bytes:
    """What the driver reads: the buffers of each program."""
    out = io.BytesIO()
    out.write(struct.pack("<q", len(jobs)))
    for job in jobs:
        out.write(struct.pack("<q", len(job.buffers)))
        for b in job.buffers:
            out.write(struct.pack("<5q", b.kind, b.nbytes, b.whole, b.offset, b.wanted))
            out.write(b.content if b.kind == GIVEN else b"")
    return out.getvalue()


def emulate(jobs: list[Job], compiler: CrossCompiler) -> list[list[bytes] | None]:
    """What comes back of each program; None of one that died, and of those behind it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        objects = []
        for at, job in enumerate(jobs):
            objects.append(folder / f"{at}.o")
            text = job.text.replace("@run(", f"@run{at}(")
            objects[-1].write_bytes(compiler.object_file(text))
        names = [f"run{at}" for at in range(len(jobs))]
        declared = "\n".join(f"run_t {each};" for each in names)
        driver = DRIVER.replace("@DECLARED@", declared).replace("@RUNS@", ", ".join(names))
        (folder / "driver.c").write_text(driver)
        program = folder / "program"
        made = [*COMPILER, "-o", program, folder / "driver.c", *objects, "-lm"]
        subprocess.run(list(map(str, made)), check=True)
        done = subprocess.run([*EMULATOR, str(program)], input=image(jobs), capture_output=True)
    return split_output(jobs, done.stdout)


def split_output(jobs: list[Job], content: bytes) -> list[list[bytes] | None]:
    """What the driver wrote, by programs."""
    found: list[list[bytes] | None] = []
    at = 0
    for job in jobs:
        sizes = [b.nbytes for b in job.buffers if b.wanted]
        if at + sum(sizes) > len(content) or (not sizes and found and found[-1] is None):
            found.append(None)
            at = len(content) + 1
            continue
        parts = []
        for size in sizes:
            parts.append(content[at : at + size])
            at += size
        found.append(parts)
    return found


# ---------------------------------------------------------------- what is tried


def math_jobs() -> Iterator[Job]:
    """Yield every elementary function, of numbers of all magnitudes."""
    random = np.random.default_rng(0)
    for dtype, lanes in (("float32", 4), ("float64", 2), ("float32", 1), ("float64", 1)):
        for name in FUNCTIONS:
            library = VectorMathLibrary()
            loop = harness.loop_text(library, name, dtype, lanes)
            x, y = math_operands(name, dtype, random)
            symbol = f"loop_{library.symbol(name, BY_NAME[dtype], lanes)}"
            text = "\n".join([library.text(), loop, WRAPPED.format(symbol=symbol, count=len(x))])
            held = [EmulatedBuffer(GIVEN, a.nbytes, a.tobytes()) for a in (x, y)]
            held.append(EmulatedBuffer(FRESH, x.nbytes, wanted=True))
            yield Job(f"{name} {dtype}x{lanes}", text, held, build_bound_check(name, x, y))


def exact(name: str, x: np.ndarray, y: np.ndarray) -> tuple[Any, float]:
    """Return a function's values in a longer dtype, and how far results may be from them, in units.

    Of float64 the error function has none in SciPy: it is compared with code for this machine,
    whose bound has a test.
    """
    bound = BOUNDS[name][x.dtype == np.float64]
    by_scipy = name in ("erf", "erfc")
    if by_scipy and x.dtype == np.float64:
        here = harness.compiled([(name, "float64", 2)])[name, "float64", 2]
        return here(x).astype(np.longdouble), 1.0
    longer = np.float64 if x.dtype == np.float32 else np.longdouble
    function = getattr(special, name) if by_scipy else SCALARS[name].numpy
    with np.errstate(all="ignore"):
        return function(*[a.astype(longer) for a in ((x, y) if name in BINARY else (x,))]), bound


WRAPPED = """
define void @run(ptr %buffers, i64 %thread, i64 %threads, ptr %pool) {{
  %x = load ptr, ptr %buffers, align 8
  %y.at = getelementptr ptr, ptr %buffers, i64 1
  %y = load ptr, ptr %y.at, align 8
  %z.at = getelementptr ptr, ptr %buffers, i64 2
  %z = load ptr, ptr %z.at, align 8
  call void @{symbol}(ptr %x, ptr %y, ptr %z, i64 {count})
  ret void
}}
"""


def math_operands(name: str, dtype: str, random: Any) -> tuple[Any, Any]:
    """Numbers of all magnitudes, 2**17 of them."""
    count = 1 << 17
    bits = np.uint32 if dtype == "float32" else np.uint64
    x = random.integers(0, np.iinfo(bits).max, count, dtype=bits).view(dtype)
    near = (random.standard_normal(count) * 4).astype(dtype)
    x = harness.within(name, np.where(np.arange(count) % 2 == 0, x, near))
    y = (random.standard_normal(count) * 30).astype(dtype)
    return (np.abs(x), y) if name == "pow" else (x, y)


def build_bound_check(name: str, x: np.ndarray, y: np.ndarray) -> Callable[[list[bytes]], Any]:
    """What asserts that errors are within the bound of a function."""

    def check(parts: list[bytes]) -> None:
        right, bound = exact(name, x, y)
        with np.errstate(all="ignore"):
            errors = harness.ulps(np.frombuffer(parts[0], x.dtype), right)
        worst = errors.argmax()
        found = f"{errors[worst]} units at {x[worst]}, {y[worst]} where {bound} are stated"
        assert errors[worst] <= bound, found

    return check


def collect_declared_jobs(names: list[str]) -> Iterator[Job]:
    """Yield the samples of every declaration that has loops."""
    for case in test_declared.CASES:
        prim = case.prim
        if names and prim.name not in names or prim.name in test_declared.VALUES:
            continue
        arrays, params = fitted(case, case.arrays()), case.params()
        try:
            right = declared.expected(prim, arrays, params)
            static = declared.static_of(prim, arrays, params)
            lowered = build(static, "program", 1, VECTOR_BYTES, False)
        except (OpError, SpecializationError):
            continue
        near = declared.tolerance_of(arrays)

        def check(found: list, right: list = right, near: float = near, what: str = case.name):
            for part, wanted in zip(found, right, strict=True):
                declared.assert_close(part, wanted, near, what)

        job = job_of(case.name, lowered, arrays, [], check)
        if job is not None:
            yield job


def compose_jobs(programs: int, seed: int) -> Iterator[Job]:
    """Random programs of several operations and variables."""
    found: list[Any] = []

    @hypothesis.seed(seed)
    @settings(
        max_examples=programs,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        deadline=None,
    )
    @given(compositions.programs())
    def gather(made: Any) -> None:
        found.append(made)

    gather()
    for at, made in enumerate(found):
        if made.refused:
            continue
        optimize(made.static)
        lowered = build(made.static, "program", 1, VECTOR_BYTES, False)

        def check(parts: list, made: Any = made) -> None:
            for part, wanted in zip(parts, [*made.outputs, *made.after], strict=True):
                np.testing.assert_allclose(part, wanted, 1e-9, 1e-9, err_msg=repr(made))

        job = job_of(f"program {at} of seed {seed}", lowered, made.inputs, made.before, check)
        if job is not None:
            yield job


def job_of(
    name: str, lowered: Lowered, inputs: list, states: list, check: Callable[[list], Any]
) -> Job | None:
    """Return a lowered program as a job; None where it calls Python, BLAS, or has stacks."""
    program = lowered.program
    calls = [
        part
        for block in program.blocks
        if type(block) is Kernel
        for part in all_statements(block.body)
        if type(part) is Call
    ]
    if calls or stacks(program) or hosts(program.blocks):
        return None
    arrays = dict(zip(lowered.inputs, inputs))
    arrays |= {buffer: array for (_, buffer, _), array in zip(lowered.states, states)}
    wanted = [*lowered.outputs, *[buffer for _, buffer, _ in lowered.states]]
    place = {buffer: at for at, buffer in enumerate(program.buffers)}
    held = []
    for b in program.buffers:
        content = arrays.get(b, b.content if b.kind == "constant" else None)
        raw = b"" if content is None else np.ascontiguousarray(content, b.dtype.numpy_dtype)
        raw = raw if isinstance(raw, bytes) else raw.tobytes()
        back = b in wanted
        if b.part is not None:
            if place[b.part] > place[b]:
                return None
            held.append(EmulatedBuffer(PART, b.nbytes, b"", place[b.part], b.offset, back))
        elif content is not None:
            held.append(EmulatedBuffer(GIVEN, b.nbytes, raw, wanted=back))
        else:
            size = -(-b.nbytes // 64) * 64 if b.kind == "scratch" else b.nbytes
            held.append(EmulatedBuffer(FRESH, size, wanted=back))
    order = [b for b in program.buffers if b in wanted]

    def look(parts: list[bytes]) -> None:
        found = {
            b: np.frombuffer(raw, b.dtype.numpy_dtype).reshape(b.shape)
            for b, raw in zip(order, parts, strict=True)
        }
        results = [found[b] for b in wanted]
        if lowered.guard:
            assert results.pop(len(lowered.outputs) - 1), "its guard refuses the operands"
        check(results)

    return Job(name, emit(program, VECTOR_BYTES, VectorMathLibrary()), held, look)


# ---------------------------------------------------------------- the command


def try_jobs(jobs: Iterable[Job], compiler: CrossCompiler) -> tuple[int, list[str]]:
    """How many programs ran, and what was wrong with which."""
    count, wrong = 0, []
    waiting: list[Job] = []

    def work() -> None:
        nonlocal count
        for job, parts in zip(waiting, emulate(waiting, compiler)):
            count += 1
            try:
                assert parts is not None, "no result: it, or one before it, has died"
                job.check(parts)
            except AssertionError as error:
                text = " ".join(str(error).split())[:300]
                wrong.append(f"{job.name}: {text}")
                print(wrong[-1], flush=True)
        waiting.clear()

    for job in jobs:
        waiting.append(job)
        if len(waiting) == TOGETHER:
            work()
    if waiting:
        work()
    return count, wrong


def main() -> int:
    """Try what is asked for; 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("math", "declared", "composed"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cpu", default="neoverse-n1")
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    compiler, failed = CrossCompiler(asked.cpu), False
    kinds = {
        "math": math_jobs,
        "declared": lambda: collect_declared_jobs(asked.names),
        "composed": lambda: compose_jobs(asked.programs, asked.seed),
    }
    for kind, jobs in kinds.items():
        if asked.what in (None, kind):
            count, wrong = try_jobs(jobs(), compiler)
            failed |= bool(wrong) or not count
            print(f"{kind}: {count} on {asked.cpu}, {len(wrong)} wrong", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
