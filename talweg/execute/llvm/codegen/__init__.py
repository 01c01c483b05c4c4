"""Code generation: LLVM IR of loop programs."""
