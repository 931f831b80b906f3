"""Each public function at the edges of its sizes: what it is given, what is right."""

from __future__ import annotations

from boundaries.attending import ATTENDING
from boundaries.multiplying import MULTIPLYING
from boundaries.ordering import ORDERING
from boundaries.rows import ROWS

TABLE = {**ATTENDING, **MULTIPLYING, **ORDERING, **ROWS}
