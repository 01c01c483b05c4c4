"""Characters of encoded strings and back (The Unicode Standard, chapters 3.9 and 5.22).

What is no character is one error for each longest piece that could have begun one, as the standard
recommends and as both Python's decoders and ICU count.
"""

from __future__ import annotations

import codecs
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from talweg.core.errors import invalid
from talweg.kernels.strings.arrays import items, of_list

REPLACEMENT = 0xFFFD
LARGEST = 0x10FFFF
CONTROLS = 0x20  # characters below
ENCODINGS = ("UTF-8", "UTF-16-BE", "UTF-32-BE")  # that characters are written in
_NO_CONVERTERS = ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined")
_MARKS = {"utf-16": (b"\xfe\xff", b"\xff\xfe"), "utf-32": (b"\0\0\xfe\xff", b"\xff\xfe\0\0")}
_spans: list = []  # the errors that the decoder at work has met


def _note(error: Any) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    _spans.append((error.start, error.end))
    return "", error.end


codecs.register_error("talweg.note", _note)


class Policy(NamedTuple):
    """The handling of errors: "strict", "replace" (by `replacement`) or "ignore"."""

    errors: str = "replace"
    replacement: int = REPLACEMENT
    controls: bool = False  # whether control characters are errors, too


@cache
def codec(encoding: str) -> str:
    """Return Python's name of an encoding; InvalidArgumentError for one that is not known."""
    try:
        found = codecs.lookup(encoding)
    except (LookupError, ValueError):
        found = None
    if found is None or not found._is_text_encoding or found.name in _NO_CONVERTERS:
        raise invalid("TW207", f"Could not create converter for input encoding: {encoding}")
    return found.name


def check_policy(function: str, policy: Policy) -> None:
    """Raise InvalidArgumentError for a policy that there is not."""
    if policy.errors not in ("strict", "replace", "ignore"):
        raise invalid(
            "TW207", f"{function}: errors {policy.errors!r}", "'strict', 'replace' or 'ignore'"
        )
    if not 0 <= policy.replacement <= LARGEST:
        raise invalid("TW206", "replacement_char out of unicode codepoint range")


def check_encoding(function: str, encoding: str) -> None:
    """Raise InvalidArgumentError for an encoding that characters are not written in."""
    if encoding not in ENCODINGS:
        raise invalid(
            "TW207", f"{function}: output_encoding {encoding!r}", " or ".join(map(repr, ENCODINGS))
        )


def _pieces(text: bytes, name: str) -> tuple[list[tuple[int, str]], list[tuple[int, int]]]:
    """Return the readable pieces, each with its place,
    and the spans between that are not readable.
    """
    try:
        return [(0, text.decode(name))], []
    except UnicodeDecodeError:
        _spans.clear()
        text.decode(name, "talweg.note")
    spans, found, place = list(_spans), [], 0
    for start, end in [*spans, (len(text), len(text))]:
        if start > place:
            found.append((place, text[place:start].decode(name)))
        place = end
    return found, spans


def _lengths(characters: np.ndarray, piece: str, name: str) -> np.ndarray:
    """Return the bytes of each character of a piece."""
    if name == "utf-8":
        longer = [(characters >= first).astype(np.int64) for first in (0x80, 0x800, 0x10000)]
        return 1 + longer[0] + longer[1] + longer[2]
    if name.startswith("utf-16"):
        return 2 + 2 * (characters >= 0x10000).astype(np.int64)
    if name.startswith("utf-32"):
        return np.full(len(characters), 4, np.int64)
    return np.array([len(c.encode(name, "replace")) for c in piece], np.int64)


def decode(text: bytes, encoding: str, policy: Policy) -> tuple[np.ndarray, np.ndarray]:
    """Return the characters of a string, int32, and where each begins, int64."""
    name, skipped = codec(encoding), 0
    if name in _MARKS:
        width = len(_MARKS[name][0])
        if text[:width] in _MARKS[name]:
            skipped, name = width, name + ("-be" if text[:width] == _MARKS[name][0] else "-le")
        else:
            name += "-be"
    pieces, spans = _pieces(text[skipped:], name)
    if spans and policy.errors == "strict":
        raise invalid("TW207", "Invalid formatting on input string")
    characters, offsets = [], []
    for start, piece in pieces:
        own = np.frombuffer(piece.encode("utf-32-le", "surrogatepass"), np.int32)
        sizes = _lengths(own, piece, name)
        characters.append(own)
        offsets.append(skipped + start + np.cumsum(sizes) - sizes)
    if spans and policy.errors == "replace":
        characters.append(np.full(len(spans), policy.replacement, np.int32))
        offsets.append(np.array([skipped + start for start, _ in spans], np.int64))
    if len(characters) == 1:
        characters_of_text, places = characters[0], offsets[0]
    elif not characters:
        characters_of_text, places = np.zeros(0, np.int32), np.zeros(0, np.int64)
    else:
        characters_of_text, places = np.concatenate(characters), np.concatenate(offsets)
        order = np.argsort(places, kind="stable")
        characters_of_text, places = characters_of_text[order], places[order]
    return (
        _replace_controls(characters_of_text, places, policy)
        if policy.controls
        else (characters_of_text, places)
    )


def _replace_controls(found: np.ndarray, places: np.ndarray, policy: Policy) -> tuple:
    """Return characters, control characters being errors."""
    if policy.errors == "ignore":
        kept = found >= CONTROLS
        return found[kept], places[kept]
    return np.where(found < CONTROLS, np.int32(policy.replacement), found), places


def decode_all(
    x: object, encoding: str, policy: Policy
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the characters of all strings of a vector,
    where each string's begin and end, and offsets.
    """
    texts = items(x)
    rows = _of_ascii(texts, encoding, policy)
    if rows is not None:
        return rows
    parts = [decode(text, encoding, policy) for text in texts]
    splits = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(part) for part, _ in parts], out=splits[1:])
    if not parts:
        codec(encoding)
        return np.zeros(0, np.int32), splits, np.zeros(0, np.int64)
    code_points = np.concatenate([part for part, _ in parts])
    return code_points, splits, np.concatenate([places for _, places in parts])


def _of_ascii(texts: list, encoding: str, policy: Policy) -> tuple | None:
    """Decode at once a string in which every byte is a character; None for others."""
    if codec(encoding) not in ("utf-8", "ascii", "iso8859-1") or policy.controls:
        return None
    whole = b"".join(texts)
    if not whole.isascii():
        return None
    splits = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(list(map(len, texts)), out=splits[1:])
    found = np.frombuffer(whole, np.uint8).astype(np.int32)
    return found, splits, np.arange(len(whole)) - np.repeat(splits[:-1], np.diff(splits))


def encode(characters: np.ndarray, encoding: str, policy: Policy) -> bytes:
    """Encode characters as a string; invalid ones are an error."""
    codes = np.asarray(characters, np.int32)
    wrong = (codes < 0) | (codes > LARGEST) | ((codes >= 0xD800) & (codes < 0xE000))
    if wrong.any():
        if policy.errors == "strict":
            raise invalid("TW206", "Code point is out of range for Unicode, or is a surrogate.")
        if policy.errors == "ignore":
            codes = codes[~wrong]
        else:
            surrogate = 0xD800 <= policy.replacement < 0xE000
            codes = np.where(wrong, REPLACEMENT if surrogate else policy.replacement, codes)
    return codes.astype("<i4").tobytes().decode("utf-32-le").encode(encoding)


def encode_all(codes: np.ndarray, splits: np.ndarray, encoding: str, policy: Policy) -> np.ndarray:
    """Return the strings of rows of characters."""
    codes, ends = np.asarray(codes), np.asarray(splits).tolist()
    if len(codes) and encoding == "UTF-8" and codes.min() >= 0 and codes.max() < 0x80:
        whole = codes.astype(np.uint8).tobytes()
        return of_list([whole[start:end] for start, end in zip(ends, ends[1:])])
    rows = [codes[start:end] for start, end in zip(ends, ends[1:])]
    return of_list([encode(row, encoding, policy) for row in rows])


def transcode(text: bytes, source: str, target: str, policy: Policy) -> bytes:
    """Return a string in another encoding."""
    characters, _ = decode(text, source, policy)
    return encode(characters, target, policy)
