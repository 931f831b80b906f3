"""Every op of core has a rule or a reason; the document says so."""

from __future__ import annotations

from wave_backend_amdgpu.codegen.table import own_table
from wave_backend_amdgpu.plugin import UNSUPPORTED
from wave_core.ops import builtin_ops


def test_every_op_is_lowered_or_excused():
    found = own_table().coverage(builtin_ops())
    assert found.missing == ()
    assert set(found.unsupported) == set(UNSUPPORTED)


def test_the_session_finds_the_same_rules(session):
    merged = session.plugins.lowering_table("amdgpu")
    assert merged.coverage(builtin_ops()) == own_table().coverage(builtin_ops())
