"""The primitive record: everything known of one operation, in one place.

A primitive is made by the decorators of `core/declare.py`.  Everything else (eager kernels,
derivatives, batching, tests, docs, later the compiler) reads this record; no table keyed by
primitive exists anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from talweg.core import dispatch
from talweg.core.dtypes import DType, float32
from talweg.core.roles import Role, Trait


class Registry(dict[str, "Primitive"]):
    """Primitives by name; `finder`, set by `prims`, loads modules that nobody has used yet."""

    finder: Callable[[str], None] | None = None

    def __missing__(self, name: str) -> Primitive:
        if self.finder is not None:
            self.finder(name)
        if name not in self:
            raise KeyError(name)
        return self[name]


REGISTRY = Registry()

MEMORY = ("map", "view", "reduce", "window", "gather", "scatter", "scan", "library", "host", "none")


class NoGradient:
    """An operand, or a whole primitive, through which no gradient flows, and why.

    `reason` completes the sentence "there is no gradient because ..."; `cure` is what to write
    instead, if anything fits.
    """

    def __init__(self, reason: str, cure: str = ""):
        self.reason, self.cure = reason, cure

    def __repr__(self) -> str:
        return f"NoGradient({self.reason!r})"


class Sample:
    """Operands to try a primitive on: shapes, or ready arrays, in order, and its parameters.

    A shape is filled with random numbers from the operand's `domain`.  `dtype` applies to operands
    given as shapes; a parameter that is called dtype is written `dtype_`.  `skip` switches off
    generated tests by name, with the reason in a comment beside it.
    """

    def __init__(
        self, *operands: Any, dtype: DType = float32, skip: Sequence[str] = (), **params: object
    ):
        self.operands, self.dtype, self.skip = operands, dtype, skip
        self.params = {name.rstrip("_"): value for name, value in params.items()}

    def __repr__(self) -> str:
        return f"Sample({', '.join(map(repr, self.operands))}, {self.params})"


class Reject(Sample):
    """Operands that must be refused, with the code of the error that says so."""

    def __init__(self, *operands: Any, code: str, dtype: DType = float32, **params: Any):
        super().__init__(*operands, dtype=dtype, **params)
        self.code = code


class Primitive:
    """One operation with all its rules; calling it applies it to tensors.

    Operands are positional, parameters are keywords.  What happens is up to the interpreter in
    force (`core/dispatch.py`): run a kernel, build a node, act on a batch.
    """

    __slots__ = (
        "accepts",
        "avoid",
        "batch",
        "checked",
        "derivative",
        "doc",
        "domain",
        "effect",
        "elementwise",
        "guarded",
        "infer",
        "jvp",
        "jvp_rule",
        "keeps_dtype",
        "kinks",
        "known",
        "linear",
        "lowering",
        "memory",
        "multiple",
        "name",
        "no_gradient",
        "numpy",
        "operands",
        "partials",
        "rejects",
        "role",
        "samples",
        "singular",
        "sizes",
        "tf_attributes",
        "tf_name",
        "tf_type",
        "traits",
        "transposes",
        "variadic",
        "vjp",
        "vjp_rule",
        "wants_sparse",
    )

    name: str
    doc: str
    operands: tuple[str, ...]
    variadic: bool  # the last operand name stands for any number of operands
    multiple: bool  # results are a tuple
    elementwise: bool
    checked: bool  # eager calls infer before the kernel; elementwise ones only after a failure
    keeps_dtype: bool  # its result has the operands' dtype, whatever that is
    guarded: bool  # a zero cotangent gives zero even where the partial is infinite
    accepts: frozenset[DType] | None
    infer: Callable[..., Any]
    known: set  # operand signatures that `infer` has accepted, kept by the eager evaluator
    numpy: Callable[..., Any]
    partials: Mapping[str, Callable[..., Any]]
    transposes: Mapping[str, Callable[..., Any]]
    linear: tuple[str, ...]  # operands the result is *jointly* linear in
    vjp_rule: Callable[..., Any] | None
    jvp_rule: Callable[..., Any] | None
    no_gradient: Mapping[str, NoGradient]
    derivative: NoGradient | None  # set when no operand has a derivative
    wants_sparse: bool  # its vjp takes an IndexedSlices cotangent as it is
    batch: Callable[..., Any] | str
    memory: str
    lowering: Mapping[str, Any]
    effect: str | None
    role: Role  # what it is for in a graph, if it is no operation alone
    traits: frozenset[Trait]  # what passes may know of it besides
    domain: Mapping[str, tuple[float, float]]
    singular: str
    avoid: str  # what to write to keep away from where it is not finite
    kinks: Mapping[str, str]
    samples: Sequence[Sample]
    rejects: Sequence[Reject]
    sizes: str  # how elements of an integer result follow: a way of `graph/contents.py`
    tf_type: str | Callable[..., str]  # TensorFlow's op type, or how it follows from the operands
    tf_name: str  # how TensorFlow names such an operation; "": by its type
    tf_attributes: str  # which attributes TensorFlow gives it: a way of `compat_v1/attributes.py`
    vjp: Callable[..., Any] | None  # filled by transform/rules.py on first use
    jvp: Callable[..., Any] | None

    def __call__(self, *operands: object, **params: object) -> Any:
        state = dispatch.state
        if not state.busy:
            return state.evaluate(self, operands, params)
        return dispatch.bind(self, operands, params)

    def type_of(self, avals: Sequence[Any], params: Mapping[str, Any]) -> str:
        """Return TensorFlow's type of this operation on these operands (`AddV2`)."""
        given = self.tf_type
        return given if isinstance(given, str) else given(*avals, **params)

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def __reduce__(self):
        return _find, (self.name,)


def _find(name: str) -> Primitive:
    return REGISTRY[name]


def later(name: str) -> Primitive:
    """Return a primitive that is declared in a later module than the rule that uses it."""
    return REGISTRY[name]
