"""Registers plugins with pluggy and turns what it finds wrong into diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from wave_core.diagnostics import plugin_error
from wave_core.passes.options import did_you_mean
from wave_core.plugin.api import PROJECT
from wave_core.plugin.hookspecs import WaveSpecs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.diagnostics import PluginError
    from wave_core.plugin.discover import LoadedPlugin

HOOKS: tuple[str, ...] = tuple(
    sorted(name for name in vars(WaveSpecs) if name.startswith("wave_"))
)
"""The names of all hooks."""


def register_all(plugins: Iterable[LoadedPlugin]) -> pluggy.PluginManager:
    """A manager with all ``plugins``, whose hooks fit their declarations.

    Raises:
        PluginError: WV0818 for an unknown hook, a wrong signature, a wrapper, or a
            hook without its marker.
    """
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(WaveSpecs)
    for plugin in plugins:
        try:
            manager.register(plugin.module, plugin.info.name)
            manager.check_pending()
        except pluggy.PluginValidationError as error:
            raise _bad_hook(plugin, str(error)) from error
        _check_markers(plugin, manager)
    return manager


def _check_markers(plugin: LoadedPlugin, manager: pluggy.PluginManager) -> None:
    callers = manager.get_hookcallers(plugin.module) or []
    marked = {caller.name for caller in callers}
    for name in vars(plugin.module):
        if name in HOOKS and name not in marked:
            raise _bad_hook(plugin, f"`{name}` is not marked with @hookimpl")
    for caller in callers:
        for impl in caller.get_hookimpls():
            if impl.plugin is plugin.module and (impl.wrapper or impl.hookwrapper):
                raise _bad_hook(plugin, f"`{caller.name}` is a wrapper")


def _bad_hook(plugin: LoadedPlugin, what: str) -> PluginError:
    unknown = next((word for word in what.split("'") if word.startswith("wave_")), "")
    return plugin_error(
        "WV0818",
        f"a hook of plugin {plugin.info} does not fit",
        notes=what,
        help=(*did_you_mean(unknown, HOOKS), *plugin.info.way_out),
    )
