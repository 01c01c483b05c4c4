"""The executor for accelerators: static programs through XLA, by JAX's public API."""
