"""Constraints of plugins, and the built-in ones that they stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wave_core.constraints import BUILTIN_CONSTRAINTS, Tunable
from wave_core.diagnostics import blamed_on_plugin, user_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wave_core.constraints import Constraint, Kernel
    from wave_core.diagnostics import UserError
    from wave_core.plugin.discover import PluginInfo

    Providers = Mapping[type[Constraint], PluginInfo]


def settled(kernel: Kernel, providers: Providers) -> tuple[Constraint, ...]:
    """The built-in constraints that those of ``kernel`` stand for, in order.

    Raises:
        UserError: WV0326 for a class that no plugin registers, or that stands for
            nothing else; what a constraint itself refuses.
        PluginError: WV0819 where a plugin's constraint fails.
    """
    found: list[Constraint] = []
    for row in kernel.constraints:
        if type(row) in BUILTIN_CONSTRAINTS:
            found.append(row)
        else:
            found.extend(_parts(row, kernel, providers))
    return tuple(found)


def _parts(
    row: Constraint, kernel: Kernel, providers: Providers
) -> Iterator[Constraint]:
    """The constraints that a plugin's stands for, at the line of its author."""
    info = providers.get(type(row))
    if info is None:
        raise _unhandled(row, "no plugin registers its class")
    what = f"constraint `{type(row).__name__}` of plugin {info}"
    with blamed_on_plugin(what, row.location, help=info.way_out):
        parts = tuple(row.stands_for(kernel))
    for part in parts:
        if isinstance(part, Tunable):
            raise _unhandled(row, "it stands for `Tunable`, which only authors write")
        if type(part) not in BUILTIN_CONSTRAINTS:
            what = f"it stands for `{type(part).__name__}`, which is not built in"
            raise _unhandled(row, what)
        yield replace(part, location=row.location)


def _unhandled(row: Constraint, why: str) -> UserError:
    return user_error(
        "WV0326",
        f"nobody handles the constraint `{type(row).__name__}`",
        at=row.location,
        notes=why,
        help=(
            "install the plugin that brings it, or leave it out",
            "an author registers it with `wave_register_constraints`",
        ),
    )
