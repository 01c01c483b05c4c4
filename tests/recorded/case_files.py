"""Case files: small Python programs over `tf` and `np`, one per line.

The syntax, all of it:

    # a comment; blank lines separate
    tf.add(1.0, 2.0)                     one case; its value is what is recorded
    v = tf.Variable(1.0); v.assign(2.0); v      the value of the last expression counts
    x = tf.constant(3.0)                 a line that begins with `... ` continues the case above
    ... with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    ... tape.gradient(y, x)
    [atol=1e-4] tf.linalg.inv(m)         flags come first, in brackets

A case must not make the scalar -0.0 from a Python float: TensorFlow caches scalars by value, and
hands the -0.0 to whoever asks for 0.0 next.

Flags: `atol=`, `rtol=` widen the tolerance of the dtype; `loose` compares kinds, dtypes and shapes
but not numbers, which are not recorded; `any-error` accepts any exception class where TensorFlow
raised one; `tf-wrong` records what TensorFlow does, which talweg does not follow: what talweg does
instead stands in `differences.json`.
"""

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

CASES = Path(__file__).parent / "cases"
VALUES = Path(__file__).parent / "values"

_FLAG = r"(?:atol=[\d.e+-]+|rtol=[\d.e+-]+|loose|any-error|tf-wrong)"
_PREFIX = re.compile(rf"\[({_FLAG}(?:, *{_FLAG})*)\] +")
_CONTINUATION = "... "
_NAME = re.compile(r"\btf\.((?:\w+\.)*\w+)")
_HELPER = re.compile(r"\w+")


@dataclass
class Case:
    """One case: where it stands, its flags, its text."""

    area: str
    line: int
    flags: dict
    text: str
    _code: tuple | None = field(default=None, repr=False)

    @property
    def label(self):
        """Area, line and the first TensorFlow name: short, and useful with pytest's -k."""
        found = _NAME.search(self.text) or _HELPER.search(self.text)
        name = found.group(found.lastindex or 0) if found else "case"
        return f"{self.area}:{self.line}:{name}"

    def code(self):
        """The statements before the last expression, and that expression, both compiled."""
        if self._code is None:
            tree = ast.parse(self.text)
            if not tree.body or not isinstance(tree.body[-1], ast.Expr):
                raise SyntaxError(f"{self.label}: the last statement must be an expression")
            last = ast.Expression(tree.body.pop().value)
            self._code = (compile(tree, self.label, "exec"), compile(last, self.label, "eval"))
        return self._code


def areas():
    """The names of all areas that have a case file."""
    return sorted(path.stem for path in CASES.glob("*.txt"))


def read_cases(area):
    """The cases of an area, in the order of its file."""
    cases = []
    lines = (CASES / f"{area}.txt").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        if line.startswith(_CONTINUATION):
            cases[-1].text += "\n" + line[len(_CONTINUATION) :]
        elif line.strip() and not line.startswith("#"):
            cases.append(_case(area, number, line.rstrip()))
    return cases


def _case(area, number, line):
    """The case that begins on this line."""
    prefix = _PREFIX.match(line)
    flags = {}
    if prefix:
        for flag in prefix.group(1).split(","):
            name, _, value = flag.strip().partition("=")
            flags[name] = float(value) if value else True
    return Case(area, number, flags, line[prefix.end() :] if prefix else line)
