"""The doctor reads tapes, graphs and traces and says what is wrong and where; it changes nothing.

What it offers under its own name is looked up when it is first used:

- `examine(program, *arguments)`, or `with examine() as seen: ...` and then `seen.report`: runs a
  program with observation on, and gives the `Report` of what was wasted;
- `Explanation`, `Explanations`: what `tape.explain` and `talweg.explain_gradients` give;
- `Finding`, `Place`, `Report`: what the doctor has to say, as values;
- `NumericsExplanation`, `GradientCheck`, `WatchReport`: what `tf.explain_numerics`,
  `tf.check_gradients` and `tf.watch_gradients(...).report()` answer;
- `watch_fit()`: a callback for Keras' `fit` that stops a training and says why;
- `page(code)`, `codes_with_pages()`: the page of a code as Markdown.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talweg.doctor.absent.explanation import Explanation as Explanation
    from talweg.doctor.absent.explanation import Explanations as Explanations
    from talweg.doctor.findings import Finding as Finding
    from talweg.doctor.findings import Place as Place
    from talweg.doctor.findings import Report as Report
    from talweg.doctor.fit import watch_fit as watch_fit
    from talweg.doctor.gradient_check.check import GradientCheck as GradientCheck
    from talweg.doctor.nonfinite.report import NumericsExplanation as NumericsExplanation
    from talweg.doctor.pages import codes_with_pages as codes_with_pages
    from talweg.doctor.pages import page as page
    from talweg.doctor.waste.examine import examine as examine
    from talweg.doctor.watch import WatchReport as WatchReport

_HOMES = {
    "examine": "waste.examine",
    "Explanation": "absent.explanation",
    "Explanations": "absent.explanation",
    "Finding": "findings",
    "Place": "findings",
    "Report": "findings",
    "NumericsExplanation": "nonfinite.report",
    "GradientCheck": "gradient_check.check",
    "WatchReport": "watch",
    "watch_fit": "fit",
    "page": "pages",
    "codes_with_pages": "pages",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"talweg.doctor has no {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
