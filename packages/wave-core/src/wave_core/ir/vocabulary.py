"""The names that the text form of a graph may use, and what they stand for."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from wave_core.constraints import BUILTIN_CONSTRAINTS
from wave_core.ir.facts import FACT_KINDS, FactKind
from wave_core.ops import builtin_ops
from wave_core.targets import MMAType
from wave_core.types import AccessMapping, AddressSpace, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.ops import Op

ENUMS: tuple[type[Enum], ...] = (AddressSpace, Usage, MMAType)
RECORDS: tuple[type[Any], ...] = (AccessMapping,)


@dataclass(frozen=True)
class Vocabulary:
    """Classes by the name that they have in text.

    Attributes:
        ops: Op classes by ``op_name``.
        records: Frozen dataclasses that occur as values, constraints included.
        enums: Enumerations whose members occur as values.
        facts: Facts by name.
    """

    ops: Mapping[str, type[Op]]
    records: Mapping[str, type[Any]]
    enums: Mapping[str, type[Enum]]
    facts: Mapping[str, FactKind[Any]] = field(default_factory=lambda: FACT_KINDS)

    @classmethod
    def of(
        cls,
        ops: Iterable[type[Op]] = (),
        records: Iterable[type[Any]] = (),
        enums: Iterable[type[Enum]] = (),
        facts: Iterable[FactKind[Any]] = (),
    ) -> Vocabulary:
        """Core's names and those of plugins."""
        return cls(
            {op.op_name: op for op in (*builtin_ops(), *ops)},
            {row.__name__: row for row in (*RECORDS, *BUILTIN_CONSTRAINTS, *records)},
            {row.__name__: row for row in (*ENUMS, *enums)},
            {**FACT_KINDS, **{kind.name: kind for kind in facts}},
        )
