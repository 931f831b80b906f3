"""Conflicts in a set of passes, each as one error."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from wave_core.diagnostics import plugin_error, user_error
from wave_core.passes.options import did_you_mean
from wave_core.passes.spec import OPTIONAL_MARK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.diagnostics import PluginError, UserError
    from wave_core.passes.pass_set import PassSet
    from wave_core.passes.spec import InstalledPass


def _who(this: InstalledPass) -> str:
    return f"`{this.name}` (plugin {this.provider})"


def declared_twice(one: InstalledPass, other: InstalledPass) -> PluginError:
    """Two plugins declare a pass of the same name."""
    return plugin_error(
        "WV0812",
        f"pass `{one.name}` is declared twice,"
        f" by plugin {one.provider} and by plugin {other.provider}",
        help="disable one of the plugins, or rename one of the passes",
    )


def unknown_pass(
    this: InstalledPass, name: str, known: Mapping[str, InstalledPass]
) -> PluginError:
    """A pass refers to one that is not installed."""
    return plugin_error(
        "WV0807",
        f"pass {_who(this)} names `{name}`, which is not installed",
        help=(
            *did_you_mean(name, known),
            f'write "{name}{OPTIONAL_MARK}" if it need not be installed',
        ),
    )


def same_phase(
    first: InstalledPass, second: InstalledPass, asks: InstalledPass, relation: str
) -> bool:
    """Whether both passes are in one phase, so that their order is an edge.

    Raises:
        PluginError: WV0806 where the phases have the opposite order.
    """
    if first.spec.phase.ordinal <= second.spec.phase.ordinal:
        return first.spec.phase is second.spec.phase
    other = second if asks is first else first
    raise plugin_error(
        "WV0806",
        f"pass {_who(asks)} of phase {asks.spec.phase} wants to run {relation}"
        f" {_who(other)} of phase {other.spec.phase}",
        notes=f"{second.spec.phase} comes before {first.spec.phase}",
        help="move one of them to another phase, or drop the wish",
    )


def cycle(
    names: list[str], reasons: Mapping[tuple[str, str], str], passes: PassSet
) -> PluginError:
    """Passes wait for each other; ``names`` starts and ends with the same pass.

    ``reasons`` says why the second of two passes is later.
    """
    start = names.index(min(names))
    loop = [*names[start:-1], *names[: start + 1]]
    notes = [
        f"{first} -> {second}: {reasons[first, second]}"
        for first, second in pairwise(loop)
    ]
    return plugin_error(
        "WV0805",
        "these passes wait for each other: "
        + ", ".join(_who(passes.active[name]) for name in loop[:-1]),
        notes=notes,
        help="drop one of these wishes, or disable one of the passes",
    )


def unmet_fact(
    this: InstalledPass, fact: str, broken_by: str | None, passes: PassSet
) -> PluginError:
    """A pass needs a fact that does not hold when it starts."""
    notes, help_ = _where_from(fact, passes)
    if broken_by is not None:
        notes = (f"it held until pass {_who(passes.active[broken_by])} broke it",)
    return plugin_error(
        "WV0808",
        f"pass {_who(this)} of phase {this.phase} needs `{fact}`,"
        " which does not hold there",
        notes=notes,
        help=help_,
    )


def missing_at_end(
    consumer: str, fact: str, passes: PassSet, stop_after: str | None = None
) -> UserError:
    """A backend or executor needs a fact that does not hold where it takes over."""
    notes, help_ = _where_from(fact, passes)
    where = "at the end of the pipeline"
    if stop_after is not None:
        where = f"after `{stop_after}`, where its pipeline ends"
    return user_error(
        "WV0813",
        f"{consumer} needs `{fact}`, which does not hold {where}",
        notes=notes,
        help=help_,
    )


def _where_from(fact: str, passes: PassSet) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Notes on who provides ``fact`` and what to do about it."""
    makers = [p for p in passes.known.values() if fact in p.spec.provides]
    running = [p for p in makers if p.name in passes.active]
    if running:
        notes = (f"pass {_who(p)} provides it in phase {p.spec.phase}" for p in running)
        return tuple(notes), ()
    if makers:
        notes = (f"pass {_who(p)} provides it but does not run" for p in makers)
        return tuple(notes), tuple(f"enable pass `{p.name}`" for p in makers)
    helps = (f"install a plugin that has a pass providing `{fact}`",)
    return (f"no installed pass provides `{fact}`",), helps


def essential_disabled(this: InstalledPass, origin: str) -> UserError:
    """Somebody disables a pass that valid programs need."""
    return user_error(
        "WV0828",
        f"{origin} disables pass {_who(this)}, which valid kernels need",
        notes=f"what it does: {this.spec.summary}" if this.spec.summary else (),
        help=("leave it enabled", "or install a plugin whose pass replaces it"),
    )


def provided_twice(one: str, other: str, fact: str, passes: PassSet) -> PluginError:
    """A pass provides a fact that holds already."""
    return plugin_error(
        "WV0810",
        f"`{fact}` is provided twice, by pass {_who(passes.active[one])}"
        f" and by pass {_who(passes.active[other])}",
        help=f"`replaces` says that one runs in place of the other; a pass that breaks"
        f" and mends `{fact}` lists it under both clobbers and provides",
    )


def replaced_twice(one: InstalledPass, other: InstalledPass, old: str) -> PluginError:
    """Two passes replace the same one."""
    return plugin_error(
        "WV0811",
        f"pass `{old}` is replaced both by {_who(one)} and by {_who(other)}",
        help=f"disable one of them: `{one.name}` or `{other.name}`",
    )


def replaced_in_circle(
    chain: list[str], known: Mapping[str, InstalledPass]
) -> PluginError:
    """Passes replace each other."""
    who = ", ".join(_who(known[name]) for name in chain[:-1])
    return plugin_error("WV0811", f"these passes replace each other: {who}")
