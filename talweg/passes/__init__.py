"""Graph to graph and graph to program: named steps that keep the meaning."""
