"""The names that the text form of a graph may use, and what they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING
from typing import Any

from wave_core.constraints import Assumption
from wave_core.constraints import Constraint
from wave_core.constraints import DeviceConstraint
from wave_core.constraints import GridConstraint
from wave_core.constraints import HardwareConstraint
from wave_core.constraints import IteratorBindings
from wave_core.constraints import ReorderingConstraint
from wave_core.constraints import SymbolicAlias
from wave_core.constraints import TilingConstraint
from wave_core.constraints import WaveConstraint
from wave_core.constraints import WorkgroupConstraint
from wave_core.ir.facts import FACT_KINDS
from wave_core.ir.facts import FactKind
from wave_core.ops import builtin_ops
from wave_core.targets import MMAType
from wave_core.types import AccessMapping
from wave_core.types import AddressSpace
from wave_core.types import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping

    from wave_core.ops import Op

CONSTRAINTS: tuple[type[Constraint], ...] = (
    Assumption,
    DeviceConstraint,
    GridConstraint,
    HardwareConstraint,
    IteratorBindings,
    ReorderingConstraint,
    SymbolicAlias,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
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
            {row.__name__: row for row in (*RECORDS, *CONSTRAINTS, *records)},
            {row.__name__: row for row in (*ENUMS, *enums)},
            {**FACT_KINDS, **{kind.name: kind for kind in facts}},
        )
