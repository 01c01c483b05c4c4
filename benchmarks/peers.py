"""The libraries that are measured, as data, and where the interpreter of each is found.

A peer lives in its own environment, since TensorFlow, JAX and PyTorch rarely agree on versions.
None is required: a peer without an interpreter is named in the report and left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENTS = Path(__file__).parent / ".envs"
TENSORFLOW_FAMILY = ("talweg", "tensorflow")


@dataclass(frozen=True)
class Peer:
    """One library: the module a program imports, and what pip installs to have it."""

    name: str
    module: str
    distributions: tuple[str, ...]
    requirements: tuple[str, ...] = ()
    pip_options: tuple[str, ...] = ()
    at_home: bool = False

    @property
    def variable(self):
        """The environment variable that names this peer's interpreter."""
        return f"TALWEG_BENCH_{self.name.upper()}_PYTHON"

    @property
    def environment(self):
        """The virtual environment that `python -m benchmarks setup` makes for this peer."""
        return ENVIRONMENTS / self.name


_TORCH_WITHOUT_CUDA = ("--extra-index-url", "https://download.pytorch.org/whl/cpu")

PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            "talweg",
            "talweg",
            ("numpy", "scipy", "llvmlite"),
            ("numpy", "scipy", "llvmlite", "ml_dtypes", "rich", "diastatic-malt", "keras>=3.15"),
            at_home=True,
        ),
        Peer("numpy", "numpy", ("numpy",), at_home=True),
        Peer(
            "tensorflow",
            "tensorflow",
            ("tensorflow-cpu", "tensorflow", "numpy"),
            ("tensorflow-cpu==2.21.0",),
        ),
        Peer("jax", "jax", ("jax", "jaxlib", "numpy"), ("jax", "keras>=3.15")),
        Peer(
            "torch",
            "torch",
            ("torch", "numpy"),
            ("torch==2.13.0", "numpy", "keras>=3.15"),
            _TORCH_WITHOUT_CUDA,
        ),
    )
}


def interpreter(peer, environ=os.environ):
    """The Python that runs `peer`, or None: the variable, then `.envs`, then (at home) ours."""
    named = environ.get(peer.variable)
    if named:
        return named
    for candidate in (peer.environment / "bin/python", peer.environment / "Scripts/python.exe"):
        if candidate.exists():
            return str(candidate)
    return sys.executable if peer.at_home else None


def missing(peer):
    """What to tell somebody who has no interpreter for `peer`."""
    return f"no environment: set {peer.variable} or run `python -m benchmarks setup {peer.name}`"


def set_up(names, say=print):
    """Make the environment of each named peer and install it; the names that failed."""
    failed = []
    for name in names:
        peer = PEERS[name]
        if not peer.requirements:
            say(f"{name}: runs in this environment, nothing to install")
            continue
        say(f"{name}: installing {' '.join(peer.requirements)} into benchmarks/.envs/{name}")
        if not _installed(peer):
            failed.append(name)
    return failed


def _installed(peer):
    ENVIRONMENTS.mkdir(exist_ok=True)
    (ENVIRONMENTS / ".gitignore").write_text("*\n")
    make = [sys.executable, "-m", "venv", str(peer.environment)]
    if subprocess.run(make).returncode:
        return False
    install = [interpreter(peer, {}), "-m", "pip", "install", *peer.pip_options]
    return subprocess.run([*install, *peer.requirements]).returncode == 0
