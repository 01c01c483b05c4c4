"""tf.linalg.LinearOperator*: matrices defined by their products and solutions.

`operator` has the base class, `composite` what makes operators nests, `algebra` the rules of what
operators make of operators; it is imported here, so that every class knows them.
"""

from talweg.linear_operators import algebra as algebra
