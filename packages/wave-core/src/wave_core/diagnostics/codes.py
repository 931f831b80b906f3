"""The catalogue of diagnostic codes: one row per code, looked up by its name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache

from wave_core.diagnostics.code import Code
from wave_core.diagnostics.codes_constraints import CONSTRAINT_CODES
from wave_core.diagnostics.codes_distribution import DISTRIBUTION_CODES
from wave_core.diagnostics.codes_internal import INTERNAL_CODES
from wave_core.diagnostics.codes_launch import LAUNCH_CODES
from wave_core.diagnostics.codes_lowering import LOWERING_CODES
from wave_core.diagnostics.codes_memory import MEMORY_CODES
from wave_core.diagnostics.codes_plugins import PLUGIN_CODES
from wave_core.diagnostics.codes_schedule import SCHEDULE_CODES
from wave_core.diagnostics.codes_simulation import SIMULATION_CODES
from wave_core.diagnostics.codes_trace import TRACE_CODES
from wave_core.diagnostics.codes_types import TYPE_CODES

#: Prefix of the codes declared here; others may not use it.
OWN_PREFIX = "WV"

_FAMILIES = (
    TRACE_CODES,
    TYPE_CODES,
    CONSTRAINT_CODES,
    DISTRIBUTION_CODES,
    MEMORY_CODES,
    SCHEDULE_CODES,
    LOWERING_CODES,
    LAUNCH_CODES,
    PLUGIN_CODES,
    SIMULATION_CODES,
    INTERNAL_CODES,
)

_NAME = re.compile(r"[A-Z]{2,8}\d{3,5}")


class Catalogue(Mapping[str, Code]):
    """Diagnostic codes by name, in order of name. Immutable."""

    def __init__(self, codes: tuple[Code, ...]) -> None:
        """Collect rows.

        Raises:
            ValueError: a name is malformed or declared twice.
        """
        rows: dict[str, Code] = {}
        for code in sorted(codes, key=lambda row: row.name):
            if not _NAME.fullmatch(code.name):
                raise ValueError(f"malformed diagnostic code {code.name!r}")
            if code.name in rows:
                raise ValueError(f"diagnostic code {code.name} is declared twice")
            rows[code.name] = code
        self._rows = rows

    def __getitem__(self, name: str) -> Code:
        """The row of a code."""
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        """Names in order."""
        return iter(self._rows)

    def __len__(self) -> int:
        """Number of codes."""
        return len(self._rows)

    def __repr__(self) -> str:
        """How many codes."""
        return f"Catalogue({len(self)} codes)"

    def with_codes(self, *codes: Code) -> Catalogue:
        """This catalogue and the codes of a plugin.

        Raises:
            ValueError: a name is malformed, taken, or uses Wave's own prefix.
        """
        for code in codes:
            if code.name.startswith(OWN_PREFIX):
                message = f"{code.name}: the prefix {OWN_PREFIX} is Wave's own"
                raise ValueError(message)
        return Catalogue((*self._rows.values(), *codes))

    def similar(self, name: str) -> tuple[str, ...]:
        """Names close to a misspelt one, best first."""
        return tuple(get_close_matches(name.upper(), self._rows, n=3, cutoff=0.75))


@cache
def catalogue() -> Catalogue:
    """Wave's own codes."""
    return Catalogue(tuple(code for family in _FAMILIES for code in family))
