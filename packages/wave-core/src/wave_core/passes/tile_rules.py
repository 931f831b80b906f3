"""Rules for tiles: how ops are laid out over lanes, and cut into pieces.

Three tables by op class, of core's rules and those of plugins: `supplies` and `demands`
give layouts (``wave_core.builtin.distribute.rules`` says what they take and return),
`expands` cuts (``wave_core.builtin.expand.expand``).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from wave_core.backends.lowering import LoweringTable, lowers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.backends.lowering import AnyLowering

SUPPLY, DEMAND, EXPANSION = "layout", "layout of operands", "expansion"

supplies = partial(lowers, role=SUPPLY)
"""Marks a function from an op and the solver to the placement of the op's value."""

demands = partial(lowers, role=DEMAND)
"""Marks a function from an op and the solver to what the op needs of its operands."""

expands = partial(lowers, role=EXPANSION)
"""Marks a function that builds the pieces of an op: expander, op and scope."""


def table_of(role: str, *rules: Iterable[AnyLowering]) -> LoweringTable:
    """The rules of one role."""
    found = (rule for each in rules for rule in each if rule.role == role)
    return LoweringTable.of(role, found)
