"""AutoGraph: Python control flow on tensors, converted by diastatic-malt.

`convert.py` makes a converted function of a Python function, once for each code object; malt does
the rewriting (`transpiler.py`, `passes.py`), and what the rewritten code calls is here:
`branches.py`, `loops.py`, `logic.py`, `builtins.py`, `items.py`, `calls.py`, `errors.py`.

Converted code is compiled under the user's own file name and line numbers, so tracebacks, debuggers
and the lines in error messages are the user's without translation.
"""
