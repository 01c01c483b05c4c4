"""Products of matrices: by BLAS, or by loops over register tiles."""
