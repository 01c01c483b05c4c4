"""TensorFlow's name for talweg, in an environment without TensorFlow."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def _elsewhere():
    """The folder with TensorFlow itself, if Python would find one further on."""
    for entry in sys.path:
        folder = Path(entry or ".").resolve()
        if folder != HERE and (folder / "tensorflow" / "python").is_dir():
            return folder / "tensorflow"
    return None


def _stand_in():
    found = _elsewhere()
    if found is not None:
        raise ImportError(
            f"talweg-as-tensorflow is installed in {HERE}, and TensorFlow itself in {found}: "
            "uninstall one of the two",
            name="tensorflow",
        )
    del sys.modules["tensorflow"]  # this module: as_tensorflow puts talweg in its place
    import talweg

    talweg.as_tensorflow()


_stand_in()
