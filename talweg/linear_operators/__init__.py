"""tf.linalg.LinearOperator*: matrices that are known by what they do.

`operator` has the base class, `composite` what makes operators nests, `algebra` the rules of what
operators make of operators; it is imported here, so that every class knows them.
"""

from talweg.linear_operators import algebra as algebra
