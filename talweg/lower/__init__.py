"""Lowering: from static programs to loop programs, which define what kernels compute."""
