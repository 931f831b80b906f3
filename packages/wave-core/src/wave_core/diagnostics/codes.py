"""The catalogue of diagnostic codes: one row per code, looked up by its name."""

from __future__ import annotations

import re
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from wave_core.diagnostics.codes_constraints import CONSTRAINT_CODES
from wave_core.diagnostics.codes_internal import INTERNAL_CODES
from wave_core.diagnostics.codes_launch import LAUNCH_CODES
from wave_core.diagnostics.codes_lowering import LOWERING_CODES
from wave_core.diagnostics.codes_memory import MEMORY_CODES
from wave_core.diagnostics.codes_plugins import PLUGIN_CODES
from wave_core.diagnostics.codes_schedule import SCHEDULE_CODES
from wave_core.diagnostics.codes_simulation import SIMULATION_CODES
from wave_core.diagnostics.codes_threads import THREAD_CODES
from wave_core.diagnostics.codes_trace import TRACE_CODES
from wave_core.diagnostics.codes_types import TYPE_CODES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.diagnostics.code import Code

#: Prefix of Wave's codes: those declared here, and those of Wave's own plugins.
OWN_PREFIX = "WV"

#: Packages that declare codes with Wave's prefix, by how those begin. Codes of these
#: families that several packages raise are declared here.
_DECLARED_BY = {
    "WV0414": "wave-passes-memory",
    "WV0415": "wave-passes-memory",
    "WV0416": "wave-passes-memory",
    **dict.fromkeys(("WV0610", "WV0611"), "wave-backend-asm"),
    "WV0917": "wave-backend-amdgpu",
    "WV073": "wave-distributed",
    "WV083": "wave-tune",
    "WV085": "wave-view",
    "WV05": "wave-passes-scheduling",
    "WV06": "wave-backend-amdgpu",
    "WV09": "wave-sim-cpu",
}

_FAMILIES = (
    TRACE_CODES,
    THREAD_CODES,
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


@cache
def catalogue() -> Mapping[str, Code]:
    """The codes of core by name, in order; a session's plugins add theirs."""
    rows = [(code.name, code) for family in _FAMILIES for code in family]
    found = dict(sorted(rows))
    assert len(found) == len(rows), "every code is declared once"
    return MappingProxyType(found)


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
