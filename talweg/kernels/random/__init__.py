"""Random number kernels: generators, distributions, permutations."""
