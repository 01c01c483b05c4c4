"""A callback of Keras that watches the gradients of `fit` and stops with the reason.

Gradients are seen by a `GradientWatch` inside the training step, the batch and the weights it began
with are kept, and when something is wrong the step is run again with the doctor looking on.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.core.errors import value_error
from talweg.doctor.watch import CODES, GradientWatch, WatchReport
from talweg.eager.variable import variable_of
from talweg.graph import structure
from talweg.trace.host import later

if TYPE_CHECKING:
    from talweg.core.value import Tensor

STOPS = ("not finite", "exploding", "no gradient", "dead")


class FitWatch:
    """The observations of a training under watch; `watch_fit` makes a callback of it.

    report: the verdict on each variable, a `WatchReport`.   reason: why it was stopped, as the
    doctor's explanation; None while nothing is wrong.
    """

    model: Any  # set by Keras

    def __init__(self, every: int = 10, stop_on: Iterable[str] = STOPS, restore: bool = True):
        super().__init__()
        self.every, self.restore = max(1, int(every)), restore
        self.stop_on = frozenset(stop_on)
        unknown = sorted(self.stop_on - set(CODES))
        if unknown:
            raise value_error(
                "TW207", f"watch_fit: stop_on has {unknown[0]!r}", f"some of {', '.join(CODES)}"
            )
        self.reason: Any = None
        self._watch: GradientWatch | None = None
        self._batch: Any = None
        self._before: list = []
        self._seen = 0

    @property
    def report(self) -> WatchReport:
        """The verdict up to now."""
        if self._watch is None:
            return WatchReport("no steps", (), 0)
        return self._watch.report()

    # -- what Keras calls

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Make the training step report its arguments and gradients."""
        model = self.model
        self._step = model.train_step

        def train_step(data: tuple[Tensor, ...]) -> Any:
            self._begin(data)
            self._note(data)
            return self._step(data)

        model.train_step = train_step
        model.make_train_function(force=True)
        if model.trainable_variables:
            self._begin(None)

    def _begin(self, data: tuple[Tensor, ...] | None) -> None:
        """Watch from here on; a model without variables is called for them first."""
        if self._watch is None:
            if not self.model.trainable_variables:
                unpack = import_module("keras").utils.unpack_x_y_sample_weight
                self.model(unpack(data)[0], training=False)
            self._watch = GradientWatch(self.model.trainable_variables)
            self._watch.__enter__()

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """Look at the gradients of the step: at once for NaN, now and then for the rest."""
        self._seen += 1
        watch = self._watch
        if watch is None or self.reason is not None:
            return
        bad = any(one.first_bad is not None for one in watch.series)
        if bad and "not finite" in self.stop_on:
            self._stop(watch.report())
        elif self._seen % self.every == 0:
            report = watch.report()
            hopeless = {"dead", "no gradient"}
            rows = [row.verdict for row in report.rows]
            for verdict in self.stop_on - {"not finite"}:
                enough = all if verdict in hopeless else any
                if rows and enough(row == verdict for row in rows):
                    self._stop(report)
                    return

    def on_train_end(self, logs: dict | None = None) -> None:
        """Leave the model as it was found."""
        if self._watch is not None:
            self._watch.__exit__(None, None, None)
        if "train_step" in self.model.__dict__:
            del self.model.__dict__["train_step"]
        self.model.train_function = None

    # -- the reason

    def _note(self, data: tuple[Tensor, ...]) -> None:
        """Keep the batch, and the weights that meet it, whenever the step runs."""
        leaves = [leaf for leaf in structure.flatten(data) if leaf is not None]
        weights = [variable_of(v) for v in self.model.weights]
        later(self._keep, ([*leaves], [*weights]), {}, "KeepBatch")
        self._layout = data

    def _keep(self, leaves: list, weights: list) -> None:
        if self.reason is None and not self._is_bad():
            self._batch = leaves
            self._before = [getattr(w, "_array", w) for w in weights]

    def _is_bad(self) -> bool:
        watch = self._watch
        return watch is not None and any(one.first_bad is not None for one in watch.series)

    def _stop(self, found: WatchReport) -> None:
        """Stop the training and say why."""
        self.model.stop_training = True
        self.reason = found
        after = [np.array(v) for v in self.model.weights] if not self.restore else []
        if self._batch is not None:
            self.model.set_weights(self._before)
            self.reason = self._explain() or found
            if after:
                self.model.set_weights(after)
        kept = ", with the weights it had before this step" if self.restore else ""
        print(f"\ntraining stopped at step {self._seen}{kept}: {found.verdict}\n{self.reason}")

    def _explain(self) -> Any:
        """Return the doctor's explanation of the step that went wrong."""
        explain = import_module("talweg").explain_gradients
        leaves = iter(self._batch)
        data = structure.pack(
            self._layout,
            [None if leaf is None else next(leaves) for leaf in structure.flatten(self._layout)],
        )
        unpack = import_module("keras").utils.unpack_x_y_sample_weight
        x, y, sample_weight = unpack(data)
        model = self.model

        def loss() -> Any:
            return model.compute_loss(
                x=x, y=y, y_pred=model(x, training=True), sample_weight=sample_weight
            )

        return explain(loss, model.trainable_variables)


def watch_fit(every: int = 10, stop_on: Iterable[str] = STOPS, restore: bool = True) -> Any:
    """Return a callback for Keras' `fit` that stops a training that cannot go well, and says why.

    A gradient that is NaN or infinite stops it at once, exploding ones when they are looked at,
    each `every` steps; gradients that are dead or absent if those of all variables are.  `stop_on`
    chooses among these verdicts (and "vanishing", "large steps").  The doctor's explanation is
    printed, and is the callback's `reason`; `report` has a line for each variable.  The model gets
    the weights back that it had before the bad step, unless `restore` is false.

    >>> import talweg as tf
    >>> callback = tf.doctor.watch_fit(every=5)     # model.fit(x, y, callbacks=[callback])
    >>> callback.report.verdict
    'no steps'
    """
    callbacks = import_module("talweg").keras.callbacks
    kind = type("FitWatchCallback", (FitWatch, callbacks.Callback), {"__doc__": FitWatch.__doc__})
    return kind(every, stop_on, restore)
