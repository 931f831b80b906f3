"""Finds and imports plugins; each broken one is an error with the way out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, cast

from wave_core.diagnostics import plugin_error, user_error
from wave_core.plugin.api import (
    API_VERSION,
    CORE,
    DISABLE_VARIABLE,
    ENTRY_POINT_GROUP,
    is_compatible,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from importlib.metadata import EntryPoint

    from wave_core.diagnostics import PluginError


@dataclass(frozen=True, order=True)
class PluginInfo:
    """Who a plugin is: its name, and the distribution that brought it, if any."""

    name: str
    distribution: str = ""
    version: str = ""

    def __str__(self) -> str:
        origin = f" ({self.distribution} {self.version})" if self.distribution else ""
        return f"`{self.name}`{origin}"

    @property
    def way_out(self) -> tuple[str, ...]:
        """Lines of help that get a user going who cannot mend the plugin."""
        if self.name == CORE:
            return ()
        upgrade = f", or upgrade {self.distribution}" if self.distribution else ""
        return (f"run without it: {DISABLE_VARIABLE}={self.name}{upgrade}",)


@dataclass(frozen=True)
class LoadedPlugin:
    """A plugin that was imported and fits this version of Wave."""

    info: PluginInfo
    module: object


def disabled_names(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The plugins and distributions that ``WAVE_DISABLE_PLUGINS`` names, in order."""
    listed = environ.get(DISABLE_VARIABLE, "").split(",")
    return tuple(sorted({name.strip() for name in listed} - {""}))


def discover(
    found: Iterable[EntryPoint] | None,
    disabled: Iterable[str],
    extra: Iterable[tuple[str, object]] = (),
) -> tuple[list[LoadedPlugin], list[PluginInfo]]:
    """The plugins that are not disabled, imported, and those left out, by name.

    Args:
        found: The entry points of plugins; those that are installed by default.
        disabled: Plugins or distributions not to load, or ``all``.
        extra: Further plugins, imported already; they cannot be disabled.

    Raises:
        PluginError: WV0816 where an import fails, WV0817 where a plugin was written
            for another version of the API, WV0812 where two have one name.
        UserError: WV0827 where core itself is to be disabled.
    """
    off = frozenset(disabled)
    if CORE in off:
        raise user_error("WV0827", f"{DISABLE_VARIABLE} names `{CORE}`, Wave itself")
    left_out: list[PluginInfo] = []
    modules = [(PluginInfo(name), module) for name, module in extra]
    installed = entry_points(group=ENTRY_POINT_GROUP) if found is None else found
    points = [(_info(point), point) for point in installed]
    for info, point in sorted(points, key=lambda pair: pair[0]):
        if off & {"all", info.name, info.distribution}:
            left_out.append(info)
        else:
            modules.append((info, _imported(info, point)))
    loaded: dict[str, LoadedPlugin] = {}
    for info, module in sorted(modules, key=lambda pair: pair[0]):
        if info.name in loaded or info.name == CORE:
            raise _same_name(info, loaded.get(info.name))
        loaded[info.name] = check_plugin(info, module)
    return list(loaded.values()), left_out


def _info(point: EntryPoint) -> PluginInfo:
    dist = point.dist
    if dist is None:
        return PluginInfo(point.name)
    # `dist.name` and `dist.version` would parse all of it once more each.
    metadata = dist.metadata
    return PluginInfo(point.name, metadata["Name"], metadata["Version"])


def _same_name(info: PluginInfo, other: LoadedPlugin | None) -> PluginError:
    taken = "Wave's own plugin" if other is None else str(other.info)
    return plugin_error(
        "WV0812",
        f"plugin {info} has the name of {taken}",
        help="uninstall one of the two",
    )


def _imported(info: PluginInfo, point: EntryPoint) -> object:
    try:
        return point.load()
    except Exception as error:  # a module may fail in any way while it is imported
        raise plugin_error(
            "WV0816",
            f"plugin {info} cannot be imported",
            notes=f"{type(error).__name__}: {error}",
            help=info.way_out,
            plugin=info.name,
        ) from error


def check_plugin(info: PluginInfo, module: object) -> LoadedPlugin:
    """The plugin, if it was written for this version of the API.

    Raises:
        PluginError: WV0817 where ``REQUIRES_API`` is missing, malformed or unfit.
    """
    stated: object = getattr(module, "REQUIRES_API", None)
    if not _is_version(stated):
        says = "does not state" if stated is None else "wrongly states"
        raise plugin_error(
            "WV0817",
            f"plugin {info} {says} the API version that it needs",
            help=("its module says so: REQUIRES_API = (1, 0)", *info.way_out),
        )
    required = cast("tuple[int, int]", stated)
    if not is_compatible(required):
        raise plugin_error(
            "WV0817",
            f"plugin {info} needs version {_dotted(required)} of the plugin API,"
            f" and this is {_dotted(API_VERSION)}",
            help=info.way_out,
        )
    return LoadedPlugin(info, module)


def _is_version(stated: object) -> bool:
    if not isinstance(stated, tuple):
        return False
    numbers = cast("tuple[object, ...]", stated)
    return len(numbers) == 2 and all(type(number) is int for number in numbers)


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
