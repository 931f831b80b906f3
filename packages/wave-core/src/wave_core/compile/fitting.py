"""What to change in a kernel that needs more of a machine than there is."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

from wave_core.constraints import TilingConstraint, WorkgroupConstraint
from wave_core.diagnostics import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from wave_core.compile.launchable import LaunchableWave
    from wave_core.compile.options import WaveCompileOptions
    from wave_core.symbols import Expr

HALVINGS = 3
"""How often tiles are halved, to find what fits."""

_OF_LOOPS = ("schedule", "order")
"""What passes say is ``lost`` of a choice that changes no loop of a kernel."""

Tiles = dict["Expr", int]
"""Sizes of tiles."""


def needs_too_much(error: UserError) -> bool:
    """Whether a machine has less of something than is needed: LDS, or registers."""
    return any({"needed", "limit"} <= row.data.keys() for row in error.diagnostics)


def depends_on_tiles(error: UserError) -> bool:
    """Whether other tiles may be compiled.

    It is about constraints (WV03) or fit, or the backend says in ``lost`` what machine
    code would not do as fast as meant.
    """
    return cannot_be_used(error) or error.code.startswith("WV03")


def cannot_be_used(error: UserError) -> bool:
    """Whether machine code was made, or refused, that other tiles may do better."""
    slow = any("lost" in row.data for row in error.diagnostics)
    return slow or needs_too_much(error)


def leaves_loops(error: UserError) -> bool:
    """Whether it is compiled all the same, with loops that nothing of it changed."""
    return all(row.data.get("lost") in _OF_LOOPS for row in error.diagnostics)


def says_the_same(error: UserError, other: UserError | None) -> bool:
    """Whether two refusals have the same words."""
    if other is None:
        return False
    first, second = (
        [(row.code, row.message) for row in each.diagnostics] for each in (error, other)
    )
    return first == second


def smallest_change(
    options: WaveCompileOptions,
    kernel: LaunchableWave,
    refusal: Callable[[WaveCompileOptions], UserError | None],
) -> str:
    """The fewest halvings of tiles with which a kernel fits; empty where none does.

    All tiles at their smallest are asked for first: where these need too much, each
    other change would be compiled for nothing.
    """

    def refused(tiles: Tiles) -> UserError | None:
        return refusal(replace(options, subs={**options.subs, **tiles}))

    least = {s: size >> HALVINGS or 1 for s, size in _sizes(options, kernel).items()}
    if not least:
        return ""
    error = refused(least)
    if error is not None and needs_too_much(error):
        return ""
    for tiles in _smaller(options, kernel):
        if refused(tiles) is None:
            changes = (
                f"`{symbol}={size}` in place of {options.subs[symbol]}"
                for symbol, size in tiles.items()
            )
            return f"with {' and '.join(changes)} it fits"
    return ""


def with_help(error: UserError, text: str) -> UserError:
    """The error, with one more thing to do about it, before all others."""
    first, *others = error.diagnostics
    return UserError([replace(first, help=(text, *first.help)), *others])


def _smaller(options: WaveCompileOptions, kernel: LaunchableWave) -> Iterator[Tiles]:
    """Smaller tiles, the fewest halvings first."""
    sizes = _sizes(options, kernel)
    for count in range(1, HALVINGS + 1):
        for halved in combinations_with_replacement(sizes, count):
            yield {s: sizes[s] >> halved.count(s) or 1 for s in dict.fromkeys(halved)}


def _sizes(options: WaveCompileOptions, kernel: LaunchableWave) -> Tiles:
    """Sizes of tiles, those of loops first: these change neither grid nor waves.

    A tile may depend on the size of its dimension, too, and on the number of waves.
    """
    rows = [
        *(row for row in kernel.constraints if isinstance(row, TilingConstraint)),
        *(row for row in kernel.constraints if isinstance(row, WorkgroupConstraint)),
    ]
    known = {k: v for k, v in options.bindings.items() if isinstance(v, int)}
    sizes = [row.tile_size for row in rows if row.tile_size is not None]
    names = dict.fromkeys(symbol for size in sizes for symbol in size.free_symbols)
    dims = {str(row.dim) for row in rows}
    own = [s for s in names if s in known and str(s) not in dims]
    return {s: known[s] for s in own if _shrinks(s, sizes, known)}


def _shrinks(symbol: Expr, sizes: Iterable[Expr], known: Tiles) -> bool:
    """Whether a tile is smaller where ``symbol`` is halved: that of waves may grow."""
    halved = {**known, symbol: known[symbol] >> 1 or 1}
    pairs = ((size.subs(halved), size.subs(known)) for size in sizes)
    return any(
        less.is_constant
        and usual.is_constant
        and less.constant_value < usual.constant_value
        for less, usual in pairs
    )
