"""Programs of tf.data."""


def listed(dataset):
    """All elements, as arrays."""
    return list(dataset.as_numpy_iterator())


def spec(dataset):
    """The element spec, as text."""
    return repr(dataset.element_spec)
