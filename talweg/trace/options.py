"""Options that hold for all traced functions."""

from __future__ import annotations

from talweg.core import dispatch


class FunctionOptions:
    """What holds for all functions."""

    run_eagerly = False
    replicated = 0  # how many blocks are entered that belong to one of several replicas
    detours = False  # whether one of these holds

    def change(self, run_eagerly: bool | None = None, replicated: int = 0) -> None:
        """Set `run_eagerly`; enter or leave blocks of replicas."""
        if run_eagerly is not None:
            self.run_eagerly = run_eagerly
        with dispatch.state.lock:
            self.replicated += replicated
        self.detours = self.run_eagerly or self.replicated > 0


options = FunctionOptions()
