"""Kernels in machine code: small functions compiled when much is to be done by them."""
