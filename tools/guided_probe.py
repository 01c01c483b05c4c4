"""Coverage-guided fuzzing of one format's reader, with atheris (`pip install atheris`).

    ./run python tools/guided_probe.py png [--seconds 60] [--corpus folder]

The readers in Python of talweg are instrumented; what reaches a new branch is kept in the corpus
and mutated further.  An input that ends in something else than a value or TensorFlow's error ends
the run; libFuzzer, which atheris drives, writes it to `crash-...`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
INSTRUMENTED = ["talweg.formats", "talweg.kernels", "talweg.pipeline", "talweg.interop"]


def main() -> int:
    """Run; the exit status is libFuzzer's."""
    parser = argparse.ArgumentParser("guided_probe", description=__doc__.splitlines()[0])
    parser.add_argument("format", help="as in the table of ./run probe")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", default="", help="a folder for what reached new branches")
    options = parser.parse_args()
    try:
        import atheris
    except ImportError:
        parser.error("this needs atheris: .venv/bin/python -m pip install atheris")
    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.faults.damaged import FORMATS
    if options.format not in FORMATS:
        parser.error(f"no format is called {options.format}; there are {', '.join(FORMATS)}")
    form = FORMATS[options.format]
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        corpus = Path(options.corpus) if options.corpus else folder / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        whole = form.make(folder)
        (corpus / "whole").write_bytes(whole)

        def one(data: bytes) -> None:
            with contextlib.suppress(*form.right):
                form.read(data, folder)

        one(whole)
        limits = [f"-max_total_time={options.seconds}", f"-max_len={4 * len(whole) + 64}"]
        atheris.Setup([sys.argv[0], *limits, "-rss_limit_mb=2048", str(corpus)], one)
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
