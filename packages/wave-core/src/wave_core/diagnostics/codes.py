"""The catalogue of diagnostic codes: one row per code, looked up by its name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache

from wave_core.diagnostics.code import Code
from wave_core.diagnostics.codes_constraints import CONSTRAINT_CODES
from wave_core.diagnostics.codes_internal import INTERNAL_CODES
from wave_core.diagnostics.codes_launch import LAUNCH_CODES
from wave_core.diagnostics.codes_lowering import LOWERING_CODES
from wave_core.diagnostics.codes_memory import MEMORY_CODES
from wave_core.diagnostics.codes_plugins import PLUGIN_CODES
from wave_core.diagnostics.codes_schedule import SCHEDULE_CODES
from wave_core.diagnostics.codes_simulation import SIMULATION_CODES
from wave_core.diagnostics.codes_trace import TRACE_CODES
from wave_core.diagnostics.codes_types import TYPE_CODES

#: Prefix of Wave's codes: those declared here, and those of Wave's own plugins.
OWN_PREFIX = "WV"

#: Packages that declare codes with Wave's prefix, by how those begin. Codes of these
#: families that several packages raise are declared here.
_DECLARED_BY = {
    "WV0414": "wave-passes-memory",
    "WV0415": "wave-passes-memory",
    "WV0416": "wave-passes-memory",
    "WV0914": "wave-backend-amdgpu",
    "WV05": "wave-passes-scheduling",
    "WV06": "wave-backend-amdgpu",
    "WV09": "wave-sim-cpu",
}

_FAMILIES = (
    TRACE_CODES,
    TYPE_CODES,
    CONSTRAINT_CODES,
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
            if not is_well_formed(code.name):
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

    def similar(self, name: str) -> tuple[str, ...]:
        """Names close to a misspelt one, best first."""
        return tuple(get_close_matches(name.upper(), self._rows, n=3, cutoff=0.75))


@cache
def catalogue() -> Catalogue:
    """The codes of core; a session's plugins add theirs."""
    return Catalogue(tuple(code for family in _FAMILIES for code in family))


def is_well_formed(name: str) -> bool:
    """Whether ``name`` can name a code: a prefix in capitals, then digits."""
    return _NAME.fullmatch(name) is not None


def declaring_package(name: str) -> str | None:
    """The package of Wave that declares a code, installed or not.

    ``None`` for prefixes of others, and for numbers that nobody has.
    """
    if name in catalogue():
        return "wave-core"
    owners = (who for begin, who in _DECLARED_BY.items() if name.startswith(begin))
    return next(owners, None)
