"""Places of sparse tensors are grouped in order, however they come."""

import numpy as np
import pytest

from talweg.prims.sparse_places import grouped_places


@pytest.mark.parametrize("count", [0, 1, 5, 40])
@pytest.mark.parametrize("in_order", [False, True])
def test_groups(count, in_order):
    places = np.random.default_rng(count).integers(0, 4, (count, 2))
    if in_order:
        places = places[np.lexsort((places[:, 1], places[:, 0]))]
    distinct, groups = grouped_places.numpy(places, np.array([4, 4]))
    np.testing.assert_array_equal(distinct, np.unique(places, axis=0).reshape(-1, 2))
    np.testing.assert_array_equal(distinct[groups], places)
    assert distinct.dtype == groups.dtype == np.int64
