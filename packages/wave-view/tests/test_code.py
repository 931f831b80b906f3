"""Machine code by line, and which of its lines ran."""

from __future__ import annotations

from wave_view.code import code_of
from wave_view.executed import executed_lines
from wave_view.places import Places

AMD = """; how to make this file
	.text
	.p2align	8
twice:
	.file	1 "/kernels" "k.py"
	.loc	1 7 3
	v_add_f32_e32 v0, v0, v0
	s_nop 0
.Ltmp0:
	.loc	1 0 0
	s_cbranch_scc1 .LBB0_1
	.loc	1 8 3 is_stmt 0
	v_add_f32_e32 v1, v0, v0
	s_nop 0
	s_endpgm
	.section	.rodata
	.long	1
"""

PTX = """
.visible .entry twice()
{
	.reg .b32 	%r<9>;
$L__tmp0:
	.loc	1 7 3
	@%p1 bra 	$L__BB0_2;
	add.s32 	%r1, %r2, %r3;
}
	.section	.debug_macinfo
	.file	1 "/kernels/k.py"
"""


def lines_of(form, text):
    places = Places()
    code = code_of(form, text, places)
    return code, [(line.text.split()[0], line.place) for line in code.lines]


def test_amd_instructions_have_lines_and_the_rest_is_left_out():
    code, found = lines_of("asm", AMD)
    assert found == [
        ("twice:", None),
        ("v_add_f32_e32", (0, 7)),
        ("s_nop", (0, 7)),
        ("s_cbranch_scc1", None),
        ("v_add_f32_e32", (0, 8)),
        ("s_nop", (0, 8)),
        ("s_endpgm", (0, 8)),
    ]
    assert [line.instruction for line in code.lines] == [False, *[True] * 6]


def test_ptx_names_its_files_at_the_end():
    _, found = lines_of("ptx", PTX)
    assert ("@%p1", (0, 7)) in found
    assert ("add.s32", (0, 7)) in found
    assert (".reg", None) in found


def ran(pc, name):
    return {"pc": pc, "bytes": 4, "text": f"{name}(v[0])"}


def test_a_run_behind_a_gap_is_found_as_a_whole():
    code, _ = lines_of("asm", AMD)
    rows = [ran(12, "v_add_f32"), ran(16, "s_nop"), ran(20, "s_endpgm")]
    assert executed_lines(code, rows) == (-1, -1, -1, -1, 0, 1, 2)
    first = [ran(0, "v_add_f32"), ran(4, "s_nop"), ran(8, "s_cbranch_scc1")]
    assert executed_lines(code, [*first, *rows]) == (-1, 0, 1, 2, 3, 4, 5)


def test_where_code_and_instructions_do_not_fit_nothing_is_guessed():
    code, _ = lines_of("asm", AMD)
    assert executed_lines(code, [ran(0, "v_add_f32"), ran(4, "v_mul_f32")]) == ()
