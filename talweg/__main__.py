"""`python -m talweg`: the `talweg` command."""

from __future__ import annotations

import sys

from talweg.command.line import main

if __name__ == "__main__":
    sys.exit(main())
