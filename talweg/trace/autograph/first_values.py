"""Names first assigned in a loop: a truth value is carried beside each, whether it is defined.

Python raises UnboundLocalError where such a name is read before the loop gave it a value.  A traced
loop carries something in its place, and raises where that is used.
"""

from __future__ import annotations

from typing import Any

from talweg.eager.convert import convert_to_tensor
from talweg.graph.symbol import Symbol
from talweg.prims.control import require
from talweg.trace.autograph.loop_variable_specs import LeafForm, NestForm


def must_have_run(name: str, value: object, ran: object) -> Any:
    """Check `value`, first assigned by a loop; InvalidArgumentError where used if it never ran.

    Python raises UnboundLocalError there.
    """
    return require(convert_to_tensor(value), ran, message=_after(name))


def must_be_given(name: str, value: Symbol, given: Symbol) -> Any:
    """Check a name's `value` in a loop; InvalidArgumentError where used before assignment.

    Branches and loops inside that do not run do not use it.
    """
    return require(convert_to_tensor(value), given, message=_within(name), where_used=True)


def value_and_given(name: str, value: object) -> tuple | None:
    """Return the value of a name and whether it is defined, for checked values; else None."""
    if type(value) is not Symbol or value.node.prim is not require:
        return None
    if value.node.params["message"] not in (_after(name), _within(name)):
        return None
    found, given = [value.graph.symbol(part) for part in value.node.operands]
    return found, given


def name_of_given(name: str) -> str:
    """Return the name of the loop variable that says whether a name is defined."""
    return f"whether '{name}' has a value"


def after_loop(form: PerhapsForm) -> Any:
    """Return the form, after the loop, of a name first assigned in it."""
    if type(form) is NestForm:
        return NestForm(form.like, [after_loop(part) for part in form.parts])
    return AfterForm(form.name, form.place, form.given) if type(form) is PerhapsForm else form


class PerhapsForm(LeafForm):
    """The form of a perhaps undefined tensor: number `given` of the carried ones says whether."""

    def __init__(self, name: str, place: int, given: int):
        super().__init__(place)
        self.name, self.given = name, given
        self.places = [place, given]

    def build(self, tensors: list) -> Any:
        """Return the value, which raises where it is used while undefined."""
        return must_be_given(self.name, tensors[self.place], tensors[self.given])

    def flatten(self, name: str, value: Symbol) -> list:
        """Return the value, and whether it is defined; TypeError or ValueError for another form."""
        (value,) = super().flatten(name, value)
        return list(value_and_given(self.name, value) or (value, True))


class AfterForm(PerhapsForm):
    """The form of a perhaps undefined tensor after the loop."""

    def build(self, tensors: list) -> Any:
        """Return the value, which raises where it is used if the loop never ran."""
        return must_have_run(self.name, tensors[self.place], tensors[self.given])


def _after(name: str) -> str:
    return f"loop must iterate at least once to initialize {name}"


def _within(name: str) -> str:
    return f"'{name}' is used before the loop has given it a value"
