"""Elementary functions as LLVM IR for vectors of any number of lanes."""
