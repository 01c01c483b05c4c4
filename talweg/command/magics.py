"""talweg in notebooks: `%load_ext talweg`, then

%talweg_tensorflow [--v1]     from here on `import tensorflow` gives talweg
%%talweg_doctor               run the cell and show what it wastes
%%talweg_profile              run the cell and show where its time goes
%talweg_graph step            the picture of a tf.function's traces, a tf.Graph, or (without a
                              name) the default graph
%%talweg_graph                run the cell and show the graphs it makes
%talweg_explain TW604         the page of a code
%talweg_ops conv              what of TensorFlow is there
%talweg_settings              the settings, and which of them are changed
"""

from __future__ import annotations

import html
import io
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from typing import Any

from talweg.api.export import look_up
from talweg.api.views import html_view, table
from talweg.command import line
from talweg.command.drawing import model, page
from talweg.command.graphs import Keeper
from talweg.command.profile import recording
from talweg.command.stand_in import stand_in_for_good
from talweg.core.dispatch import observe
from talweg.doctor import examine, pages
from talweg.doctor.picture import preformat

HEIGHT = 560  # of a picture in a notebook, in pixels


class Page:
    """HTML or Markdown that a notebook shows, and text that a terminal shows."""

    def __init__(self, content: str, text: str, markdown: str = ""):
        self.content, self.text, self.markdown = content, text, markdown

    def _repr_html_(self) -> str | None:
        return self.content or None

    def _repr_markdown_(self) -> str | None:
        return self.markdown or None

    def __repr__(self) -> str:
        return self.text


def frame_picture(pictures: list[Any]) -> Page:
    """Return pictures in a frame of their own, so that their script meets no other."""
    if not pictures:
        return Page("there is no graph to draw", "there is no graph to draw")
    content = html.escape(page.draw(pictures), quote=True)
    frame = (
        f'<iframe srcdoc="{content}" width="100%" height="{HEIGHT}" '
        'style="border: 1px solid #d5dbe2"></iframe>'
    )
    names = ", ".join(picture.title for picture in pictures)
    return Page(frame, f"<pictures of {names}; a notebook shows them>")


def pictures_of(value: Any) -> list[Any]:
    """Return the pictures of a tf.function, a trace, or a graph; TypeError for other things."""
    traces = getattr(value, "_traces", None)
    if traces is not None:
        if not traces:
            raise TypeError(f"{value!r} has not been called yet: there is nothing to draw")
        return [model.of_function(concrete) for concrete in traces.values()]
    if hasattr(value, "body") and hasattr(value, "captured_inputs"):
        return [model.of_function(value)]
    if hasattr(value, "table") and hasattr(value, "get_operations"):
        return [model.of_graph(value)]
    raise TypeError(f"{value!r} is no tf.function and no graph")


def run_cell(shell: Any, cell: str) -> None:
    """Run what stands below a magic, in the cell of the notebook that has it."""
    counted, history = shell.execution_count, shell.history_manager
    if history is not None:  # places are named by the number and lines that the cell shows
        shell.execution_count = max(len(history.input_hist_parsed) - 1, 1)
    try:
        result = shell.run_cell(cell if cell.startswith("%%") else f"#\n{cell}")
    finally:
        shell.execution_count = counted
    result.raise_error()


def register(shell: Any) -> None:
    """Give an IPython shell the magics."""

    def doctor(text: str, cell: str) -> Any:
        seen = examine(subject="cell")
        with seen:
            run_cell(shell, cell)
        return Page(seen.report._repr_html_(), str(seen.report))

    def profile(text: str, cell: str) -> Any:
        with recording() as events:
            run_cell(shell, cell)
        told = events.text(int(text or 12))
        return Page(preformat(html.escape(told)), told)

    def graph(text: str, cell: str | None = None) -> Any:
        if cell is not None:
            keeper = Keeper()
            with observe(keeper):
                run_cell(shell, cell)
            return frame_picture(keeper.pictures())
        name = text.strip()
        value = shell.ev(name) if name else look_up("compat.v1.get_default_graph")()
        try:
            return frame_picture(pictures_of(value))
        except TypeError as error:
            raise import_module("IPython.core.error").UsageError(str(error)) from None

    def tensorflow(text: str) -> None:
        shell.push({"tf": stand_in_for_good("--v1" in text.split())})

    def explain(text: str) -> Any:
        code = text.strip()
        if not code:
            rows = [(each, pages.title(each)) for each in pages.codes_with_pages()]
            return Page(
                table(("code", "what it means"), rows, 200), "\n".join(map("  ".join, rows))
            )
        try:
            return Page("", pages.render_page(code, color=True), pages.page(code))
        except KeyError as error:
            raise import_module("IPython.core.error").UsageError(error.args[0]) from None

    def command(name: str, text: str) -> Any:
        told = io.StringIO()
        with redirect_stdout(told):
            line.main([name, *text.split()])
        return Page(preformat(html.escape(told.getvalue())), told.getvalue())

    display = getattr(shell, "display_formatter", None)
    if display is not None:
        formatter = display.formatters["text/html"]
        formatter.for_type_by_name("keras.src.models.model", "Model", html_view)

    for name, function, kind in (
        ("talweg_doctor", doctor, "cell"),
        ("talweg_profile", profile, "cell"),
        ("talweg_graph", graph, "line_cell"),
        ("talweg_tensorflow", tensorflow, "line"),
        ("talweg_explain", explain, "line"),
        ("talweg_ops", partial(command, "ops"), "line"),
        ("talweg_settings", partial(command, "settings"), "line"),
    ):
        shell.register_magic_function(function, kind, name)
