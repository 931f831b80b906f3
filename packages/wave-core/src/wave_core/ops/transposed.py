"""The read of LDS that transposes on the way."""

from __future__ import annotations

from wave_core.ops.memory import Read


class TransposedRead(Read, name="transposed_read"):
    """A read of LDS whose lanes exchange what they fetched, sixteen by sixteen.

    Only in lowered graphs, for targets with a row for it. The access row says what
    each lane fetches: neighbouring elements. Those of sixteen lanes, one lane after
    another, are rows of sixteen elements; lane ``i`` of the sixteen gets column
    ``i``, row ``r`` in register ``r``. The placement row says what it holds then.
    Every lane takes part, and none is masked. Shapes and dtypes: as `Read`.
    """
