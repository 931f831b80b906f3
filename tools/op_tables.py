"""Which op each simulator and backend handles, from their tables of rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_sim_cpu import lanes, logical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.backends import LoweringTable
    from wave_core.ops.base import Op
    from wave_core.plugin import PluginHost

STRUCTURE = {
    "argument": "part of the kernel or of the op with its region; has no rule",
    "yield": "part of the op with its region; has no rule",
}
"""Ops that belong to others, by name, with the reason why they have no rule."""


@dataclass(frozen=True)
class OpTable:
    """What one simulator or backend does with ops.

    Attributes:
        lowered: The classes of ops that it has a rule for; their subclasses count.
        unsupported: Why it has none for others, by name of the op.
    """

    lowered: frozenset[type[Op]]
    unsupported: Mapping[str, str]

    def lowers(self, cls: type[Op]) -> bool:
        """Whether there is a rule for ``cls``."""
        return any(base in self.lowered for base in cls.__mro__)

    def reason(self, cls: type[Op]) -> str | None:
        """Why there is none; ``None`` where nobody says."""
        return self.unsupported.get(cls.op_name) or STRUCTURE.get(cls.op_name)


def op_tables(host: PluginHost) -> dict[str, OpTable]:
    """The simulators, then the backends that plugins register."""
    own = {
        "sim-logical": OpTable(frozenset(logical.logical_rules()), logical.UNSUPPORTED),
        "sim": OpTable(frozenset(lanes.lane_rules()), lanes.UNSUPPORTED),
    }
    found = {name: _with(host.lowering_table(name), own[name]) for name in own}
    for name in host.backends:
        found[name] = _with(host.lowering_table(name), OpTable(frozenset(), {}))
    return found


def _with(rules: LoweringTable, own: OpTable) -> OpTable:
    """The table with what plugins add."""
    unsupported = {**rules.unsupported, **own.unsupported}
    return OpTable(own.lowered | frozenset(rules.rules), unsupported)
