"""A profile as TensorBoard's profile page reads it: an XSpace message, written by hand.

One plane, a line for each compiled program, and on it the kernels of one run, one after the other,
each as long as it took on average.
"""

from __future__ import annotations

from typing import Any

from talweg.formats.wire import field


def space(programs: list[tuple[str, list[Any]]], began: int) -> bytes:
    """Return the message for programs,
    each a name and its kernels' times; `began` in nanoseconds.
    """
    names: dict[str, int] = {}
    lines = b""
    for number, (name, times) in enumerate(programs, 1):
        lines += field(3, _line(number, name, times, began, names))
    metadata = b"".join(
        field(4, field(1, own) + field(2, field(1, own) + field(2, name.encode())))
        for name, own in names.items()
    )
    return field(1, field(1, 1) + field(2, b"/host:CPU") + lines + metadata)


def _line(number: int, name: str, times: list[Any], began: int, names: dict[str, int]) -> bytes:
    events, place = b"", 0
    for each in times:
        label = f"{each.name}: {each.operations[:60]}  {each.line}".strip()
        own = names.setdefault(label, len(names) + 1)
        length = int(each.seconds * 1e12)
        events += field(4, field(1, own) + field(2, place) + field(3, length))
        place += length
    head = field(1, number) + field(2, name.encode()) + field(3, began)
    return head + events + field(9, place)
