"""The chooser ``auto``: every way to settle what is open, the fastest first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wave_core.diagnostics import UserError
from wave_core.plugin import Choice
from wave_core.types import AddressSpace
from wave_passes_scheduling.auto.estimate import cycles_of, is_long, need_of
from wave_passes_scheduling.auto.ways import COPIER, Way, ways_for
from wave_passes_scheduling.auto.work import WIDE, Work, multiplies, work_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wave_core.constraints.geometry import Geometry
    from wave_core.ir import Graph
    from wave_core.plugin import ChoiceRequest
    from wave_core.symbols import Expr
    from wave_core.targets import Target
    from wave_passes_scheduling.auto.estimate import Need

OWN = frozenset(
    {
        "disable_passes",
        "multi_buffer_count",
        "override_schedule",
        "passes",
        "pipeline",
        "reorder",
        "schedule",
        "unroll_factor",
    }
)
"""Options by which authors schedule themselves."""

CYCLES, LDS = "cycles", "bytes of LDS"


def choose(request: ChoiceRequest) -> list[Choice]:
    """The ways to compile a kernel, the fastest first, then those that do not fit.

    Nothing where there is no loop that multiplies, or a target without figures: the
    usual configuration is as good as any.
    """
    waves = request.options.get("waves_per_eu")
    assert waves is None or isinstance(waves, int), "checked with the options"
    target = request.target.shared_by(waves)
    if target.registers is None or target.peaks is None:
        return []
    request = replace(request, target=target)
    own = not OWN.isdisjoint(request.options)
    ways = ways_for(target)[: 1 if own else None]
    works = _works(request)
    found = [each for work in works for each in _choices(request, ways, *work)]
    return sorted(found, key=_rank)


def _rank(found: Choice) -> tuple[bool, float, float]:
    """First what fits, the fastest first.

    Where one unit is the limit whatever the schedule, tiles further ahead are better:
    what comes late makes nobody wait.
    """
    figures = found.figures
    return bool(found.refused), figures.get(CYCLES, 0.0), -figures[LDS]


def _works(request: ChoiceRequest) -> Iterator[tuple[Mapping[Expr, object], Work]]:
    """The work for each way to settle the open symbols that the machine can do."""
    traced: dict[tuple[object, ...], Graph] = {}
    spread: dict[tuple[object, ...], Geometry] = {}
    asked = request.options.get("use_fast_math")
    assert asked is None or isinstance(asked, bool), "checked with the options"
    for values in request.values:
        # Sizes leave the trace as it is, address spaces the geometry.
        spaces = tuple(v for v in values.values() if isinstance(v, AddressSpace))
        sizes = tuple(v for v in values.values() if not isinstance(v, AddressSpace))
        try:
            if spaces not in traced:
                traced[spaces] = request.graph(values)
            if not multiplies(traced[spaces]):
                continue
            if sizes not in spread:
                spread[sizes] = request.geometry(values)
            graph, geometry = traced[spaces], spread[sizes]
            work = work_of(graph, geometry, request.target, fast_math=asked)
        except UserError:
            continue
        if work is not None and work.matrix:
            yield values, work


def _choices(
    request: ChoiceRequest,
    ways: Sequence[Way],
    values: Mapping[Expr, object],
    work: Work,
) -> Iterator[Choice]:
    """Each configuration for one way to settle the symbols."""
    room = request.target.memory.lds_bytes
    for each in ways:
        way = each.of(work, room - work.kept)
        if not _offered(request, way) or _idle(work, way, request.target):
            continue
        need = need_of(work, way, request.target)
        refused = _refused(work, way, need, request.target)
        figures = {"registers": need.registers, LDS: need.lds}
        if not refused:
            cycles = cycles_of(work, way, need, request.target)
            figures |= {CYCLES: cycles, "workgroups at once": need.resident}
            figures["% of matrix units"] = 100 * _busy(work, request.target) / cycles
        yield Choice(values, way.options, figures, refused)


def _offered(request: ChoiceRequest, way: Way) -> bool:
    """Whether what it asks for is installed, and the target has it."""
    copies = WIDE * 8 in request.target.direct_to_lds_bits
    direct = copies and COPIER in request.passes
    alternate = request.target.priorities or way.waves == 1
    return way.name in request.presets and alternate and (direct or not way.direct)


def _idle(work: Work, way: Way, target: Target) -> bool:
    """Whether it has nothing to do that another way would not do as well."""
    staged = not way.through_lds or bool(work.staged)
    moved = not way.direct or _direct(work, target)
    chained = work.chained or not way.chained
    # Waves that carry tiles to LDS themselves cannot issue products meanwhile.
    fed = way.direct and not way.apart if work.in_place else not way.in_place
    pays = is_long(work) or not way.beside
    return not (staged and moved and chained and fed and pays)


def _direct(work: Work, target: Target) -> bool:
    """Whether rows of a staged tile can be where direct copies begin.

    Those that take pointers begin at multiples of what they move.
    """
    if not target.direct_by_pointer:
        return True
    least = min(target.direct_to_lds_bits, default=0) // 8
    return any(each.piece % least == 0 for each in work.staged)


def _busy(work: Work, target: Target) -> float:
    """Cycles that the matrix units of the chip work, shared evenly."""
    assert target.registers is not None, "who asks has looked"
    assert target.peaks is not None, "who asks has looked"
    each = work.groups / target.peaks.compute_units
    return each * work.trips * work.matrix * work.units / target.registers.simds


def _refused(work: Work, way: Way, need: Need, target: Target) -> str:
    """Why a configuration does not fit; empty where it does."""
    assert target.registers is not None, "who asks has looked"
    file, limit = target.registers, target.registers.limit(work.units)
    if any(each.in_place and not each.staged for each in work.fetched):
        return "products take operands from LDS, and they are read from memory"
    if file.conditions and way.fewest:
        # The scheduler leaves as many without use; what needs them is not pipelined.
        limit -= file.granule
    if way.direct and not all(each.evenly for each in work.staged):
        return "rows of a tile are no power of two, which no direct copies bring"
    if way.waves > 1 and work.units < way.waves * file.simds:
        return f"waves of a SIMD have to alternate: {work.units} waves are too few"
    if work.trips < way.fewest:
        return f"{work.trips:.0f} iterations are too few to overlap"
    if need.registers > limit:
        return f"about {need.registers} registers, and a wave has {limit}"
    compared = way.unroll * work.compared
    if way.unroll > 1 and 0 < file.scalars < compared:
        masks = f"about {compared:.0f} registers for conditions"
        return f"{masks}, and a wave has {file.scalars}"
    room = target.memory.lds_bytes
    if need.lds > room:
        copies = f"{way.copies} {'copies' if way.copies > 1 else 'copy'} of its tiles"
        return f"{copies} take {need.lds:.0f} bytes of LDS, and there are {room}"
    return "" if need.resident else "no compute unit holds a whole workgroup"
