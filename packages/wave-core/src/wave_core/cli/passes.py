"""Options about passes and others of compilation, for commands that compile."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, cast

import typer

from wave_core.compile.option_values import pass_texts
from wave_core.compile.options import option_table
from wave_core.diagnostics import Location
from wave_core.passes.literal import value_of
from wave_core.passes.selection import unknown_name
from wave_core.passes.text import PassText, Pipeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.compile.options import WaveCompileOptions
    from wave_core.plugin.manager import PluginHost

Passes = Annotated[
    str, typer.Option(help="Passes to run, with options: `pass{option=1}, other`.")
]
Disabled = Annotated[str, typer.Option("--disable", help="Passes not to run.")]
Settings = Annotated[
    list[str],
    typer.Option("--set-pass", help="An option of a pass: schedule-loops.unroll=2."),
]

TargetHere = Annotated[
    str,
    typer.Option(
        "--target", help="The machine to compile for; auto: that of a GPU here."
    ),
]

Via = Annotated[
    str, typer.Option("--via", help="Which backend, where several fit: asm.")
]

CompileOptions = Annotated[
    list[str],
    typer.Option(
        "--option", help="Another option, those of plugins too: unroll_factor=2."
    ),
]

_FLAGS = {
    "subs": "--shape and --set",
    "target": "--target",
    "preset": "--preset",
    "passes": "--passes",
    "disable_passes": "--disable",
}
"""Options of compilation that commands take in another form."""


def option_changes(
    given: Iterable[str],
    options: WaveCompileOptions,
    plugins: PluginHost,
    flags: Mapping[str, object] = MappingProxyType({}),
) -> dict[str, object]:
    """Options of `WaveCompileOptions` by name, from texts like ``unroll_factor=2``.

    Those that plugins declare are joined with the ``plugin_options`` of ``options``,
    and so are ``flags``: what a command has words of its own for.

    Raises:
        typer.BadParameter: for text without a name or a value, and for an option that
            has a form of its own.
        UserError: WV0801 for a name that no option has.
    """
    found: dict[str, object] = {}
    others = dict(flags)
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (equals and name and value):
            message = f"--option takes NAME=VALUE, not `{text}`"
            raise typer.BadParameter(message)
        if name in _FLAGS:
            message = f"--option {name}: write {_FLAGS[name]}"
            raise typer.BadParameter(message)
        known = [row.name for row in option_table()]
        every = {*known, *plugins.option_specs}
        if name not in every:
            raise unknown_name("compile option", name, sorted(every))
        (found if name in known else others)[name] = value_of(value)
    if others:
        found["plugin_options"] = {**options.plugin_options, **others}
    # The command line has no line to point at.
    return found | {"location": Location.unknown()} if found else {}


def pass_changes(
    options: WaveCompileOptions, passes: str, disable: str, settings: Iterable[str]
) -> dict[str, object]:
    """These options joined with those that ``options`` hold already.

    Raises:
        typer.BadParameter: for a setting without a pass, an option or a value.
        UserError: WV0802 for passes that do not fit the form.
    """
    told = (*Pipeline.parse(passes).passes, *map(_setting, settings))
    if not told and not disable:
        return {}
    known = cast("tuple[PassText, ...]", options.passes)
    return {
        "passes": pass_texts((*known, *told), Location.unknown()),
        "disable_passes": (*options.disable_passes, *disable.split(",")),
        # The command line has no line to point at.
        "location": Location.unknown(),
    }


def _setting(text: str) -> PassText:
    place, equals, value = text.partition("=")
    name, dot, option = (part.strip() for part in place.partition("."))
    if not (equals and dot and name and option):
        message = f"--set-pass takes PASS.OPTION=VALUE, not `{text}`"
        raise typer.BadParameter(message)
    return PassText(name, ((option, value_of(value)),))
