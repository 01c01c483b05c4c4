"""The ledger lists all operations that ran; a walk back through it finds where a NaN was made.

Inside `with keeping() as ledger:` every operation is written down with its operands and results, in
eager mode, in functions and in sessions alike; programs run step by step meanwhile, whatever
executor they have.  Arrays are known by identity, so an entry's operands lead to the entries that
made them.  `Ledger.trail` goes from a value back along elements that are not finite, until an
operation made one of operands that were.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core import dispatch, scope
from talweg.core.declare import ELEMENTWISE
from talweg.core.observer import Observer
from talweg.core.provenance import Derived, Origin, user_origin
from talweg.eager.custom import CustomRule
from talweg.eager.structured import Variant
from talweg.execute.call import quiet
from talweg.execute.interpret import onlooker
from talweg.kernels.variants import History, List
from talweg.passes.specialize.program import demands

if TYPE_CHECKING:
    from talweg.core.primitive import Primitive
    from talweg.graph.node import Node
    from talweg.passes.functionalize import Program, Step


class LedgerEntry:
    """One operation that ran.

    `rule_of` is the primitive whose derivative rule made it, if one did; `forward` says where that
    stands in the user's program, `forward_operands` what it was applied to, where that is known.
    """

    __slots__ = (
        "forward",
        "forward_operands",
        "node",
        "operands",
        "origin",
        "params",
        "prim",
        "results",
        "rule_of",
        "several",
    )

    def __init__(
        self, prim: Any, operands: tuple, results: tuple, params: dict, origin: tuple | None
    ):
        self.prim, self.operands, self.results, self.params = prim, operands, results, params
        self.origin: Origin | None = origin
        self.several = prim.multiple  # whether the operation gives a tuple
        self.node: Any = None  # of a graph, where it ran as a step of a program
        self.rule_of: Any = None
        self.forward: Origin | None = None
        self.forward_operands: tuple | None = None
        if type(origin) is Derived:
            self.rule_of, self.forward = origin.prim, origin.forward or origin

    @property
    def by_element(self) -> bool:
        """Whether each element of the result is made of the elements in its place."""
        prim = self.prim
        return prim.elementwise or getattr(prim, "batch", None) == ELEMENTWISE

    def name_of(self, position: int) -> str:
        """Return the declared name of an operand."""
        names = self.prim.operands
        if position < len(names) - 1 or not self.prim.variadic:
            return names[min(position, len(names) - 1)]
        return f"{names[-1]}[{position - len(names) + 1}]"


def scope_of_entry(entry: LedgerEntry) -> str:
    """Return the name scope in which an operation ran,
    where that was noted, without a slash behind it.
    """
    scopes = noted.scopes
    found = None if scopes is None or not entry.results else scopes.get(id(entry.results[0]))
    return "" if found is None else found[1]


class Link:
    """A result on the way of a value that is not finite, and the element that was followed.

    Where `entry` is None the value came from outside: an argument, a constant, a variable.
    """

    __slots__ = ("array", "entry", "index", "via")

    def __init__(
        self, entry: LedgerEntry | None, array: Any, index: tuple, via: tuple | None = None
    ):
        self.entry, self.array, self.index = entry, array, index
        self.via: tuple | None = via  # (entry, position): who used a value from outside

    @property
    def value(self) -> Any:
        """The element."""
        return np.asarray(self.array)[self.index]


LISTS = frozenset((List, Variant))


class Ledger:
    """Entries in the order in which they ran."""

    def __init__(self) -> None:
        self.entries: list[LedgerEntry] = []
        self.maker: dict[int, LedgerEntry] = {}  # id of an array -> the entry that made it
        self.again: dict[int, Any] = {}  # id of an array -> what it was when it was made again
        self.redrawn = False  # whether what ran again came out otherwise: by random numbers
        self.names: dict[int, str] = {}  # id of an array -> the variable that it is the value of
        self.apart_of: dict[int, Any] = {}  # id of a tensor -> its array here, where it is another
        self.written: dict[int, Any] = {}  # eager variables that got another value, by id
        self.kept: list = []  # so that ids stay theirs
        self.thread = threading.get_ident()

    def watch(self, program: Program) -> Any:
        """Return the observer of a run of a program; None in other threads."""
        return _StepRecorder(self) if threading.get_ident() == self.thread else None

    def note(self, entry: LedgerEntry) -> None:
        """Write down that an operation ran."""
        self.entries.append(entry)
        for result in entry.results:
            if is_float(result):
                self.maker.setdefault(id(result), entry)
            elif type(result) in LISTS:
                for array in arrays_in(result):
                    self.maker.setdefault(id(array), entry)

    def apart(self, array: Any) -> Any:
        """Return the numbers of an array, as an array of their own: made by what made `array`."""
        own = another(array)
        maker = self.maker.get(id(array))
        if maker is not None:
            self.maker[id(own)] = maker
            self.kept.append(own)
        return own

    def same(self, array: np.generic | np.ndarray, again: np.generic) -> None:
        """Note that `array` is what an operation made
        that ran again, and gave `again` this time.
        """
        found = self.maker.get(id(again))
        if found is not None:
            self.maker[id(array)] = found
            self.again[id(array)] = again
            self.kept.append(array)

    def array_of(self, node: Node) -> Any:
        """Return the value of a graph's node, as a result or operand; None if it did not occur."""
        for entry in reversed(self.entries):
            if entry.node is node:
                return entry.results[0]
        for entry in self.entries:
            if entry.node is not None and len(entry.node.operands) == len(entry.operands):
                for source, array in zip(entry.node.operands, entry.operands):
                    if source is node:
                        return array
        return None

    def first_bad(self) -> Link | None:
        """Return the first result in time that was not finite while the operands were."""
        for entry in self.entries:
            bad = [x for x in entry.results if has_bad(x)]
            if bad and not any(map(has_bad, entry.operands)):
                return Link(entry, bad[0], bad_index(bad[0]))
        return None

    def last_bad(self, shape: tuple) -> Any:
        """Return the last result of a shape that is not finite; None if there is none."""
        for entry in reversed(self.entries):
            for array in entry.results:
                if np.shape(array) == shape and has_bad(array):
                    return array
        return None

    def trail(self, array: np.generic | np.ndarray) -> list[Link]:
        """Return the trail from where a bad value was made to `array`,
        which has it: a link for each operation.
        """
        index, via = bad_index(array), None
        links: list[Link] = []
        while True:
            entry = self.maker.get(id(array))
            links.append(Link(entry, array, index, via))
            if entry is None:
                break
            step = worse_operand(entry, array, index)
            if step is None or step[0] is array:
                break
            array, index, position = step
            via = (entry, position)
        return links[::-1]


def is_float(array: Any) -> bool:
    """Return whether a value is an array, or NumPy scalar, of floats or complex numbers."""
    dtype = getattr(array, "dtype", None)
    return isinstance(dtype, np.dtype) and (dtype.kind in "fc" or dtype.name == "bfloat16")


def has_bad(array: float | np.generic | np.ndarray | None) -> bool:
    """Return whether an element is NaN or infinite."""
    if type(array) is float:
        return not np.isfinite(array)
    return is_float(array) and not quiet(np.isfinite, array).all()


def bad_index(array: np.generic | np.ndarray | None) -> tuple:
    """Return the place of the first element that is NaN or infinite."""
    array = np.asarray(array)
    found = np.flatnonzero(~quiet(np.isfinite, array))
    return tuple(int(i) for i in np.unravel_index(found[0], array.shape))


def element_of(array: float | np.generic | np.ndarray, index: tuple) -> tuple | None:
    """Locate the element of a result in an operand that is broadcast; None in others."""
    shape = np.shape(array)
    if len(shape) > len(index):
        return None
    own = index[len(index) - len(shape) :]
    found = tuple(0 if size == 1 else i for i, size in zip(own, shape))
    return found if all(i < size for i, size in zip(found, shape)) else None


def arrays_in(value: object) -> list:
    """Return an operand's array, or the arrays in a list or a history."""
    value = value.value if type(value) is Variant else value
    if type(value) is List:
        return [part for element in value.values() for part in arrays_in(element)]
    if type(value) is History:
        return [part for inner in value.values.values() for part in arrays_in(inner)]
    return [value]


def worse_operand(
    entry: LedgerEntry, array: np.generic | np.ndarray | None, index: tuple
) -> tuple | None:
    """Return (operand, element,
    position) from which a bad element came; None if it was made here.
    """
    value = np.asarray(array)[index]
    candidates: list = []
    pairs = [
        (position, part)
        for position, operand in enumerate(entry.operands)
        for part in arrays_in(operand)
    ]
    for position, operand in pairs:
        if not has_bad(operand):
            continue
        element = element_of(operand, index) if entry.by_element else None
        if entry.by_element:
            if element is None or np.isfinite(np.asarray(operand)[element]):
                continue
        else:
            element = bad_index(operand)
        same = bool(np.isnan(np.asarray(operand)[element]) == np.isnan(value))
        candidates.append((not same, position, operand, element))
    if not candidates:
        return None
    _, position, operand, element = min(candidates, key=lambda row: row[:2])
    return operand, element, position


# -- writing it down


class _StepRecorder:
    """Watches one run of a program."""

    def __init__(self, ledger: Ledger):
        self.ledger = ledger
        self.step: Any = None

    def begin(self, step: Step, values: list) -> None:
        """Note that a step begins."""
        self.end()
        self.step, self.values = step, values
        self.operands = tuple([values[slot] if slot >= 0 else None for slot in step.inputs])

    def end(self) -> None:
        """Note that the step under way is over."""
        step = self.step
        if step is not None:
            self.step = None
            result = self.values[step.out]
            if is_float(result) and any([result is x for x in self.operands]):
                result = self.values[step.out] = another(result)
            results = result if type(result) is tuple else (result,)
            entry = LedgerEntry(step.prim, self.operands, results, step.params, step.node.origin)
            entry.node = step.node
            self.ledger.note(entry)


def another(array: np.generic | np.ndarray | None) -> Any:
    """Copy numbers into another object, so that it is told apart from the object they came from."""
    return array.view() if type(array) is np.ndarray else np.array(array)[()]


def content(tensor: Any) -> Any:
    """Return the array of an eager tensor; numbers and all else as they are."""
    return getattr(tensor, "_array", tensor)


def entry_of(
    prim: object, operands: tuple, results: object, params: dict, origin: tuple | None
) -> LedgerEntry:
    """Return the entry of an application to eager tensors."""
    parts = results if type(results) is tuple else (results,)
    arrays = tuple([content(x) for x in operands])
    entry = LedgerEntry(prim, arrays, tuple([content(x) for x in parts]), params, origin)
    entry.several = type(results) is tuple
    return entry


def tell_rule(entry: LedgerEntry) -> LedgerEntry:
    """Note which derivative rule is being applied, if one is."""
    record = dispatch.context.deriving
    if record is not None:
        prim, operands, _, _, origin = record
        entry.rule_of, entry.forward = prim, origin or entry.origin
        entry.forward_operands = tuple([content(x) for x in operands])
    return entry


class _EagerRecorder(Observer):
    """Writes down what runs at once."""

    def __init__(self, ledger: Ledger):
        self.ledger = ledger
        self.asked: Any = None  # where the gradient was asked for that is being computed

    def applied(
        self, prim: Primitive | CustomRule, operands: tuple, results: Any, params: dict
    ) -> None:
        """Note that a primitive ran on eager tensors."""
        if threading.get_ident() != self.ledger.thread:
            return
        made = getattr(results, "_array", None)
        if is_float(made) and any([made is getattr(x, "_array", None) for x in operands]):
            results._array = another(made)
        if type(prim) is CustomRule:  # what it was computed by inside gets nothing of the gradient
            for part in results:
                if is_float(content(part)):
                    part._array = self.ledger.apart(part._array)
        deriving = dispatch.context.deriving
        if deriving is None or not hasattr(deriving[0], "infer"):  # the user's own code
            origin, self.asked = user_origin(2), None
        else:
            origin = self.asked = self.asked or user_origin(2)
        self.ledger.note(tell_rule(entry_of(prim, operands, results, params, origin)))

    def variable_read(self, variable: Any) -> None:
        """Note that a variable was read."""
        array = content(variable.handle_read())
        self.ledger.names[id(array)] = str(variable.name).split(":")[0]
        self.ledger.kept.append(array)

    def variable_written(self, variable: object, adding: bool) -> None:
        """Note that a variable got another value."""
        self.ledger.written[id(variable)] = variable


class _ScopeRecorder(Observer):
    """Notes in which name scope (Keras enters one for each layer) eager operations run."""

    def __init__(self) -> None:
        self.scopes: dict[int, tuple[Any, str]] = {}  # of an array, which is kept: its scope

    def applied(self, prim: Primitive, operands: tuple, results: Any, params: dict) -> None:
        """Note that a primitive ran on eager tensors."""
        inside = scope.current.prefix.rstrip("/")
        array = getattr(results[0] if type(results) is tuple else results, "_array", None)
        if inside and array is not None:
            self.scopes[id(array)] = array, inside


class _Noted(threading.local):
    """The notes that `noting_scopes` took in this thread."""

    scopes: dict[int, tuple[Any, str]] | None = None


noted = _Noted()


@contextmanager
def noting_scopes() -> Iterator[Observer]:
    """Let answers in the block know the scopes of operations that ran under its observer."""
    recorder = _ScopeRecorder()
    before, noted.scopes = noted.scopes, recorder.scopes
    try:
        yield recorder
    finally:
        noted.scopes = before


@contextmanager
def pause_watching() -> Iterator[None]:
    """Let nobody watch what runs inside the block."""
    before = onlooker.watch, demands.finite
    onlooker.watch, demands.finite = None, False
    try:
        with dispatch.observe(None):
            yield
    finally:
        onlooker.watch, demands.finite = before


@contextmanager
def keeping(ledger: Ledger | None = None) -> Iterator[Ledger]:
    """Write down what this thread runs inside the block, in a new ledger or a given one."""
    ledger = Ledger() if ledger is None else ledger
    before = onlooker.watch, onlooker.step_by_step
    onlooker.watch, onlooker.step_by_step = ledger.watch, True
    try:
        with dispatch.observe(_EagerRecorder(ledger)):
            yield ledger
    finally:
        onlooker.watch, onlooker.step_by_step = before
