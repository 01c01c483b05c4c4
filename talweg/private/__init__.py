"""Modules below `tensorflow` that are not its public namespaces, as far as libraries use them.

`public_names.txt` (recorded from TensorFlow) says which private names hold a public object;
`contents.py` has the others; `modules.py` makes modules of both when they are first imported.
"""
