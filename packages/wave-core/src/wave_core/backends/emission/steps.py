"""What loops add to the offset of an access, apart from what lanes add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wave_core.symbols import Expr, constant, split_remainders

if TYPE_CHECKING:
    from wave_core.backends.emission.accesses import Piece
    from wave_core.backends.emission.emitter import Emission


class Counted(Protocol):
    """A memory whose size may be known."""

    @property
    def count(self) -> int | None:
        """Its elements; ``None`` where the launch decides."""
        ...


def split_piece(emit: Emission, memory: Counted, piece: Piece) -> tuple[Expr, Expr]:
    """The offset of a piece in two parts: of the lane, and what loops add to it.

    Whether the range check of a buffer counts the second part differs between chips:
    gfx9 counts it, gfx11 and gfx12 do not. The result is right either way:

    * Both parts are proved not to be negative. Lanes that are not masked stay inside
      with their whole offset, so with the first part alone too.
    * A masked lane has a first part near 2 GiB, beyond every buffer. The second is
      proved to be inside the buffer, so their sum is beyond it as well, stays below
      4 GiB, and no room that is left is less than nothing.

    Returns:
        Both in elements; all in the first where nothing is proved.
    """
    moving, whole = _moving(emit, piece.offset), (piece.offset, constant(0))
    if moving.is_constant:
        return whole
    facts, steady = emit.indices.within_loops(), piece.offset - moving
    if not (facts.prove_nonnegative(steady) and facts.prove_nonnegative(moving)):
        return whole
    if piece.mask is not None:
        high = facts.bounds(moving).hi
        if high is None or memory.count is None or high >= memory.count:
            return whole
    return steady, moving


def _moving(emit: Emission, offset: Expr) -> Expr:
    """The terms of an offset that counters of loops alone decide."""
    found = constant(0)
    counters = emit.indices.counters
    for term, factor in offset.linear()[1]:
        if all(symbol in counters for symbol in term.free_symbols):
            found = found + term * factor
    return found - split_remainders(found)[0]
