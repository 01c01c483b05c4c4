"""The benchmarks, a file per topic.  Each module imports only the standard library and declares."""
