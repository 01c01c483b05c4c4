"""Values with memory: eager tensors, variables, tapes, and the kernels' caller."""
