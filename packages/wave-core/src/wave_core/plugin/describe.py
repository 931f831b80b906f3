"""Rows of the table that ``wave plugins`` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.plugin.manager import PluginHost


@dataclass(frozen=True)
class PluginRow:
    """One plugin of the table.

    Attributes:
        name: The plugin.
        distribution: Where it comes from; empty where it was passed in directly.
        version: The version of the distribution.
        requires_api: The plugin API that it was written for; empty if disabled.
        provides: What it registers: names by kind.
        disabled: Whether it is left out.
    """

    name: str
    distribution: str
    version: str
    requires_api: str
    provides: Mapping[str, tuple[str, ...]]
    disabled: bool = False


def describe_plugins(host: PluginHost) -> tuple[PluginRow, ...]:
    """A row for every plugin, loaded ones first, each group in order of name."""
    loaded = [
        PluginRow(
            plugin.info.name,
            plugin.info.distribution,
            plugin.info.version,
            ".".join(map(str, plugin.requires_api)),
            provided_by(host, plugin.info.name),
        )
        for plugin in host.plugins
    ]
    disabled = [
        PluginRow(info.name, info.distribution, info.version, "", {}, disabled=True)
        for info in host.disabled
    ]
    return (*loaded, *disabled)


def provided_by(host: PluginHost, plugin: str) -> dict[str, tuple[str, ...]]:
    """The names that a plugin registers, by kind; kinds without any left out."""
    rows = {
        kind: tuple(n for n, each in table.items() if each.provider.name == plugin)
        for kind, table in host.tables().items()
    }
    return {kind: names for kind, names in rows.items() if names}
