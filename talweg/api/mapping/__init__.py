"""Functions applied along the first axis: map_fn, scan and folds."""
