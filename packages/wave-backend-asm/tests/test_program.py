"""Instructions on virtual registers become a code object that runs."""

from __future__ import annotations

import numpy as np
import pytest

from wave_backend_asm.allocate.budget import Budget
from wave_backend_asm.allocate.files import Place
from wave_backend_asm.assemble.document import Argument, Kernel, document
from wave_backend_asm.bindings import assemble
from wave_backend_asm.encode.kernel import encoded
from wave_backend_asm.machine import chips
from wave_backend_asm.machine.accumulators import accumulators
from wave_backend_asm.machine.forms import form_of
from wave_backend_asm.machine.instruction import Copy, Instruction, Label, Source
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_backend_asm.machine.program import assembled_program
from wave_backend_asm.machine.sinking import counted, sunk
from wave_backend_asm.select.builder import Builder
from wave_backend_asm.select.integers import wide
from wave_emulator_amdgcn import emulate, load
from wave_emulator_amdgcn.architectures import ARCHITECTURES
from wave_emulator_amdgcn.hazards.steps import step_of
from wave_emulator_amdgcn.program import Program

CHIPS = ("gfx90a", "gfx942", "gfx950")
LATER = CHIPS[1:]

ARGUMENTS, GROUP = Virtual(2, SCALARS), Virtual(1, SCALARS)
ITEM = Virtual()
FIXED = {ARGUMENTS: Place("s", 0), GROUP: Place("s", 2), ITEM: Place("v", 0)}


def powers(turns):
    """``b = a * 3**turns`` by a loop that carries its product in one register."""
    pointers, count = Virtual(4, SCALARS), Virtual(1, SCALARS)
    place, loaded, product, next_ = (Virtual() for _ in range(4))
    first, second = (pointers.all._replace(first=at, width=2) for at in (0, 2))

    def say(name, *results, of=(), **more):
        return Instruction(name, results, of, at=Source("k.py", 7, 1), **more)

    return [
        say("s_load_dwordx4", pointers.all, of=(ARGUMENTS.all, 0)),
        say("v_lshl_add_u32", place.all, of=(GROUP.all, 6, ITEM.all)),
        say("v_lshlrev_b32_e32", place.all, of=(2, place.all)),
        say("global_load_dword", loaded.all, of=(place.all, first)),
        say("s_mov_b32", count.all, of=(turns,)),
        Copy(product.all, loaded.all),
        Label("again", 1),
        say("v_mul_lo_u32", next_.all, of=(product.all, 3)),
        Copy(product.all, next_.all),
        say("s_sub_u32", count.all, of=(count.all, 1)),
        say("s_cmp_lg_u32", of=(count.all, 0)),
        say("s_cbranch_scc1", target="again"),
        Label("done", 0),
        say("global_store_dword", of=(place.all, product.all, second)),
        say("s_endpgm"),
    ]


def code_of(lines, chip):
    made = assembled_program(lines, chip, Budget.of_waves(1), FIXED)
    arguments = (Argument(pointer=True),) * 2
    used = made.allocation.used
    kernel = Kernel("k", chip, arguments, made.lines, used, 64, files=made.files)
    data = encoded(kernel)
    assert data is not None, "LLVM would be asked"
    return made, data


@pytest.mark.parametrize("chip", CHIPS)
def test_a_program_runs(chip):
    made, data = code_of(powers(5), chip)
    given = np.random.default_rng().integers(0, 1 << 20, 128, dtype=np.int32)
    found = np.full_like(given, -1)
    result = emulate(load(data), (given, found), grid=(2, 1, 1))
    assert result.reports == ()
    assert np.array_equal(found, given * 3**5)
    assert "v_mov" not in " ".join(made.lines)


def compare_steps(lines, fixed, chip, budget=None):
    """Each instruction is to us what it is to the emulator, which decodes it."""
    budget = budget or Budget.of_waves(1)
    places = assembled_program(lines, chip, budget, fixed).allocation.places
    ours = [line for line in lines if isinstance(line, Instruction) and not line.target]
    texts = [line.text(places, chips.CHIPS[chip]) for line in ours]
    kernel = Kernel("k", chip, (), (*texts, "s_endpgm"), {"v": 256, "s": 102}, 64)
    loaded = load(assemble(document(kernel), chip))
    at, code = loaded.kernel().entry, loaded.elf
    base, data = code.part(at)
    program = Program(data, base, ARCHITECTURES[chip])
    for line, text in zip(ours, texts, strict=True):
        bound = program.at(at)
        at += bound.instruction.size
        found, wanted = line.issued(places, chip), step_of(bound)
        step = found.step
        assert (step.name, step.unit) == (wanted.name, wanted.unit), text
        assert (step.reads, step.writes) == (wanted.reads, wanted.writes), text
        if "STORE" in step.name:  # the tables ask of no others
            assert step.stored == wanted.stored, text
        assert (step.crosses_lanes, step.passes) == (
            wanted.crosses_lanes, wanted.passes,
        ), text  # fmt: skip
        assert step.to_lds == wanted.to_lds, text
        assert step.scalar_offset == wanted.scalar_offset, text
        assert (found.counter, found.pending) == (
            bound.usage.counter, bound.usage.pending,
        ), text  # fmt: skip


def of_each_form():
    """An instruction of each form, and operands that are easily mistaken."""
    lane, word, pair, wide = Virtual(), Virtual(), Virtual(2), Virtual(4)
    mask, quad, once = Virtual(2, SCALARS), Virtual(4, SCALARS), Virtual(1, SCALARS)
    where = (lane.all, quad.all, once.all)
    quick = "quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
    rows = [
        ("buffer_load_dwordx4", (wide.all,), where, "offen offset:16"),
        ("buffer_store_dwordx4", (), (wide.all, *where), "offen"),
        ("buffer_load_dword", (), where, "offen lds"),
        ("buffer_atomic_add", (word.all,), where, "offen sc0"),
        ("ds_read_b64", (pair.all,), (lane.all,), "offset:8"),
        ("ds_write_b64", (), (lane.all, pair.all), ""),
        ("ds_add_rtn_u32", (word.all,), (lane.all, word.all), ""),
        ("ds_bpermute_b32", (word.all,), (lane.all, word.all), ""),
        ("v_mov_b32_dpp", (word.all,), (lane.all,), quick),
        ("v_cndmask_b32_e64", (word.all,), (lane.all, 1, mask.all), ""),
        ("v_cmp_lt_f32_e64", (mask.all,), (lane.all, word.all), ""),
        ("v_add_co_u32_e64", (word.all, mask.all), (lane.all, word.all), ""),
        ("v_div_scale_f32", (word.all, "vcc"), (word.all, lane.all, word.all), ""),
        ("v_div_fmas_f32", (word.all,), (word.all, lane.all, word.all), ""),
        ("v_readfirstlane_b32", (once.all,), (word.all,), ""),
        ("v_mfma_f32_16x16x16_f16", (wide.all,), (pair.all, pair.all, 0), ""),
        ("s_and_saveexec_b64", (mask.all,), (mask.all,), ""),
        ("s_mov_b32", ("m0",), (once.all,), ""),
        ("s_mov_b64", ("exec",), (mask.all,), ""),
        ("s_barrier", (), (), ""),
    ]
    return [Instruction(*row) for row in rows]


def test_products_with_scales_are_what_the_emulator_decodes():
    """Formats decide how long they take; factors, but no scales, may be in AGPRs."""
    total, scale = Virtual(4), Virtual()
    large, small = Virtual(8), Virtual(4)
    name = "v_mfma_scale_f32_16x16x128_f8f6f4"
    lines = [
        Instruction(
            name, (total.all,),
            (side.all, side.all, total.all, scale.all, scale.all),
            f"op_sel:[1,1,0] op_sel_hi:[0,0,0] cbsz:{number} blgp:{number}",
        )
        for side, number in ((large, 0), (small, 4))
    ]  # fmt: skip
    compare_steps(lines, {}, "gfx950")
    assert accumulators(lines, ()) == {total, large, small}


@pytest.mark.parametrize("chip", CHIPS)
def test_each_instruction_is_what_the_emulator_decodes(chip):
    compare_steps(powers(2), FIXED, chip)
    compare_steps(of_each_form(), {}, chip)


def test_a_mnemonic_without_a_form_is_refused():
    with pytest.raises(ValueError, match="image_load"):
        form_of("image_load")


def test_what_only_products_touch_may_live_in_accumulators():
    """300 registers of loaded factors, and a sum that an instruction of lanes reads."""
    lane, total, out = Virtual(), Virtual(4), Virtual()
    factors = [Virtual(4) for _ in range(75)]
    where = (lane.all, Virtual(4, SCALARS).all, 0)
    lines = [
        *(Instruction("buffer_load_dwordx4", (f.all,), where, "offen")
          for f in factors),
        Label(""),  # so that no product lets go of factors in front of other loads
        *(
            Instruction(
                "v_mfma_f32_16x16x16_f16", (total.all,),
                (f.all._replace(width=2), f.all._replace(first=2, width=2), 0),
            )
            for f in factors
        ),
        Instruction("v_add_f32", (out.all,), (total.parts()[0], total.parts()[0])),
        Instruction("buffer_store_dword", (), (out.all, *where), "offen"),
    ]  # fmt: skip
    budget = Budget.of_waves(1)
    found = assembled_program(lines, "gfx942", budget, {}).allocation
    assert found.places[total].file == found.places[lane].file == "v"
    assert found.used["a"] > 0


@pytest.mark.parametrize("chip", CHIPS)
def test_moves_go_to_accumulators_between_them_and_back(chip):
    """A wave's words by way of two registers that instructions of lanes do not read."""
    pointers, place, word, back = Virtual(4, SCALARS), Virtual(), Virtual(), Virtual()
    one, two = Virtual(), Virtual()
    first, second = (pointers.all._replace(first=at, width=2) for at in (0, 2))
    moves = [
        Instruction("v_mov_b32", (to.all,), (of.all,))
        for to, of in ((one, word), (two, one), (back, two))
    ]
    lines = [
        Instruction("s_load_dwordx4", (pointers.all,), (ARGUMENTS.all, 0)),
        Instruction("v_lshlrev_b32", (place.all,), (2, ITEM.all)),
        Instruction("global_load_dword", (word.all,), (place.all, first)),
        *moves,
        Instruction("global_store_dword", (), (place.all, back.all, second)),
        Instruction("s_endpgm"),
    ]
    assert {one, two} <= accumulators(lines, ())
    fixed = {**FIXED, one: Place("a", 5), two: Place("a", 2)}
    made = assembled_program(lines, chip, Budget.of_waves(1), fixed)
    names = [line.split()[0] for line in made.lines if " a" in line]
    assert names == ["v_accvgpr_write_b32", "v_accvgpr_mov_b32", "v_accvgpr_read_b32"]
    kernel = Kernel(
        "k", chip, (Argument(pointer=True),) * 2, made.lines, made.allocation.used, 64
    )
    data = encoded(kernel)
    assert data == assemble(document(kernel), chip)
    given, found = np.arange(64, dtype=np.int32), np.full(64, -7, np.int32)
    assert emulate(load(data), (given, found), grid=(1, 1, 1)).reports == ()
    assert np.array_equal(given, found)


def test_what_is_transposed_on_the_way_may_land_in_accumulators():
    lane, total = Virtual(), Virtual(16)
    factors = [Virtual(2) for _ in range(2)]
    lines = [
        *(
            Instruction(f"ds_read_b64_tr_b{bits}", (factor.all,), (lane.all,))
            for factor, bits in zip(factors, (16, 8), strict=True)
        ),
        Instruction(
            "v_mfma_f32_32x32x16_fp8_fp8", (total.all,), (*(f.all for f in factors), 0)
        ),
    ]
    assert accumulators(lines, ()) == {total, *factors}
    places = {lane: Place("v", 0), total: Place("a", 8)}
    places |= {factor: Place("a", 2 * at) for at, factor in enumerate(factors)}
    chip = chips.CHIPS["gfx950"]
    text = "".join(f"{line.text(places, chip)}\n" for line in lines)
    assert assemble(text, "gfx950")


def test_masks_are_made_in_front_of_a_jump():
    mask, end, count = Virtual(2, SCALARS), Virtual(2, SCALARS), Virtual(1, SCALARS)
    code = [
        Instruction("v_cmp_ge_i32_e64", (mask.all,), (ITEM.all, 3)),
        Instruction("s_and_b64", (end.all,), (mask.all, mask.all)),
        Instruction("s_cmp_lt_i32", (), (count.all, 3)),
        Instruction("s_cbranch_scc0", target="done"),
    ]
    found = sunk(code, counted(code))
    assert [each.name for each in found] == [each.name for each in code]


def test_pairs_are_loaded_into_the_tuple_that_they_become():
    """As operands of products are, half of which each read from LDS gives."""
    address, store = Virtual(), Virtual(4, SCALARS)
    pairs, quads = [Virtual(2) for _ in range(4)], [Virtual(4) for _ in range(2)]
    lines = [
        Instruction("ds_read_b64", (pair.all,), (address.all,), f"offset:{8 * at}")
        for at, pair in enumerate(pairs)
    ]
    for quad, halves in zip(quads, (pairs[::2], pairs[1::2]), strict=True):
        words = [word for half in halves for word in half.parts()]
        lines += [Copy(*row) for row in zip(quad.parts(), words, strict=True)]
        operands = (quad.all, address.all, store.all, 0)
        lines.append(Instruction("buffer_store_dwordx4", (), operands, "offen"))
    fixed = {address: Place("v", 0), store: Place("s", 4)}
    made = assembled_program(lines, "gfx950", Budget.of_waves(1), fixed)
    assert "v_mov" not in " ".join(made.lines)
    wide = [made.allocation.places[quad].first for quad in quads]
    assert all(f"v[{at}:{at + 1}], v0" in " ".join(made.lines) for at in wide)


LONG = {
    "addi": lambda one, two: one + two,
    "subi": lambda one, two: one - two,
    "muli": lambda one, two: one * two,
    "shli": lambda one, two: one << (two & 63),
    "shrui": lambda one, two: (one % (1 << 64)) >> (two & 63),
    "shrsi": lambda one, two: one >> (two & 63),
}
EDGES = (0, -1, 6, 2**32 - 1, -(2**32), 2**63 - 1)
CODED = (-1, 6, 64, -(2**32))
"""Of them, what is in the code itself: each is assembled."""


def of_the_wave(word, number):
    """A number of 64 bits in memory and another one, which may be in the code."""
    pointers, sides, place = Virtual(4, SCALARS), Virtual(4, SCALARS), Virtual()
    first, second = (pointers.all._replace(first=at, width=2) for at in (0, 2))
    b = Builder("gfx942")
    b.say("s_load_dwordx4", (pointers.all,), (ARGUMENTS.all, 0))
    b.say("s_load_dwordx4", (sides.all,), (first, 0))
    low, high, *other = sides.parts()
    if number is not None:
        other = [number & 0xFFFFFFFF, number >> 32 & 0xFFFFFFFF]
    found = wide(b, word, (low, high), tuple(other))
    names = [line.name for line in b.blocks[0].lines if isinstance(line, Instruction)]
    assert all(name.startswith("s_") for name in names)
    b.say("v_mov_b32", (place.all,), (0,))
    value = b.moved(found, Virtual(2))
    b.say("global_store_dwordx2", (), (place.all, value, second))
    b.say("s_endpgm")
    return b.blocks[0].lines


@pytest.mark.parametrize("word", LONG)
@pytest.mark.parametrize("coded", [True, False])
def test_numbers_of_two_words_are_computed_by_the_wave(word, coded):
    chip = "gfx950"
    shared = None if coded else load(code_of(of_the_wave(word, None), chip)[1])
    for two in CODED if coded else EDGES:
        code = shared or load(code_of(of_the_wave(word, two), chip)[1])
        for one in EDGES:
            found = np.zeros(1, np.int64)
            result = emulate(code, (np.array([one, two]), found), grid=(1, 1, 1))
            assert result.reports == ()
            want = (LONG[word](one, two) + 2**63) % 2**64 - 2**63
            assert found[0] == want, (one, two)


def of_lanes(number, turned, reads, chip):
    """What 64 lanes have and a number of 64 bits, or the same of the wave, added up."""
    pointers, place, own = Virtual(4, SCALARS), Virtual(), Virtual(2)
    first, second = (pointers.all._replace(first=at, width=2) for at in (0, 2))
    b = Builder(chip)
    b.say("s_load_dwordx4", (pointers.all,), (ARGUMENTS.all, 0))
    b.say("v_lshlrev_b32", (place.all,), (3, ITEM.all))
    b.say("global_load_dwordx2", (own.all,), (place.all, first))
    low, high = number & 0xFFFFFFFF, number >> 32 & 0xFFFFFFFF
    other = (low, high)
    if reads:
        pair = Virtual(2, SCALARS)
        b.say("s_mov_b32", (pair.parts()[0],), (low,))
        b.say("s_mov_b32", (pair.parts()[1],), (high,))
        other = pair.parts()
    sides = [own.parts(), other]
    found = wide(b, "addi", *(reversed(sides) if turned else sides))
    b.say("global_store_dwordx2", (), (place.all, b.together(found), second))
    b.say("s_endpgm")
    return b.blocks[0].lines


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize(
    "number", [64, 65, -16, -17, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1]
)
def test_lanes_add_numbers_of_two_words(chip, reads, number):
    given = np.resize(np.array([*EDGES, *range(-40, 40)], np.int64), 64)
    for turned in (False, True):
        found = np.zeros(64, np.int64)
        code = load(code_of(of_lanes(number, turned, reads, chip), chip)[1])
        assert emulate(code, (given, found), grid=(1, 1, 1)).reports == ()
        with np.errstate(over="ignore"):
            assert (found == given + np.int64(number)).all()


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("number", "first", "pairs"), [
    (0, 0, 2), (0xFFFFFFFF, 0, 2), (-1, 0, 2), (1, 0, 0), (0x3F800000, 0, 0),
    (0, 1, 1), (0x80000000, 0, 0),
])  # fmt: skip
def test_numbers_of_two_registers_are_moved_at_once(chip, number, first, pairs):
    """Where both are what the instruction makes of it, and begin at an even one."""
    pointers, place, quad = Virtual(2, SCALARS), Virtual(), Virtual(6)
    words = quad.parts()[first : first + 4]
    lines = [
        Instruction("s_load_dwordx2", (pointers.all,), (ARGUMENTS.all, 0)),
        Instruction("v_lshlrev_b32", (place.all,), (4, ITEM.all)),
        *[Instruction("v_mov_b32", (word,), (number,)) for word in words],
        *[
            Instruction("global_store_dword", (), (place.all, word, pointers.all),
                        f"offset:{4 * at}")
            for at, word in enumerate(words)
        ],
        Instruction("s_endpgm"),
    ]  # fmt: skip
    made, data = code_of(lines, chip)
    wanted = pairs if chip in LATER else 0
    assert " ".join(made.lines).count("v_mov_b64 ") == wanted
    found = np.full((64, 4), 7, np.uint32)
    other = np.zeros(1, np.uint32)
    assert emulate(load(data), (found, other), grid=(1, 1, 1)).reports == ()
    assert (found == number & 0xFFFFFFFF).all()


def test_a_mask_is_not_made_between_a_sum_and_its_carry():
    """It is made behind neither: it reads what the second half writes."""
    pair, mask, other = (Virtual(2, SCALARS) for _ in range(3))
    first, last = pair.parts()
    joins = Instruction("s_and_b64", (mask.all,), (pair.all, other.all))
    both = [
        Instruction("s_add_u32", (Virtual(1, SCALARS).all,), (first, 1)),
        Instruction("s_addc_u32", (last,), (last, 0)),
    ]
    made = sunk([joins, *both], counted(iter([joins, *both])))
    assert made == [joins, *both]


@pytest.mark.parametrize("files", [("v", "v"), ("v", "s"), ("s", "s"), ("a", "v")])
@pytest.mark.parametrize("width", range(1, 6))
@pytest.mark.parametrize("to", [0, 1, 2, 3])
@pytest.mark.parametrize("of", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("pairs", [False, True])
def test_copies_take_pairs_and_lose_nothing(files, width, to, of, pairs):
    """Registers are moved here one after the other, as the machine does."""
    result, operand = Virtual(width), Virtual(width)
    places = {result: Place(files[0], to), operand: Place(files[1], of)}
    code = Copy(result.all, operand.all).instructions(places, pairs=pairs)
    held = {("x", n): n for n in range(16)}
    same = files[0] == files[1]
    name = {result: "x", operand: "x" if same else "y"}
    held |= {("y", n): n for n in range(16)}
    for line in code:
        (out,), (given,) = line.results, line.operands
        pair = out.width == 2
        assert line.name.endswith(("b64", "b64_e32")) == pair
        first, source = places[out.value].first + out.first, of + given.first
        assert not pair or not (first % 2 or source % 2)
        taken = [held[name[operand], source + n] for n in range(out.width)]
        held |= {(name[result], first + n): each for n, each in enumerate(taken)}
    assert [held[name[result], to + n] for n in range(width)] == [
        of + n for n in range(width)
    ]
    wide = (files[0] == "s" or (pairs and files[0] == "v")) and not (to - of) % 2
    odd = to % 2
    most = odd + (width - odd + 1) // 2 if wide else width
    assert len(code) == most
