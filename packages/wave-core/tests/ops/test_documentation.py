"""Every op says what its fields are, and which shapes and element types it has."""

from __future__ import annotations

import pytest

from wave_core.ops import Op, builtin_ops
from wave_core.ops.base import operand
from wave_core.trace.surface import document

WITHOUT_VALUE = {
    *("yield", "write", "iterate", "conditional", "set_symbol", "breakpoint"),
    *("shared_memory_barrier", "shared_memory_barrier_signal", "workgroup_barrier"),
    *("shared_memory_barrier_wait", "memory_counter_wait", "set_wave_prio"),
    *("scheduling_barrier", "scheduling_group_barrier", "wave_fence", "fence"),
}
EVERY = pytest.mark.parametrize("op", builtin_ops(), ids=lambda op: op.op_name)


@EVERY
def test_every_field_has_a_help(op):
    assert [field.name for field in op.fields if not field.help] == []


@EVERY
def test_values_have_shapes_or_element_types(op):
    text = op.__doc__
    assert text != Op.__doc__
    assert op.op_name in WITHOUT_VALUE or "Shapes" in text or "Dtypes" in text


def test_the_surface_function_shows_the_helps():
    class Twice(Op, name="test.twice"):
        """Two times. Dtypes: numbers."""

        value: Op = operand(help="the register")

    text = "Two times. Dtypes: numbers.\n\nArgs:\n    value: the register"
    assert document(Twice) == text
