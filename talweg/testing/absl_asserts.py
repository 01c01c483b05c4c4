"""Assertions on Python values that `tf.test.TestCase` has from absl, for tests that use them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from talweg.graph import structure

if TYPE_CHECKING:
    from talweg.core.annotations import TensorLike


def _same(x: Any, y: Any) -> bool:
    """Return whether two values are equal; an array and a number, whether all its elements are."""
    return bool(np.all(x == y))


class AbslAsserts:
    """Mixed into a `unittest.TestCase`."""

    def assertEmpty(self, container: str, msg: str | None = None) -> None:
        """Assert that it has no elements."""
        if len(container):
            self.fail(self._formatMessage(msg, f"{container!r} is not empty"))

    def assertNotEmpty(self, container: str, msg: str | None = None) -> None:
        """Assert that it has elements."""
        if not len(container):
            self.fail(self._formatMessage(msg, f"{container!r} is empty"))

    def assertLen(self, container: str, expected_len: int, msg: object = None) -> None:
        """Assert that it has this many elements."""
        if len(container) != expected_len:
            text = f"{container!r} has {len(container)} elements, not {expected_len}"
            self.fail(self._formatMessage(msg, text))

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: str | None = None) -> None:
        """Assert minv <= value <= maxv."""
        if not minv <= value <= maxv:
            self.fail(self._formatMessage(msg, f"{value!r} is not between {minv!r} and {maxv!r}"))

    def assertStartsWith(self, actual: object, expected_start: Any, msg: str | None = None) -> None:
        """Assert that the text starts like this."""
        if not actual.startswith(expected_start):
            self.fail(
                self._formatMessage(msg, f"{actual!r} does not start with {expected_start!r}")
            )

    def assertNotStartsWith(
        self, actual: object, unexpected_start: Any, msg: str | None = None
    ) -> None:
        """Assert that the text does not start like this."""
        if actual.startswith(unexpected_start):
            self.fail(self._formatMessage(msg, f"{actual!r} starts with {unexpected_start!r}"))

    def assertEndsWith(self, actual: object, expected_end: Any, msg: str | None = None) -> None:
        """Assert that the text ends like this."""
        if not actual.endswith(expected_end):
            self.fail(self._formatMessage(msg, f"{actual!r} does not end with {expected_end!r}"))

    def assertNotEndsWith(
        self, actual: object, unexpected_end: Any, msg: str | None = None
    ) -> None:
        """Assert that the text does not end like this."""
        if actual.endswith(unexpected_end):
            self.fail(self._formatMessage(msg, f"{actual!r} ends with {unexpected_end!r}"))

    def assertItemsEqual(
        self, first: Iterable[Any], second: Iterable[Any], msg: str | None = None
    ) -> None:
        """Assert that both have the same elements, each as often, in any order."""
        self.assertCountEqual(first, second, msg)

    def assertSameElements(
        self, expected_seq: Any, actual_seq: Any, msg: str | None = None
    ) -> None:
        """Assert that both have the same elements, in any order and any number."""
        first, second = list(expected_seq), list(actual_seq)
        try:
            self.assertEqual(set(first), set(second), msg)
        except TypeError:  # arrays, which have no hash
            lacking = [x for x in first if not any(_same(x, y) for y in second)]
            surplus = [y for y in second if not any(_same(x, y) for x in first)]
            self.assertEqual((lacking, surplus), ([], []), msg)

    def assertContainsSubset(
        self, expected_subset: Any, actual_set: Any, msg: str | None = None
    ) -> None:
        """Assert that all elements of the one are in the other."""
        missing = set(expected_subset) - set(actual_set)
        if missing:
            self.fail(self._formatMessage(msg, f"{missing!r} are missing in {actual_set!r}"))

    def assertNoCommonElements(
        self, expected_seq: Any, actual_seq: Any, msg: str | None = None
    ) -> None:
        """Assert that no element is in both."""
        common = set(expected_seq) & set(actual_seq)
        if common:
            self.fail(self._formatMessage(msg, f"both have {common!r}"))

    def assertContainsInOrder(self, strings: Any, target: str, msg: object = None) -> None:
        """Assert that the strings occur in the text, one after the other."""
        position = 0
        for part in [strings] if isinstance(strings, str) else strings:
            position = target.find(part, position)
            if position < 0:
                self.fail(self._formatMessage(msg, f"{part!r} is missing, or out of order"))
            position += len(part)

    def assertRegexMatch(self, actual_str: Any, regexes: Any, message: str | None = None) -> None:
        """Assert that at least one of the regular expressions is found in the text."""
        if isinstance(regexes, (str, bytes)):
            self.fail("regexes must be a list of regular expressions")
        patterns: list[Any] = list(regexes)
        if not any(re.search(pattern, actual_str) for pattern in patterns):
            self.fail(self._formatMessage(message, f"{actual_str!r} matches none of {regexes!r}"))

    def assertSequenceAlmostEqual(
        self,
        expected_seq: Any,
        actual_seq: Any,
        places: int | None = None,
        msg: str | None = None,
        delta: TensorLike | None = None,
    ) -> None:
        """Assert lists of equal length whose elements are almost equal in pairs."""
        self.assertLen(actual_seq, len(expected_seq), msg)
        for one, other in zip(expected_seq, actual_seq):
            self.assertAlmostEqual(one, other, places=places, msg=msg, delta=delta)

    def assertDictAlmostEqual(
        self, a: Any, b: Any, places: Any = None, msg: str | None = None, delta: Any = None
    ) -> None:
        """Assert dicts of equal keys whose values are almost equal."""
        self.assertEqual(set(a), set(b), msg)
        for key in a:
            self.assertAlmostEqual(a[key], b[key], places=places, msg=msg, delta=delta)

    def assertSameStructure(
        self,
        a: TensorLike,
        b: TensorLike,
        aname: str = "a",
        bname: str = "b",
        msg: str | None = None,
    ) -> None:
        """Assert nests of one structure whose leaves are equal."""
        try:
            structure.assert_same(a, b)
        except (TypeError, ValueError) as error:
            self.fail(self._formatMessage(msg, f"{aname} and {bname}: {error}"))
        self.assertEqual(structure.flatten(a), structure.flatten(b), msg)

    def assertIsSubclass(self, cls: type, superclass: Any, msg: str | None = None) -> None:
        """Assert that the one class derives from the other."""
        if not issubclass(cls, superclass):
            self.fail(self._formatMessage(msg, f"{cls!r} does not derive from {superclass!r}"))

    @contextlib.contextmanager
    def _raises_literally(self, expected: object, text: str) -> Iterator[None]:
        with self.assertRaises(expected) as caught:
            yield
        self.assertEqual(str(caught.exception), text)

    def assertRaisesWithLiteralMatch(
        self,
        expected_exception: Any,
        expected_exception_message: str,
        callable_obj: Any = None,
        *args: object,
        **kwargs: object,
    ) -> Any:
        """Assert that the call, or the block, raises this exception with exactly this text."""
        context = self._raises_literally(expected_exception, expected_exception_message)
        if callable_obj is None:
            return context
        with context:
            callable_obj(*args, **kwargs)
        return None

    def enter_context(self, manager: Any) -> Any:
        """Enter a context that is left after the test."""
        return self.enterContext(manager)
