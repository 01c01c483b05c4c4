"""Modules of libraries that talweg adapts when they are loaded, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from talweg.api.export import implement_hook
from talweg.core.hooks import hooks
from talweg.strategies.keras_backend import adapt_backend, adapt_trainer


class AdaptingLoader:
    """The loader of a library's module, which is adapted when it is loaded."""

    def __init__(self, loader: Any, adapt: Callable[[Any], None]):
        self._loader, self._adapt = loader, adapt

    def create_module(self, spec: ModuleSpec) -> Any:
        """Make the module by its own loader."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Load it, with its own loader in place again, and adapt it."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._adapt(module)


@implement_hook("adapt_library_spec")
def adapt_library_spec(fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Find the spec by which a module of a library that is adapted is loaded."""
    spec = PathFinder.find_spec(fullname, path)
    if spec is not None:
        loader: Any = AdaptingLoader(spec.loader, ADAPTED[fullname])
        spec.loader = loader
    return spec


def _adapt_tf2onnx(module: ModuleType) -> None:
    hooks.show_definitions(module)  # it needs GraphDef's messages, which Keras does without


ADAPTED: dict[str, Callable[[Any], None]] = {
    "keras.src.backend.tensorflow": adapt_backend,
    "keras.src.backend.tensorflow.trainer": adapt_trainer,
    "tf2onnx.convert": _adapt_tf2onnx,
    "tf2onnx.tf_loader": _adapt_tf2onnx,
}
