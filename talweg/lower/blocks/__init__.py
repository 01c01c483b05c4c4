"""Blocks: equations with a lowering of their own, such as scans, scatters and loops."""
