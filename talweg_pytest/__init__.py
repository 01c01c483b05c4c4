"""pytest's way to talweg's doctor: the option `--talweg-doctor`.

This is what pytest loads in every run where talweg is installed, so it imports nothing of talweg
until the option is given; the plugin itself is `talweg/command/pytest_plugin.py`.
"""

from importlib import import_module


def pytest_addoption(parser):
    """The options."""
    group = parser.getgroup("talweg")
    group.addoption(
        "--talweg-doctor",
        action="store_true",
        help="fail tests that leak graph nodes, bake arrays into graphs or drop gradients",
    )
    group.addoption(
        "--talweg-doctor-select",
        metavar="CODES",
        default="",
        help="which of talweg's findings fail a test: codes or their beginnings",
    )
    parser.addini("talweg_doctor_select", "as --talweg-doctor-select", default="")


def pytest_configure(config):
    """Load the plugin if it was asked for."""
    config.addinivalue_line(
        "markers", "talweg_doctor(ignore): codes that may be found in this test (or no codes: all)"
    )
    if config.getoption("--talweg-doctor"):
        plugin = import_module("talweg.command.pytest_plugin")
        config.pluginmanager.register(plugin.Doctor(config), "talweg-doctor")
