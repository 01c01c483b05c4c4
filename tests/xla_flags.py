"""Flags with which XLA compiles in tests: LLVM does as little as it can.

What XLA itself does with a program (simplification, fusion, collectives) is as ever, and so are the
numbers; only how fast the code runs is not, which no test asks.
"""

QUICK_TO_COMPILE = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
