"""The processor's CRC-32C and NumPy's agree."""

import os

import pytest

from talweg.formats import checksum
from talweg.formats.checksum_native import native_checksum


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 17, 511, 513, 4099, 70001])
def test_both_ways_agree(count, monkeypatch):
    if native_checksum() is None:
        pytest.skip("no instruction for it, or no llvmlite")
    data = os.urandom(count)
    monkeypatch.setattr(checksum, "native_checksum", lambda: None)
    wanted = checksum.crc32c(data, 7)
    assert native_checksum()(data, 7 ^ checksum.ONES) ^ checksum.ONES == wanted


def test_known_value(monkeypatch):
    monkeypatch.setattr(checksum, "TINY", 0)
    monkeypatch.setattr(checksum._summed, "count", checksum.MUCH + 1)
    assert checksum.crc32c(b"123456789") == 0xE3069283
    assert checksum.crc32c(b"6789", checksum.crc32c(b"12345")) == 0xE3069283
