"""Tests of the runner: its arithmetic, declarations, conversation and report.  Nothing is timed."""
