"""Errors and speed of talweg/execute/llvm/vector_math/library.py; the page docs/vector_math.md.

    python tools/ulps.py errors [names]     every float32 number, beside the float64 function
    python tools/ulps.py speed              nanoseconds a number, beside NumPy; writes them
    python tools/ulps.py page               writes the table's bounds anew

The float64 functions, by which the float32 ones are judged here, are themselves checked against
longer formats by tests/execute/llvm/test_vector_math_double.py.
"""

from __future__ import annotations

import ctypes
import re
import sys
import time
from pathlib import Path

import numpy as np
from scipy import special

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from execute.llvm import vector_math_harness as harness  # noqa: E402

from talweg.core.dtypes import float32, float64  # noqa: E402
from talweg.execute.llvm.vector_math.library import BINARY, BOUNDS, FUNCTIONS, VectorMathLibrary  # noqa: E402
from talweg.lower.ir.scalars import SCALARS  # noqa: E402

PAGE = ROOT / "docs" / "vector_math.md"
# the largest error over the float32 numbers with bits first, first + 1, ...; its argument's bits
SCAN = """
define float @scan(i32 %first, i32 %count, ptr %where) {{
entry:
  %start = insertelement <8 x i32> poison, i32 %first, i32 0
  %same = shufflevector <8 x i32> %start, <8 x i32> poison, <8 x i32> zeroinitializer
  %bits0 = add <8 x i32> %same, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  br label %body
body:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %bits = phi <8 x i32> [ %bits0, %entry ], [ %bits_next, %body ]
  %worst = phi <8 x double> [ splat (double -1.0), %entry ], [ %worst_next, %body ]
  %at = phi <8 x i32> [ zeroinitializer, %entry ], [ %at_next, %body ]
  %x = bitcast <8 x i32> %bits to <8 x float>
  %wide = fpext <8 x float> %x to <8 x double>
  %y = call <8 x float> @{single}(<8 x float> %x)
  %exact = call <8 x double> @{double}(<8 x double> %wide)
  %got = fpext <8 x float> %y to <8 x double>
  %a = call <8 x double> @llvm.minnum(<8 x double> %got, <8 x double> splat (double {top}))
  %b = call <8 x double> @llvm.maxnum(<8 x double> %a, <8 x double> splat (double -{top}))
  %c = call <8 x double> @llvm.minnum(<8 x double> %exact, <8 x double> splat (double {top}))
  %d = call <8 x double> @llvm.maxnum(<8 x double> %c, <8 x double> splat (double -{top}))
  %raw = bitcast <8 x double> %d to <8 x i64>
  %shifted = lshr <8 x i64> %raw, splat (i64 52)
  %exponent = and <8 x i64> %shifted, splat (i64 2047)
  %low = icmp ugt <8 x i64> %exponent, splat (i64 897)
  %normal = select <8 x i1> %low, <8 x i64> %exponent, <8 x i64> splat (i64 897)
  %turned = sub <8 x i64> splat (i64 2069), %normal
  %biased = shl <8 x i64> %turned, splat (i64 52)
  %scale = bitcast <8 x i64> %biased to <8 x double>
  %difference = fsub <8 x double> %b, %d
  %size = call <8 x double> @llvm.fabs(<8 x double> %difference)
  %usual = fmul <8 x double> %size, %scale
  %nan1 = fcmp uno <8 x double> %got, %got
  %nan2 = fcmp uno <8 x double> %exact, %exact
  %one = xor <8 x i1> %nan1, %nan2
  %two = and <8 x i1> %nan1, %nan2
  %mended = select <8 x i1> %one, <8 x double> splat (double 1.0e9), <8 x double> %usual
  %error = select <8 x i1> %two, <8 x double> zeroinitializer, <8 x double> %mended
  %more = fcmp ogt <8 x double> %error, %worst
  %worst_next = select <8 x i1> %more, <8 x double> %error, <8 x double> %worst
  %at_next = select <8 x i1> %more, <8 x i32> %bits, <8 x i32> %at
  %bits_next = add <8 x i32> %bits, splat (i32 8)
  %next = add i32 %i, 8
  %again = icmp ult i32 %next, %count
  br i1 %again, label %body, label %done
done:
  store <8 x i32> %at_next, ptr %where, align 4
  %errors = getelementptr i8, ptr %where, i64 32
  store <8 x double> %worst_next, ptr %errors, align 4
  ret float 0.0
}}
"""


def scanner(name: str):
    """Return a function (first bits, count) -> (largest error in ulps, its argument)."""
    library = VectorMathLibrary()
    single, double = library.symbol(name, float32, 8), library.symbol(name, float64, 8)
    text = SCAN.format(single=single, double=double, top="0x47F0000000000000")
    text = text.replace("-0x47F", "0xC7F")
    for intrinsic in ("minnum", "maxnum", "fabs"):
        text = text.replace(f"@llvm.{intrinsic}(", f"@llvm.{intrinsic}.v8f64(")
    address = harness.addresses(library.text() + text, ["scan"])["scan"]
    code = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(
        address
    )

    def scan(first: int, count: int) -> tuple[float, float]:
        found = np.zeros(24, np.int32)
        code(first, count, found.ctypes.data)
        errors = found[8:].view(np.float64)
        lane = int(errors.argmax())
        return float(errors[lane]), float(found[:8].view(np.float32)[lane])

    return scan


# by their formulas these are the same for -x, but for the sign
SYMMETRIC = frozenset(
    ("sin", "cos", "tan", "asin", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "erf")
)


def errors(names: list[str]) -> None:
    """Print the largest error of each function of one float32 number, over all of them."""
    for name in names:
        start, worst, scan = time.perf_counter(), (-1.0, 0.0), scanner(name)
        begin = 1 << 31 if name == "exp_below" else 0  # negative numbers
        for first in range(begin, 1 << (31 if name in SYMMETRIC else 32), 1 << 24):
            worst = max(worst, scan(first, 1 << 24))
        seconds = time.perf_counter() - start
        print(f"{name:9} {worst[0]:.4f} at {worst[1]!r}  ({seconds:.0f} s)", flush=True)


COUNT = 4096
BETWEEN = {
    "asin": (-0.99, 0.99),
    "acos": (-0.99, 0.99),
    "atanh": (-0.99, 0.99),
    "log": (0.1, 9),
    "log1p": (0.1, 9),
    "pow": (0.1, 9),
    "acosh": (1, 9),
    "exp_below": (-5, 0),
}
PEERS = {
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
    "erf": special.erf,
    "erfc": special.erfc,
}
ROWS = "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"


def seconds(function) -> float:
    """Return the least CPU time of a call."""
    least = float("inf")
    for _ in range(60):
        start = time.thread_time_ns()
        for _ in range(10):
            function()
        least = min(least, (time.thread_time_ns() - start) / 10)
    return least / 1e9


def speed() -> dict[str, list[str]]:
    """Nanoseconds a number: float32 and NumPy's, float64 and NumPy's."""
    random, found = np.random.default_rng(0), {}
    lanes = {"float32": 8, "float64": 4}
    made = harness.compiled([(name, d, n) for name in FUNCTIONS for d, n in lanes.items()])
    for name in FUNCTIONS:
        row = []
        for dtype, count in lanes.items():
            low, high = BETWEEN.get(name, (-5, 5))
            x = random.uniform(low, high, COUNT).astype(dtype)
            y, result = random.uniform(-3, 3, COUNT).astype(dtype), np.empty(COUNT, dtype)
            pointers = [array.ctypes.data for array in (x, y, result)]
            code = made[name, dtype, count].code
            peer = PEERS.get(name, SCALARS[name].numpy)
            operands = (x, y) if name in BINARY else (x,)
            row.append(seconds(lambda: code(*pointers, COUNT)))  # noqa: B023
            row.append(seconds(lambda: peer(*operands)))  # noqa: B023
        found[name] = [f"{value / COUNT * 1e9:.2f}" for value in row]
        print(name, *found[name], flush=True)
    return found


def speeds_of_page() -> dict[str, list[str]]:
    """What `speed` has written."""
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", PAGE.read_text(), re.M)
    return {name: [cell.strip() for cell in rest.split("|")][2:] for name, rest in rows}


def write_page(speeds: dict[str, list[str]]) -> None:
    """The table in docs/vector_math.md, anew from BOUNDS and `speeds`."""
    rows = [
        f"| `{name}` | {single} | {double} | {' | '.join(speeds.get(name, ['?'] * 4))} |"
        for name, (single, double) in BOUNDS.items()
    ]
    before, _, after = PAGE.read_text().partition(ROWS)
    after = after[after.index("\n\n") :]
    PAGE.write_text(before + ROWS + "\n" + "\n".join(rows) + after)


if __name__ == "__main__":
    task, names = sys.argv[1], sys.argv[2:]
    if task == "errors":
        errors(names or [name for name in FUNCTIONS if name not in BINARY])
    else:
        write_page(speed() if task == "speed" else speeds_of_page())
