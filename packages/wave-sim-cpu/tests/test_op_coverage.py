"""Every op of core has a rule at each level, or a reason why not."""

from __future__ import annotations

import pytest

from wave_core.ops import Op, Trait, builtin_ops
from wave_core.ops.structure import Argument
from wave_sim_cpu import lanes, logical

LEVELS = {
    "lanes": (lanes.lane_rules(), lanes.UNSUPPORTED),
    "logical": (logical.logical_rules(), logical.UNSUPPORTED),
}
EXECUTED = [
    op
    for op in builtin_ops()
    if op is not Argument and Trait.TERMINATOR not in op.traits
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("op", EXECUTED, ids=lambda op: op.op_name)
def test_op_is_executed_or_listed(op: type[Op], level: str) -> None:
    rules, unsupported = LEVELS[level]
    covered = any(cls in rules for cls in op.__mro__)
    assert covered != (op.op_name in unsupported)


@pytest.mark.parametrize("level", LEVELS)
def test_listed_ops_exist(level: str) -> None:
    names = {op.op_name for op in builtin_ops()}
    assert set(LEVELS[level][1]) <= names | {"relayout"}
