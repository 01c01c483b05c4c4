"""Training programs that talweg writes as MetaGraphDefs, and what TensorFlow's own give."""

from programs import collection
from programs.v1 import meta_graphs
from recorded import comparison, description


def difference(build, fetched, tf):
    """How what was fetched in training differs from TensorFlow's numbers; None if it does not."""
    wanted = collection.read_values("v1/meta_graphs")[build.__name__]["tuple"][0]
    found = description.describe(fetched, tf)
    return comparison.difference(found, description.decode(wanted), meta_graphs.TOLERANCE["*"])
