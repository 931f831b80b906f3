"""Instructions are put in a better order, between the points that stay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wave_backend_asm.allocate.budget import Budget
from wave_backend_asm.allocate.liveness import Flow
from wave_backend_asm.allocate.pressure import NoRoomError, Peak
from wave_backend_asm.allocate.registers import Allocation
from wave_backend_asm.code import Block
from wave_backend_asm.machine import program
from wave_backend_asm.machine.effects import effects_of
from wave_backend_asm.machine.instruction import Copy, Instruction, Label
from wave_backend_asm.machine.operands import SCALARS, Virtual
from wave_backend_asm.machine.ordering import Orders
from wave_backend_asm.machine.prices import price_of
from wave_backend_asm.machine.program import assembled_program
from wave_backend_asm.machine.together import grouped, is_fixed
from wave_backend_asm.order.listing import Listing
from wave_backend_asm.order.nodes import Needs, Node, Price, needs_of

AT, QUAD, MASK = Virtual(), Virtual(4, SCALARS), Virtual(2, SCALARS)


def say(name, *results, of=(), **more):
    results = [each.all if isinstance(each, Virtual) else each for each in results]
    operands = [each.all if isinstance(each, Virtual) else each for each in of]
    return Instruction(name, tuple(results), tuple(operands), **more)


def loaded(result, **more):
    name = f"buffer_load_dword{'' if result.width == 1 else f'x{result.width}'}"
    return say(name, result, of=(AT, QUAD, 0), modifiers="offen", **more)


def stored(value):
    return say("buffer_store_dword", of=(value, AT, QUAD, 0), modifiers="offen")


def sums(count, value):
    """A chain of additions to a value, in one register."""
    return [say("v_add_f32", value, of=(value, value)) for _ in range(count)]


BEFORE = [
    say("v_mov_b32", AT, of=(0,)),
    *[say("s_mov_b32", part, of=(0,)) for part in QUAD.parts()],
]


def names(lines, budget=None, chip="gfx942"):
    """The mnemonics of a program in their order, without waits and wait states."""
    made = assembled_program(
        [*BEFORE, *lines, say("s_endpgm")], chip, budget or Budget.of_waves(1), {}
    )
    words = [line.split()[0] for line in made.lines]
    return [
        w for w in words[5:] if not w.startswith(("s_waitcnt", "s_nop", ".", "s_end"))
    ]


def chain(*between):
    """Arithmetic, something, a load, and a store of both."""
    value, other, out = Virtual(), Virtual(), Virtual()
    return [
        say("v_mov_b32", value, of=(0,)), *sums(3, value), *between, loaded(other),
        say("v_mul_f32", out, of=(value, other)), stored(out),
    ]  # fmt: skip


def test_a_load_goes_before_what_does_not_need_it():
    found = names(chain())
    assert found[0] == "buffer_load_dword"
    assert found[-2:] == ["v_mul_f32", "buffer_store_dword"]


@pytest.mark.parametrize(
    "point",
    [say("s_barrier"), say("s_setprio", of=(1,)), Label(""), Label("here"),
     say("s_nop", of=(0,), demands={"vm": 0}), say("buffer_inv")],
)  # fmt: skip
def test_nothing_is_moved_across_points_that_stay(point):
    found = names(chain(point))
    assert found.index("buffer_load_dword") > found.index("v_add_f32")


@pytest.mark.parametrize("between", [(), (say("ds_write_b32", of=(AT, AT)),)])
def test_loads_stay_behind_stores_of_the_same_kind(between):
    """Of buffers; a store to LDS keeps no load of a buffer."""
    first, other = Virtual(), Virtual()
    given = [say("v_mov_b32", first, of=(0,)), *(between or (stored(first),))]
    found = names([*given, *sums(9, first), loaded(other), stored(other)])
    kept = found.index("buffer_load_dword") > found.index(
        "ds_write_b32" if between else "buffer_store_dword"
    )
    assert kept == (not between)


def test_lds_stays_in_its_order():
    value = Virtual()
    write, read = say("ds_write_b32", of=(AT, AT)), say("ds_read_b32", value, of=(AT,))
    assert effects_of(write).writes == effects_of(read).reads == {"lds"}
    swizzled = effects_of(say("ds_swizzle_b32", value, of=(AT,)))
    assert set(swizzled) == {frozenset()}
    copied = say("buffer_load_dword", of=(AT, QUAD, 0), modifiers="offen lds")
    assert effects_of(copied) == ({"buffers", "m0"}, {"lds"}, {"lds"})
    assert effects_of(loaded(value, keeps=())).writes == frozenset()
    known = replace(copied, memory="1")
    assert effects_of(known) == ({"buffers", "m0"}, {"lds 1"}, {"lds 1"})
    assert effects_of(replace(read, memory="2")).reads == {"lds 2"}
    atomic = say("buffer_atomic_add", value, of=(AT, QUAD, 0))
    assert effects_of(atomic).writes == {"buffers"}


def test_what_fewer_lanes_run_stays_together():
    value = Virtual()
    lines = [
        say("v_mov_b32", value, of=(0,)),
        say("s_and_saveexec_b64", MASK, of=(MASK,)),
        say("ds_read_b32", value, of=(AT,), keeps=(value.all,)),
        say("s_mov_b64", "exec", of=(MASK,)),
        say("v_mov_b32", value, of=(0,)),
    ]
    rows = grouped(lines)
    assert [len(row) for row in rows] == [1, 3, 1]
    assert not any(map(is_fixed, rows))
    # Where the lanes come back elsewhere, both ends stay.
    assert [*map(is_fixed, grouped(lines[:3]))] == [False, True, False]
    assert [*map(is_fixed, grouped(lines[2:]))] == [False, True, False]


def test_who_reads_the_condition_stays_with_who_makes_it():
    one, two, wide = (Virtual(1, SCALARS) for _ in range(3))
    lines = [
        say("s_add_i32", one, of=(one, 1)),
        say("s_cmp_lt_i32", of=(one, two)),
        say("s_mov_b32", wide, of=(0x12345,)),
        say("s_cselect_b32", two, of=(wide, 0)),
        say("s_lshl_b32", one, of=(one, 2)),
    ]
    assert [len(row) for row in grouped(lines)] == [1, 3, 1]


def test_copies_around_a_loop_stay_idle():
    """A load for the next turn is not moved in front of who reads the last one."""
    carried, next_, total, count = (
        Virtual(4),
        Virtual(4),
        Virtual(),
        Virtual(1, SCALARS),
    )
    lines = [
        say("v_mov_b32", total, of=(0,)),
        say("s_mov_b32", count, of=(3,)),
        loaded(carried),
        Label("again", 1),
        *[say("v_add_f32", total, of=(total, part)) for part in carried.parts()],
        loaded(next_),
        *sums(5, total),
        Copy(carried.all, next_.all),
        say("s_sub_u32", count, of=(count, 1)),
        say("s_cmp_lg_u32", of=(count, 0)),
        say("s_cbranch_scc1", target="again"),
        stored(total),
    ]
    found = names(lines)
    again = found[found.index("again:") :]
    assert "v_mov_b32_e32" not in again
    lanes = [name for name in again[1:] if not name.startswith("s_")]
    assert lanes[:5] == ["v_add_f32"] * 4 + ["buffer_load_dwordx4"]


def many_loads(count):
    """Loads of four words, each added up before the next one."""
    total, rows = Virtual(), [Virtual(4) for _ in range(count)]
    lines = [say("v_mov_b32", total, of=(0,))]
    for row in rows:
        lines.append(loaded(row))
        lines += [say("v_add_f32", total, of=(total, part)) for part in row.parts()]
    return [*lines, stored(total)]


def test_no_wave_less_fits_for_an_order():
    made = assembled_program(
        [*BEFORE, *many_loads(40), say("s_endpgm")], "gfx942", Budget.of_waves(1), {}
    )
    assert 32 < made.allocation.vectors <= Budget.of_waves(8).vector


def test_registers_of_waves_that_lds_keeps_away_are_free():
    made = assembled_program(
        [*BEFORE, *many_loads(40), say("s_endpgm")], "gfx942", Budget.of_waves(1, 2), {}
    )
    assert Budget.of_waves(7).vector < made.allocation.vectors
    assert made.allocation.vectors <= Budget.of_waves(2).vector


def refusal(live):
    """An order with so many vector registers live."""
    error = NoRoomError.__new__(NoRoomError)
    error.peak = Peak(live, 0, 0, "")
    return error


def rooms_asked_for(monkeypatch):
    """What orders may use, as they are asked for."""
    asked, within = [], Listing.within
    monkeypatch.setattr(
        Listing,
        "within",
        lambda own, given, spare: asked.append(given) or within(own, given, spare),
    )
    return asked


def test_a_little_less_room_is_tried_before_much_less(monkeypatch):
    """Tuples leave holes; an order for three quarters of the registers hides less."""
    refused, allocate = [], program.allocate

    def without_room(blocks, *rest):
        if len(refused) < 3:
            refused.append(blocks)
            raise refusal(0)
        return allocate(blocks, *rest)

    asked = rooms_asked_for(monkeypatch)
    monkeypatch.setattr(program, "allocate", without_room)
    made = assembled_program(
        [*BEFORE, *many_loads(40), say("s_endpgm")], "gfx942", Budget.of_waves(1, 2), {}
    )
    assert [*dict.fromkeys(row.vectors for row in asked)] == [240, 224, 205, 192]
    assert made.allocation.vectors <= 192


def test_no_less_room_is_tried_than_the_given_order_has(monkeypatch):
    """It has no more live than any: where it needs more, so do those for less."""
    found, allocate = [], program.allocate

    def without_room(blocks, budget, used, spread, most=None):
        found.append(most)
        if len(found) == 1:
            assert most is not None, "a better order has a limit"
            raise refusal(most + 1)
        given = len(found) == 2
        many = Allocation({}, {"v": 256, "a": 8})
        return many if given else allocate(blocks, budget, used, spread, most)

    asked = rooms_asked_for(monkeypatch)
    monkeypatch.setattr(program, "allocate", without_room)
    assembled_program(
        [*BEFORE, *many_loads(40), say("s_endpgm")], "gfx942", Budget.of_waves(1, 2), {}
    )
    assert found == [256, None, 512]
    assert [*dict.fromkeys(row.vectors for row in asked)] == [240, 480]


@pytest.mark.parametrize("vectors", [8, 16, 32])
def test_an_order_stays_within_the_budget(vectors):
    made = assembled_program(
        [*BEFORE, *many_loads(40), say("s_endpgm")], "gfx942", Budget(vectors), {}
    )
    assert made.allocation.vectors <= vectors


def test_prices_are_those_of_the_tables():
    value, wide = Virtual(), Virtual(4)
    assert price_of(loaded(wide), "gfx942").busy == 64 * 16 // 64
    assert (
        price_of(loaded(value), "gfx942").wait
        > 64 * price_of(say("v_nop"), "gfx942").issue
    )
    assert price_of(say("ds_read_b128", wide, of=(AT,)), "gfx950").busy == 8
    assert price_of(say("ds_read_b64_tr_b16", wide, of=(AT,)), "gfx950").busy == 4
    product = say("v_mfma_f32_32x32x8_f16", Virtual(16))
    assert [price_of(product, chip).busy for chip in ("gfx942", "gfx950")] == [32, 32]
    curved = say("v_exp_f32", value, of=(AT,))
    assert [price_of(curved, chip).busy for chip in ("gfx942", "gfx950")] == [16, 8]
    assert price_of(Copy(value.all, AT.all), "gfx942").issue == 0


def test_waves_of_a_workgroup_share_lds_and_memory():
    wide = Virtual(4)
    for load in (loaded(wide), say("ds_read_b128", wide, of=(AT,))):
        alone, shared = (price_of(load, "gfx942", waves) for waves in (1, 4))
        assert (shared.busy, shared.issue) == (4 * alone.busy, alone.issue)
    own = say("v_exp_f32", wide.parts()[0], of=(AT,))
    assert price_of(own, "gfx942", 4) == price_of(own, "gfx942")


def stretch_of_loads(sharing):
    """How far apart the first and the last of some loads end up, with sums behind."""
    wide, value = [Virtual(4) for _ in range(6)], Virtual()
    lines = [
        *map(loaded, wide), say("v_mov_b32", value, of=(0,)), *sums(400, value),
        stored(value), *[stored(each.parts()[0]) for each in wide],
    ]  # fmt: skip
    found = names(lines, replace(Budget.of_waves(1), sharing=sharing))
    places = [at for at, name in enumerate(found) if name == "buffer_load_dwordx4"]
    return places[-1] - places[0]


def test_others_come_between_loads_of_all_waves():
    assert stretch_of_loads(4) > stretch_of_loads(1)


def test_nobody_waits_here_for_a_copy_to_lds():
    """Who reads what it brings does so behind a wait that stays where it is."""
    copy = say("buffer_load_dwordx4", of=(AT, QUAD, 0), modifiers="offen lds")
    found = effects_of(copy)
    assert "lds" in found.writes & found.lands
    price = price_of(copy, "gfx950")
    read = Node(frozenset(["lds"]), frozenset(["value"]), Price("lds"))
    copied = Node(frozenset(), frozenset(["lds"]), price, lands=frozenset(["lds"]))
    stored = copied._replace(lands=frozenset())
    assert needs_of([copied, read])[1] == Needs(set(), {0})
    assert needs_of([stored, read])[1] == Needs({0}, set())


class Rows:
    """A row whose order takes so long with some registers, if there is one."""

    def __init__(self, cycles):
        self.taken = cycles

    def lacks(self, limits):
        return limits.vectors not in self.taken

    def cycles(self, limits):
        return self.taken.get(limits.vectors, 20_000)


def rooms(cycles, vectors=120, budget=None):
    """The vector registers that orders of a loop of 400 operations are tried for."""
    code = [say("v_mov_b32", Virtual(), of=(0,)) for _ in range(400)]
    orders = Orders(
        [code], Flow.of([Block(tuple(code), (), 1)]), "gfx942",
        budget or Budget.of_waves(1), [],
    )  # fmt: skip
    orders.alike = vectors
    return orders._rooms([[Rows(cycles)]])


def test_a_wave_less_fits_where_that_is_much_faster():
    """What is waited for alone counts, and what all waves issue: 1600 cycles each."""
    here, fewer = 128, 168
    room, more = here - here // 16, fewer - fewer // 16
    assert rooms({more: 2700}, here) == [fewer, here]
    assert rooms({more: 15_000}, here) == [here]
    assert rooms({room: 20_000, more: 2700}, here) == [here]
    assert rooms({more: 2700}, here, Budget(here)) == [here]


def test_registers_of_a_wave_less_are_given_out(monkeypatch):
    """An order that may take more than as many waves have gets them."""
    monkeypatch.setattr(Orders, "_rooms", lambda own, _: [256, own.alike])
    made = assembled_program(
        [*BEFORE, *many_loads(40), say("s_endpgm")], "gfx942", Budget.of_waves(1), {}
    )
    assert Budget.of_waves(8).vector < made.allocation.vectors <= 256


def test_where_the_given_order_needs_more_than_is_live_a_better_one_has_as_much(
    monkeypatch,
):
    """Tuples leave holes: as many waves as what is live lets fit do not fit at all."""
    asked, beside = [], Budget.beside

    def first_too_few(own, vectors):
        asked.append(vectors)
        return 4 if len(asked) == 1 else beside(own, vectors)

    monkeypatch.setattr(Budget, "beside", first_too_few)
    found = [name for name in names(many_loads(6)) if name != "v_mov_b32"]
    assert found[:6] == ["buffer_load_dwordx4"] * 6
    assert len(asked) > 1
