"""Each file of XLA's tests leaves eager tensors as it found them."""

import pytest

from tests.devices import devices_forgotten


@pytest.fixture(scope="module", autouse=True)
def without_devices_afterwards():
    with devices_forgotten():
        yield
