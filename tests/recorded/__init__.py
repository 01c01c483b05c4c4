"""Values recorded from TensorFlow: the cases, how they are run, written down and compared.

`cases/<area>.txt` holds what is asked, `values/<area>.json` what TensorFlow answered.
`tools/record.py` makes the second from the first; `tests/test_recorded.py` asks talweg.
"""
