"""Options of all traced functions."""

from __future__ import annotations

from talweg.core import dispatch


class FunctionOptions:
    """The options of all traced functions."""

    run_eagerly = False
    replicated = 0  # how many blocks are entered that belong to one of several replicas
    devices = False  # whether there are tensors of which a device has the elements
    detours = False  # whether one of these holds

    def change(
        self, run_eagerly: bool | None = None, replicated: int = 0, devices: bool = False
    ) -> None:
        """Set `run_eagerly`; enter or leave blocks of replicas; say that devices keep values."""
        if run_eagerly is not None:
            self.run_eagerly = run_eagerly
        self.devices = self.devices or devices
        with dispatch.state.lock:
            self.replicated += replicated
        self.detours = self.run_eagerly or self.devices or self.replicated > 0


options = FunctionOptions()
