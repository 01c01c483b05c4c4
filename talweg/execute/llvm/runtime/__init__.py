"""The runtime of compiled programs: entry stubs, execution contexts, threads, memory."""
