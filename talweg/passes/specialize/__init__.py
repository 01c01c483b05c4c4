"""Specialization: from a functionalized program to a static program of known shapes."""
