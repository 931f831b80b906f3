"""Registers of values: what shares them, what may not, and what does not fit."""

from __future__ import annotations

import pytest
from programs_by_hand import Part, Val, move, op

from wave_backend_asm.allocate.budget import Budget
from wave_backend_asm.allocate.files import Place
from wave_backend_asm.allocate.liveness import Flow, most_live
from wave_backend_asm.allocate.pressure import NoRoomError, peak_of
from wave_backend_asm.allocate.ranges import Ranges
from wave_backend_asm.allocate.registers import allocate
from wave_backend_asm.code import Block


def made(*values):
    return op(None, values)


def used(*values, source=""):
    return op(None, (), values, source=source)


def peak(blocks):
    return peak_of(Ranges.of(Flow.of(blocks)))


def places(code, budget=Budget(512), fixed=None):  # noqa: B008 - it is immutable
    return allocate([Block(tuple(code))], budget, fixed).places


@pytest.mark.parametrize("early", [False, True])
def test_what_is_live_at_most_is_counted_without_ranges(early):
    """What nobody uses is live behind its definition; products keep what they read."""
    tuple_, one, idle = Val("tuple", 4), Val("one"), Val("idle", 8)
    scalar, mask = Val("scalar", files=("s",)), Val("mask", 2, files=("s",))
    start = [made(tuple_), made(scalar), made(idle), used(Part(tuple_, 0, 2), scalar)]
    turn = [made(mask), op(None, [one], [tuple_, mask], early=early), used(one, mask)]
    blocks = [Block(tuple(start), (1,)), Block(tuple(turn), (1, 2), 1), Block((), ())]
    found = peak(blocks)
    assert most_live(Flow.of(blocks)) == (2, found.vectors) == (2, 12)
    alone = [Block(tuple(turn))]
    assert most_live(Flow.of(alone)) == (2, peak(alone).vectors)


def test_values_that_do_not_meet_share_registers():
    one, two = Val("one", 4), Val("two", 4)
    found = places([made(one), used(one), made(two), used(two)])
    assert found[one] == found[two]


def test_a_copy_of_a_part_does_not_take_what_lives_beside_it():
    many, copy = Val("many", 4), Val("copy")
    code = [made(many), move(copy, Part(many, 1, 1)), used(many), used(copy)]
    found = places(code)
    assert found[copy].first not in range(found[many].first, found[many].first + 4)


def test_a_whole_copy_has_nothing_to_do():
    one, two = Val("one", 4), Val("two", 4)
    code = [made(one), move(two, one), used(one), used(two)]
    found = allocate([Block(tuple(code))], Budget(512))
    assert found.idle(code[1])
    assert found.used == {"v": 4}


def test_a_product_writes_before_it_has_read():
    a, out = Val("a", 2), Val("out", 2)
    late = places([made(a), op(None, [out], [a]), used(out)])
    early = places([made(a), op(None, [out], [a], early=True), used(out)])
    assert late[a] == late[out]
    assert early[a] != early[out]


def test_tuples_are_aligned():
    one, two = Val("one"), Val("two", 4, align=2)
    found = places([made(one), made(two), used(one), used(two)])
    assert found[two].first % 2 == 0


def test_values_with_given_registers_keep_them():
    lane, other = Val("lane"), Val("other")
    found = places([made(other), used(other, lane)], fixed={lane: Place("v", 0)})
    assert found == {lane: Place("v", 0), other: Place("v", 1)}


def test_accumulators_go_to_agprs_where_vgprs_do_not_suffice():
    parts = [Val(f"acc{n}", 16, ("v", "a")) for n in range(20)]
    found = allocate([Block((made(*parts), used(*parts)))], Budget.of_waves(1))
    assert found.used == {"v": 256, "a": 64}


def test_what_lives_in_vgprs_alone_is_not_kept_out_by_accumulators():
    parts = [Val(f"acc{n}", 16, ("v", "a")) for n in range(16)]
    factors = [Val(f"factor{n}", 4) for n in range(8)]
    code = [made(*parts), made(*factors), used(*parts, *factors)]
    found = allocate([Block(tuple(code))], Budget.of_waves(1))
    assert {found.places[each].file for each in factors} == {"v"}
    assert sum(found.used.values()) == 16 * 16 + 8 * 4


def test_one_set_of_registers_holds_both_files():
    parts = [Val(f"acc{n}", 16, ("v", "a")) for n in range(20)]
    with pytest.raises(NoRoomError):
        allocate([Block((made(*parts), used(*parts)))], Budget.of_waves(2))


def test_a_refusal_names_the_line_and_who_holds_most():
    wide, small = Val("scores", 200), Val("mask", 80)
    code = [
        op(None, [wide], source="k.py:6"),
        op(None, [small], source="k.py:7"),
        used(small, wide),
    ]
    with pytest.raises(NoRoomError) as refused:
        places(code, Budget.of_waves(2))
    assert str(refused.value) == (
        "280 vector and 0 scalar registers are live at k.py:7; "
        "a wave has 256 and 102; the vector ones are:; "
        "200 made at k.py:6: scores; 80 made at k.py:7: mask"
    )
    assert refused.value.rows[1:] == (
        "200 made at k.py:6: scores",
        "80 made at k.py:7: mask",
    )
    assert not refused.value.of_scalars


def test_a_refusal_is_about_the_file_that_does_not_suffice():
    few = [Val(f"s{n}", 4, ("s",)) for n in range(30)]
    code = [op(None, few, source="k.py:3"), made(Val("x", 9)), used(*few)]
    with pytest.raises(NoRoomError) as refused:
        places(code, Budget.of_waves(1))
    assert refused.value.of_scalars
    first, *rows = refused.value.rows
    assert first.startswith("9 vector and 120 scalar registers are live at ")
    assert first.endswith("a wave has 512 and 102; the scalar ones are:")
    assert rows == ["120 made at k.py:3: s0, s1, s2, s3 and 26 more"]


def test_what_a_loop_carries_lives_through_it():
    carried, inside = Val("carried"), Val("inside")
    blocks = [
        Block((made(carried),), (1,)),
        Block((made(inside), used(inside)), (1, 2), 1),
        Block((used(carried),)),
    ]
    found = allocate(blocks, Budget(512))
    assert found.used == {"v": 2}
    assert peak(blocks).vectors == 2


@pytest.mark.parametrize(
    ("waves", "registers"), [(1, 512), (2, 256), (3, 168), (8, 64)]
)
def test_waves_share_the_registers_of_a_simd(waves, registers):
    assert Budget.of_waves(waves).vector == registers


def test_a_simd_has_no_ninth_wave():
    with pytest.raises(ValueError, match="9 waves"):
        Budget.of_waves(9)


def tiles(rows, columns, steps):
    """Products of 32x32 that accumulate over a loop, with fragments loaded ahead.

    An even number of steps, so that two sets of fragments are enough.
    """
    sums = [Val(f"sum{n}", 16, ("v", "a"), 2) for n in range(rows * columns)]

    def fragments(tag):
        return [Val(f"{tag}.{n}", 4, align=2) for n in range(rows + columns)]

    now = first = fragments("first")
    code = []
    for step in range(steps):
        ahead = fragments(f"step{step}")
        code += [made(each) for each in ahead]
        for n, out in enumerate(sums):
            factors = [now[n // columns], now[rows + n % columns]]
            code.append(op(None, [out], [*factors, out], early=True))
        now = ahead
    code += map(move, first, now)
    before = Block((made(*sums), *map(made, first)), (1,))
    return [before, Block(tuple(code), (1, 2), 1), Block((used(*sums),))]


@pytest.mark.parametrize("shape", [(2, 2, 2), (4, 2, 4), (4, 4, 4), (4, 6, 2)])
def test_tiles_need_as_many_registers_as_are_live_and_nothing_moves(shape):
    blocks = tiles(*shape)
    found = allocate(blocks, Budget.of_waves(1))
    vectors = found.used["v"] + found.used.get("a", 0)
    assert vectors == peak(blocks).vectors
    copies = [each for each in blocks[1].operations if each.copies]
    assert all(map(found.idle, copies))


def test_a_split_tuple_has_the_lowest_registers_that_are_free():
    """What the third may not have, the second may."""
    below, beside, triple = Val("below", 2), Val("beside"), Val("triple", 3)
    first, second, third = (Part(triple, n, 1) for n in range(3))
    code = [
        made(below), made(beside), used(below), op(None, [third]), used(beside),
        op(None, [first, second]), used(triple),
    ]  # fmt: skip
    found = places(code)
    assert found[beside].first == 2
    assert found[triple].first == 1
