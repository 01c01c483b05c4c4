"""Builds the wheel (PEP 517): a module `tensorflow.py`, and the metadata of a package `tensorflow`.

A wheel may hold one `.dist-info` at its root.  The other package's metadata is an `.egg-info`, the
older form, which pip and importlib.metadata read as well, and which never lies where TensorFlow's
own metadata would.
"""

import base64
import hashlib
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]
NAME, VERSION = PROJECT["name"], PROJECT["version"]
INFO = f"{NAME.replace('-', '_')}-{VERSION}.dist-info"
FILES = ("pyproject.toml", "README.md", "tensorflow.py", "stand_in_wheel.py")


def metadata(name, requires=()):
    """The metadata of a package of this version."""
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {VERSION}",
        f"Summary: {PROJECT['description']}",
        f"License: {PROJECT['license']}",
        f"Requires-Python: {PROJECT['requires-python']}",
        *[f"Requires-Dist: {required}" for required in requires],
    ]
    if name == "tensorflow":
        lines.append("Provides-Extra: and-cuda")
    return "\n".join(lines) + "\n"


def contents():
    """The wheel's files, by name."""
    wheel = (
        "Wheel-Version: 1.0\nGenerator: stand_in_wheel\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    own = metadata(NAME, PROJECT["dependencies"])
    own += f"Description-Content-Type: text/markdown\n\n{(HERE / 'README.md').read_text('utf-8')}"
    return {
        "tensorflow.py": (HERE / "tensorflow.py").read_text("utf-8"),
        f"tensorflow-{VERSION}.egg-info/PKG-INFO": metadata("tensorflow"),
        f"{INFO}/METADATA": own,
        f"{INFO}/WHEEL": wheel,
    }


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Write the wheel; its name."""
    name = f"{NAME.replace('-', '_')}-{VERSION}-py3-none-any.whl"
    record = []
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in contents().items():
            data = text.encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            record.append(f"{path},sha256={digest},{len(data)}")
            archive.writestr(path, data)
        archive.writestr(f"{INFO}/RECORD", "\n".join([*record, f"{INFO}/RECORD,,"]) + "\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Write the source archive; its name."""
    import tarfile

    base = f"{NAME.replace('-', '_')}-{VERSION}"
    info = Path(sdist_directory) / "PKG-INFO"
    info.write_text(metadata(NAME, PROJECT["dependencies"]), "utf-8")
    with tarfile.open(Path(sdist_directory) / f"{base}.tar.gz", "w:gz") as archive:
        archive.add(info, f"{base}/PKG-INFO")
        for file in FILES:
            archive.add(HERE / file, f"{base}/{file}")
    info.unlink()
    return f"{base}.tar.gz"
