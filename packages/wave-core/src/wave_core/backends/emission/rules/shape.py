"""Vectors put together from registers of others, and bits under another type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.backends import lowers
from wave_core.backends.emission.values import element, gathered, recast, sliced
from wave_core.ops.shape import Assemble, Bitcast

if TYPE_CHECKING:
    from wave_core.backends.emission.emitter import Emission


@lowers(Assemble)
def assemble(op: Assemble, emit: Emission) -> None:
    """A slice of one source, or elements of several."""
    sources = [emit.value(source) for source in op.sources]
    picks = op.picks
    first, start = picks[0]
    run = all(p == (first, start + i) for i, p in enumerate(picks))
    if run:
        name = sliced(emit, sources[first], start, len(picks))
    else:
        items = [sliced(emit, sources[s], r, 1) for s, r in picks]
        name = gathered(emit, items, element(emit.dtype(op)))
    emit.set(op, name, len(picks))


@lowers(Bitcast)
def bitcast(op: Bitcast, emit: Emission) -> None:
    """The same registers under another type."""
    value, item = emit.value(op.value), element(emit.dtype(op))
    times, parts = op.ratio
    emit.set(op, recast(emit, value, item, value.registers * times // parts).name)
