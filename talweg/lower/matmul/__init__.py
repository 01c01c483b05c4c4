"""Lowering of matrix products: by BLAS, or by loops over register tiles."""
