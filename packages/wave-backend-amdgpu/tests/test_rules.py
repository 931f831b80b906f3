"""Every op of core has a rule or a reason; the document says so."""

from __future__ import annotations

from wave_backend_amdgpu.codegen.table import own_table
from wave_backend_amdgpu.plugin import PARTLY
from wave_core.backends.lowered import LOWERED_BY_CORE
from wave_core.ops import builtin_ops

REFUSED = ("shared_tile",)
"""What no chip of the package has."""


def test_every_op_is_lowered_or_excused():
    table = own_table()
    assert set(LOWERED_BY_CORE) <= set(table.unsupported)
    assert {op.op_name for op in without_rule(table)} == {*LOWERED_BY_CORE, *REFUSED}
    assert set(REFUSED) <= set(PARTLY)


def without_rule(table):
    """The ops of core that no rule of ``table`` lowers."""
    return [op for op in builtin_ops() if not table.rules.keys() & {*op.__mro__}]


def test_the_session_finds_the_same_rules(session):
    merged = session.plugins.lowering_table("amdgpu")
    assert without_rule(merged) == without_rule(own_table())
