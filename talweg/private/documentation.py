"""`tensorflow.tools.docs.doc_controls`: marks for generators of documentation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def _mark(attribute: str) -> Callable[[Any], Any]:
    def mark(obj: object) -> Any:
        target = obj.fget if isinstance(obj, property) else getattr(obj, "__func__", obj)
        setattr(target, attribute, None)
        return obj

    return mark


do_not_generate_docs = _mark("_tf_docs_do_not_document")
do_not_doc_inheritable = _mark("_tf_docs_do_not_doc_inheritable")
for_subclass_implementers = _mark("_tf_docs_tools_for_subclass_implementers")
do_not_doc_in_subclasses = for_subclass_implementers
doc_private = _mark("_tf_docs_doc_private")
doc_in_current_and_subclasses = _mark("_tf_docs_doc_in_current_and_subclasses")
set_deprecated = _mark("_tf_docs_deprecated")


def header(text: str) -> Callable[[T], T]:
    """Return a decorator with a text that stands above the documentation."""

    def decorate(obj: T) -> T:
        obj._tf_docs_header = text  # type: ignore[attr-defined]
        return obj

    return decorate


def inheritable_header(text: str) -> Callable[[T], T]:
    """Return a decorator with a text that stands above the documentation, of subclasses too."""

    def decorate(obj: T) -> T:
        obj._tf_docs_inheritable_header = text  # type: ignore[attr-defined]
        return obj

    return decorate


def get_header(obj: object) -> str | None:
    """Return the text of `header`."""
    return getattr(obj, "_tf_docs_header", None)


def get_inheritable_header(obj: object) -> str | None:
    """Return the text of `inheritable_header`."""
    return getattr(obj, "_tf_docs_inheritable_header", None)
