"""``wave doctor``."""

from __future__ import annotations

import os
import platform
import sys
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING

import typer

from wave_core import __version__
from wave_core.cli.doctor_devices import Check, cache_check, device_checks
from wave_core.cli.load import open_session
from wave_core.cli.output import print_json, print_table
from wave_core.diagnostics import WaveError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wave_core.plugin.manager import PluginHost

app = typer.Typer(add_completion=False)

#: Distributions that Wave runs with, whether needed or not.
_LIBRARIES = (
    "torch",
    "sympy",
    "numpy",
    "ml-dtypes",
    "pluggy",
    "typer",
    "rich",
)

#: Wave's own distributions.
_PACKAGES = (
    "wave-core",
    "wave-runtime",
    "wave-sim-cpu",
    "wave-testing",
    "wave-kernels",
    "wave-passes-memory",
    "wave-passes-scheduling",
    "wave-backend-amdgpu",
    "wave-backend-nvgpu",
    "wave-emulator-amdgcn",
    "wave-emulator-ptx",
)

_VARIABLES = ("WAVE_CACHE", "WAVE_CACHE_DIR", "WAVE_DISABLE_PLUGINS")


@app.command()
def doctor(
    json: bool = typer.Option(False, "--json", help="Print one JSON object."),  # noqa: FBT001 - a flag
) -> None:
    """Check the installation: packages, plugins, devices, environment."""
    checks = [
        *_versions(),
        *_environment(),
        cache_check(),
        *_plugins(),
        *device_checks(),
    ]
    broken = [check for check in checks if check[1] == "broken"]
    if json:
        keys = ("what", "state", "found")
        rows = [dict(zip(keys, check, strict=True)) for check in checks]
        print_json({"ok": not broken, "checks": rows})
    else:
        print_table(("what", "state", "found"), checks)
    if broken:
        raise typer.Exit(1)


def _versions() -> Iterator[Check]:
    old = sys.version_info < (3, 11)
    yield "python", "broken" if old else "ok", platform.python_version()
    yield "wave", "ok", __version__
    for name in (*_PACKAGES, *_LIBRARIES):
        try:
            yield name, "ok", metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, "missing", "not installed"


def _environment() -> Iterator[Check]:
    for name in _VARIABLES:
        value = os.environ.get(name)
        yield name, "ok", "not set" if value is None else value


def _plugins() -> Iterator[Check]:
    """Load everything that plugins register and see whether it is there."""
    try:
        host = open_session().plugins
        tables = host.tables()
    except WaveError as error:
        yield "plugins", "broken", error.diagnostics[0].message
        return
    yield "plugins", "ok", ", ".join(plugin.info.name for plugin in host.plugins)
    for kind, load in (
        ("targets", host.load_target),
        ("backends", host.load_backend),
        ("executors", host.load_executor),
        ("kernels", host.load_kernel),
        ("commands", host.load_command),
        ("views", host.load_view),
        ("displays", host.load_display),
    ):
        for name in tables[kind]:
            try:
                load(name)
            except WaveError as error:
                yield f"{kind}: {name}", "broken", error.diagnostics[0].message
            else:
                yield f"{kind}: {name}", "ok", "loads"
    yield from map(partial(_checked, host), host.checks)


def _checked(host: PluginHost, name: str) -> Check:
    """What the check of a plugin finds; one that fails is broken."""
    try:
        state, found = host.load_check(name)()
    except WaveError as error:
        return name, "broken", error.diagnostics[0].message
    except Exception as error:  # noqa: BLE001 - a plugin's function may fail in any way
        return name, "broken", f"{type(error).__name__}: {error}"
    return name, state, found
