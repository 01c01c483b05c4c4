"""Summaries of the first generation: operations, writers of event files, readers of them."""
