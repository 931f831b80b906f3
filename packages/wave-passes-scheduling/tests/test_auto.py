"""``auto``: the work that it counts, and which configuration it finds best."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pipelined_kernels import staged_gemm

import wave_core.lang as tkw
from wave_core.compile import Session, WaveCompileOptions
from wave_core.compile.choosing import choices, settlements
from wave_core.compile.front import front_of
from wave_core.symbols.layout import Digit, Layout
from wave_core.targets import Peaks, RegisterFile, generic_target
from wave_passes_scheduling.auto.choose import choose
from wave_passes_scheduling.auto.estimate import (
    Need,
    cycles_of,
    iteration,
    need_of,
    queued,
    streaming,
)
from wave_passes_scheduling.auto.ways import COPIER, POINTED_WAYS, WAYS, ways_for
from wave_passes_scheduling.auto.work import CAREFUL, Fetched, work_of

M, N, K = tkw.sym.M, tkw.sym.N, tkw.sym.K
BLOCK, DEPTH, WAVES = tkw.sym.BLOCK, tkw.sym.DEPTH, tkw.sym.WAVES
SPACE = tkw.sym.SPACE
SHARED, GLOBAL = tkw.SHARED_ADDRESS_SPACE, tkw.GLOBAL_ADDRESS_SPACE

CHIP = replace(
    generic_target(),
    name="chip",
    registers=RegisterFile(total=512, per_wave=512, granule=8, max_waves=8, simds=4),
    peaks=Peaks(100, 2.0, 4000.0, (("f16", 2048),), 256, lds_bytes=128),
)
"""A chip like those of today, which no backend makes code for."""

TILES = tkw.Tunable((BLOCK, DEPTH, WAVES), ((128, 32, 2), (256, 32, 4), (64, 64, 2)))
STAGING = tkw.Tunable(SPACE, (GLOBAL, SHARED))


@pytest.fixture(scope="module")
def session():
    return Session()


def gemm_of(*tunables):
    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, BLOCK, 0),
            tkw.WorkgroupConstraint(N, BLOCK, 1),
            tkw.TilingConstraint(K, DEPTH),
            tkw.WaveConstraint(M, BLOCK / 2),
            tkw.WaveConstraint(N, BLOCK / WAVES),
            tkw.HardwareConstraint(),
            *tunables,
        ]
    )
    def gemm(
        a: tkw.Memory[M, K, SPACE, tkw.f16],
        b: tkw.Memory[N, K, SPACE, tkw.f16],
        c: tkw.Memory[M, N, GLOBAL, tkw.f32],
    ):
        @tkw.iterate(K, init_args=[tkw.Register[M, N, tkw.f32](0.0)])
        def repeat(acc: tkw.Register[M, N, tkw.f32]) -> tkw.Register[M, N, tkw.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return gemm


GEMM = gemm_of(TILES, STAGING)


def options(size, target=CHIP, **more):
    sizes = {M: size, N: size, K: size}
    return WaveCompileOptions(subs=sizes, target=target, preset="auto", **more)


def tile(choice):
    return {str(symbol): value for symbol, value in choice.subs.items()}["BLOCK"]


def presets(found):
    return [each.options["preset"] for each in found]


def test_the_work_of_a_product_is_counted_on_its_trace(session):
    settled = settlements(options(1024), gemm_of(TILES), session)[-1]
    settled = replace(settled, subs={**settled.subs, SPACE: SHARED})
    front = front_of(settled, GEMM, session)
    work = work_of(front.traced, front.geometry, front.target)
    # 64 x 64 x 32 of a wave in instructions of 16 x 16 x 16, 512 FLOPs a cycle.
    assert work.matrix == 4 * 4 * 2 * (2 * 16**3 // 512)
    assert work.issue == 4 * 4 * 2 * CHIP.costs.valu_cycles
    assert (work.vector, work.exchanges) == (0, 0)
    # 64 x 32 elements of 2 bytes for each of two waves; lines of 64 bytes and more.
    row = Fetched(
        4096.0,
        8192.0,
        8192.0 * front.target.memory.cache_line_bytes / 64,
        staged=True,
        piece=2048,
        boxed=True,
    )
    assert work.fetched == (row, row)
    assert (work.carried, work.fragments, work.lds) == (64, 32, 16384)
    assert (work.waves, work.groups, work.trips) == (4, 64, 32)


def chained(*more):
    """A product, two to the power of it, masked, and a product with that."""
    constraints = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.TilingConstraint(K, 32),
        tkw.HardwareConstraint(mma_rows=32),
        *more,
    ]

    @tkw.wave(constraints)
    def both(
        a: tkw.Memory[K, N, GLOBAL, tkw.f16],
        b: tkw.Memory[M, N, GLOBAL, tkw.f16],
        c: tkw.Memory[N, M, GLOBAL, tkw.f32],
    ):
        zero = tkw.Register[N, M, tkw.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkw.Register[N, M, tkw.f32]) -> tkw.Register[N, M, tkw.f32]:
            nothing = tkw.Register[K, M, tkw.f32](0.0)
            scores = tkw.mma(tkw.read(a), tkw.read(b), nothing)
            weights = tkw.cast(tkw.exp2(scores), tkw.f16)
            mapped = tkw.read(a, mapping=TURNED)
            return tkw.mma(mapped, weights, acc)

        tkw.write(repeat, c)

    return both


I, J = (tkw.IndexMapping.iterator(number) for number in (0, 1))
TURNED = tkw.IndexMapping(2, inputs={K: J, N: I}, outputs={N: I, K: J})


def work_of_chained(session, *more, **options):
    sizes = {M: 64, N: 32, K: 64}
    asked = WaveCompileOptions(subs=sizes, target=CHIP, **options)
    front = front_of(asked, chained(*more), session)
    given = options.get("use_fast_math")
    return work_of(front.traced, front.geometry, front.target, fast_math=given)


def test_fast_math_is_reckoned_with_where_the_kernel_or_the_options_allow_it(session):
    exact = work_of_chained(session).vector
    # Of 32 x 32 elements 2 ** x, and narrowed.
    fast = 16 * (CHIP.costs.curved_cycles + CHIP.costs.narrow_cycles)
    assert exact == pytest.approx(CAREFUL * fast)
    assert work_of_chained(session, tkw.FastMath()).vector == fast
    assert work_of_chained(session, use_fast_math=True).vector == fast
    kept = work_of_chained(session, tkw.FastMath(), use_fast_math=False)
    assert kept.vector == exact


def test_products_of_products_run_beside_each_other_and_others_do_not(session):
    asked = WaveCompileOptions(
        subs={M: 4096, N: 32, K: 4096}, target=CHIP, preset="auto"
    )
    assert "prefetch-attention" in presets(choices(asked, chained(), session))
    assert "prefetch-attention" not in presets(choices(options(4096), GEMM, session))


def test_turns_at_units_wait_for_each_other():
    assert queued((30.0, 10.0), 5.0, 1) == 45
    # The second finds the first at a unit as often as that is there.
    assert queued((10.0, 10.0), 0.0, 2) == 30
    many = queued((30.0, 10.0), 100.0, 40)
    assert 40 * 30 <= many < 1.1 * 40 * 30


def product_work(session, size=4096):
    """The work of a product that stages its operands."""
    settled = settlements(options(size), gemm_of(TILES), session)[-1]
    settled = replace(settled, subs={**settled.subs, SPACE: SHARED})
    front = front_of(settled, GEMM, session)
    return work_of(front.traced, front.geometry, front.target)


def test_where_a_workgroup_ends_the_next_begins(session):
    work, (way, *_) = product_work(session), WAYS
    times = [
        cycles_of(replace(work, groups=each * 100), way, Need(64, 0, 3), CHIP)
        for each in (3, 6, 7)
    ]
    # The seventh does not have the compute unit for itself.
    assert times[1] == pytest.approx(2 * times[0])
    assert times[2] / times[1] == pytest.approx(7 / 6, rel=0.01)


STREAM = next(way for way in POINTED_WAYS if way.flight == 3)
"""A way with tiles on their way to three of four buffers."""


def weights_of(session, trips=64):
    """Work that reads far more than it multiplies, each byte of it once."""
    work = product_work(session)
    distinct = 100 * trips * work.lds
    return replace(
        work, matrix=1.0, vector=1.0, groups=100, trips=trips, distinct=distinct
    )


def test_who_reads_more_than_it_multiplies_waits_for_memory(session):
    work = weights_of(session)
    # All that the chip reads, at the rate of its memory.
    least = work.distinct / (4000 / 2.0)
    found = cycles_of(work, STREAM, Need(64, work.lds, 1), CHIP)
    assert least <= found <= 1.25 * least
    # Many products hide it.
    busy = replace(work, matrix=1e5)
    assert streaming(busy, STREAM, 1, CHIP) == 0


def test_bytes_on_their_way_fill_the_latency(session):
    work, bare = weights_of(session), STREAM
    slow = replace(CHIP, costs=replace(CHIP.costs, global_latency=5000))
    times = [
        streaming(work, replace(bare, flight=each), 1, slow) for each in (1.0, 2.0, 4.0)
    ]
    assert times[0] > 1.5 * times[1] > 2 * times[2]
    # Tiles of several workgroups are on their way as well.
    assert streaming(work, replace(bare, flight=1.0), 4, slow) == pytest.approx(
        4 * times[2]
    )


def test_few_compute_units_do_not_take_all_that_memory_gives(session):
    work = weights_of(session)
    quarter = replace(work, groups=25, distinct=work.distinct / 4)
    half = replace(work, groups=50, distinct=work.distinct / 2)
    times = [streaming(each, STREAM, 1, CHIP) for each in (quarter, half, work)]
    assert times[0] == pytest.approx(times[1])
    assert times[1] < 0.75 * times[2]


def test_products_of_products_wait_longer_where_nothing_overlaps(session):
    work, (way, *_) = product_work(session), WAYS
    room = CHIP.memory.lds_bytes
    alone = iteration(work, way.of(work, room), 2, CHIP)
    linked = replace(work, chained=True)
    assert iteration(linked, way.of(linked, room), 2, CHIP) > alone


def test_boxes_are_for_products_that_nothing_stands_between(session):
    boxing = replace(CHIP, direct_by_pointer=True, most_box=256)
    work, room = product_work(session), CHIP.memory.lds_bytes
    linked = replace(work, between=1.0)
    ways = [way for way in ways_for(boxing) if way.direct]
    assert all(way.of(work, room).boxes for way in ways)
    # But where both products are under way while that is computed.
    assert all(way.of(linked, room).boxes == way.beside for way in ways)
    assert any(way.beside for way in ways)


def added_up(scaled):
    """Two products, the second added to the first, or beside it times a factor."""

    @tkw.wave(gemm_of(TILES).constraints)
    def both(
        a: tkw.Memory[M, K, SHARED, tkw.f16],
        b: tkw.Memory[N, K, SHARED, tkw.f16],
        other: tkw.Memory[N, K, SHARED, tkw.f16],
        c: tkw.Memory[M, N, GLOBAL, tkw.f32],
    ):
        @tkw.iterate(K, init_args=[tkw.Register[M, N, tkw.f32](0.0)])
        def repeat(acc: tkw.Register[M, N, tkw.f32]) -> tkw.Register[M, N, tkw.f32]:
            rows = tkw.read(a)
            into = tkw.Register[M, N, tkw.f32](0.0) if scaled else acc
            first = tkw.mma(rows, tkw.read(b), into)
            more = acc + 2.0 * first if scaled else first
            return tkw.mma(rows, tkw.read(other), more)

        tkw.write(repeat, c)

    return both


@pytest.mark.parametrize("scaled", [False, True])
def test_products_that_are_added_up_are_no_products_of_products(scaled, session):
    kernel = added_up(scaled)
    found = choices(options(4096), kernel, session)
    assert found
    assert "prefetch-attention" not in presets(found)
    settled = settlements(options(4096), kernel, session)[-1]
    front = front_of(settled, kernel, session)
    work = work_of(front.traced, front.geometry, front.target)
    # What is multiplied by a factor has registers of its own.
    assert work.between == (64 if scaled else 0)
    assert not work.chained


def test_two_waves_of_a_workgroup_on_a_simd_overlap_partly(session):
    work, (way, *_) = replace(product_work(session), waves=8), WAYS
    taken = iteration(work, way, 1, CHIP)
    beside = iteration(replace(work, waves=4), way, 2, CHIP)
    alone = iteration(replace(work, waves=4), way, 1, CHIP)
    assert beside < taken < 2 * alone


def test_lanes_that_share_a_row_exchange_more_often_in_narrow_instructions(session):
    def exchanges(rows):
        asked = WaveCompileOptions(subs={M: 64, N: 32, K: 64}, target=CHIP)
        front = front_of(asked, reduced(rows), session)
        return work_of(front.traced, front.geometry, front.target).exchanges

    # 64 lanes hold 32 results each twice, or 16 each four times.
    assert (exchanges(32), exchanges(16)) == (1, 2)


def reduced(rows):
    """Maxima of a product, one for each of 32 columns."""
    constraints = [
        tkw.WorkgroupConstraint(M, 32, 0),
        tkw.TilingConstraint(K, 32),
        tkw.HardwareConstraint(mma_rows=rows),
    ]

    @tkw.wave(constraints)
    def most(
        a: tkw.Memory[K, N, GLOBAL, tkw.f16],
        b: tkw.Memory[M, N, GLOBAL, tkw.f16],
        c: tkw.Memory[M, GLOBAL, tkw.f32],
    ):
        least = tkw.Register[M, tkw.f32](-1e6)

        @tkw.iterate(K, init_args=[least])
        def repeat(so_far: tkw.Register[M, tkw.f32]) -> tkw.Register[M, tkw.f32]:
            nothing = tkw.Register[K, M, tkw.f32](0.0)
            return tkw.max(tkw.mma(tkw.read(a), tkw.read(b), nothing), so_far, dim=K)

        tkw.write(repeat, c)

    return most


def test_large_products_take_large_tiles_and_small_ones_fill_the_chip(session):
    large, small = (choices(options(n), GEMM, session)[0] for n in (8192, 512))
    assert tile(large) >= 128
    assert tile(small) == 64
    assert large.options["preset"] != "default"


def test_the_fastest_comes_first_and_what_does_not_fit_last(session):
    found = choices(options(4096), GEMM, session)
    fitting = [each for each in found if not each.refused]
    times = [each.figures["cycles"] for each in fitting]
    assert times == sorted(times)
    assert found[: len(fitting)] == fitting
    assert all(0 < each.figures["% of matrix units"] <= 100 for each in fitting)


COPYING = replace(CHIP, direct_to_lds_bits=(32, 128))


def chosen_with(request_of, target, passes):
    """What is found on a chip where these passes are installed."""
    request = replace(request_of(target), passes=frozenset(passes))
    return [each for each in choose(request) if not each.refused]


@pytest.fixture
def request_of(session, monkeypatch):
    """From a target to what the chooser is asked."""
    monkeypatch.setattr(session.plugins, "load_chooser", lambda _: lambda r: [r])
    return lambda target: choices(options(4096, target), GEMM, session)[0]


def test_direct_copies_are_offered_where_pass_and_chip_have_them(request_of):
    found = chosen_with(request_of, COPYING, {COPIER})
    direct = [each for each in found if "passes" in each.options]
    assert direct
    through = {
        (tuple(each.subs.items()), each.options["preset"]): each.figures["registers"]
        for each in found
        if "passes" not in each.options
    }
    same = [(tuple(row.subs.items()), row.options["preset"]) for row in direct]
    pairs = [
        (row, through[key])
        for row, key in zip(direct, same, strict=True)
        if key in through
    ]
    # Nothing is on its way in registers.
    assert pairs
    assert all(row.figures["registers"] < others for row, others in pairs)
    narrow = replace(CHIP, direct_to_lds_bits=(32,))
    for target, passes in ((COPYING, ()), (CHIP, {COPIER}), (narrow, {COPIER})):
        left = chosen_with(request_of, target, passes)
        assert all("passes" not in each.options for each in left)


def test_unrolled_fetches_come_together_and_are_waited_for_where_they_take_long(
    session,
):
    ways = [way for way in WAYS if way.name == "pingpong" and not way.direct]
    once, twice = sorted(ways, key=lambda way: way.unroll)
    settled = settlements(options(4096), gemm_of(TILES), session)[-1]
    settled = replace(settled, subs={**settled.subs, SPACE: SHARED})
    front = front_of(settled, GEMM, session)
    work = replace(work_of(front.traced, front.geometry, front.target), waves=8)
    slow = replace(CHIP, peaks=replace(CHIP.peaks, l2_bytes=16))
    for target, leaner in ((CHIP, True), (slow, False)):
        times = [iteration(work, way, 1, target) for way in (once, twice)]
        assert (times[1] < times[0]) is leaner


def test_copies_that_alternate_cost_addresses_unless_a_trip_uses_both(session):
    settled = settlements(options(4096), gemm_of(TILES), session)[-1]
    settled = replace(settled, subs={**settled.subs, SPACE: SHARED})
    front = front_of(settled, GEMM, session)
    work = work_of(front.traced, front.geometry, front.target)
    ways = [way for way in WAYS if way.name == "prefetch-attention"]
    once, twice = sorted(ways, key=lambda way: way.unroll)
    assert not twice.placed
    known = replace(once, placed=0.0)
    # Alone on a SIMD nothing overlaps: two tiles of 64 x 32 are read by each wave, a
    # quarter of the workgroup's tiles written, 16 bytes of each lane at a time.
    accesses = (2 * 4096 + 16384 / 4) / (16 * 64)
    more = iteration(work, once, 1, CHIP) - iteration(work, known, 1, CHIP)
    assert more == pytest.approx(accesses * CHIP.costs.valu_cycles)


def test_waves_take_turns_only_where_they_have_priorities(session):
    plain = replace(CHIP, priorities=False)
    for target, some in ((CHIP, True), (plain, False)):
        found = choices(options(4096, target), GEMM, session)
        assert ("pingpong" in presets(found)) is some


def test_copies_that_take_pointers_are_first_where_there_are_some(request_of):
    target = replace(COPYING, direct_by_pointer=True, priorities=False)
    found = chosen_with(request_of, target, {COPIER})
    assert found[0].options["preset"] == "modulo"
    assert found[0].options["passes"]


@pytest.mark.parametrize(("size", "some"), [(4096, True), (4098, True), (4097, False)])
def test_rows_between_two_places_are_not_copied_by_pointers(
    session, monkeypatch, size, some
):
    target = replace(COPYING, direct_by_pointer=True, direct_to_lds_bits=(32, 128))
    monkeypatch.setattr(session.plugins, "load_chooser", lambda _: lambda r: [r])
    asked = choices(options(size, target), GEMM, session)[0]
    found = choose(replace(asked, passes=frozenset({COPIER})))
    assert any("passes" in each.options for each in found) is some


@pytest.mark.parametrize(("sizes", "each"), [((), 0), ((M,), 1), ((M, K), 2)])
def test_conditions_of_copies_take_registers_where_lanes_keep_them(
    session, sizes, each
):
    """64 lanes of each wave move 16 bytes of both tiles at a time."""
    keeping = replace(CHIP, registers=replace(CHIP.registers, conditions=True))
    asked = options(4096, keeping)
    asked = replace(asked, subs={**asked.subs, **dict.fromkeys(sizes, 4095)})
    settled = settlements(asked, gemm_of(TILES), session)[-1]
    settled = replace(settled, subs={**settled.subs, SPACE: SHARED})
    front = front_of(settled, GEMM, session)
    work = work_of(front.traced, front.geometry, front.target)
    rows = [row.masked for row in work.staged]
    assert sorted(rows) == [each // 2 * 2, each]
    way = WAYS[0]
    usual, kept = (need_of(work, way, chip).registers for chip in (CHIP, keeping))
    pieces = [row.of_group / (work.lanes * work.waves * 16) for row in work.staged]
    assert kept - usual == sum(n * e for n, e in zip(pieces, rows, strict=True))


def test_boxes_have_no_conditions(session):
    keeping = replace(CHIP, registers=replace(CHIP.registers, conditions=True))
    work, way = product_work(session, 4088), replace(WAYS[0], direct=True)
    assert all(row.boxed and row.masked for row in work.staged)
    boxes = replace(way, boxes=True)
    usual, kept = (need_of(work, way, chip).registers for chip in (CHIP, keeping))
    assert need_of(work, boxes, keeping).registers == usual < kept


def test_rows_that_begin_between_lines_touch_one_more(session):
    """Rows of 32 elements of f16 in lines of 128 bytes, by where they may begin."""
    line = CHIP.memory.cache_line_bytes
    touched = {4096: line, 4104: 64 + line - 16, 4097: 64 + line - 2}
    for size, read in touched.items():
        for row in product_work(session, size).staged:
            assert row.lines == row.of_group * read / 64


def test_of_ways_as_fast_those_that_are_further_ahead_come_first(request_of):
    target = replace(COPYING, direct_by_pointer=True, priorities=False)
    slow = replace(target, peaks=replace(target.peaks, l2_bytes=1))
    found = chosen_with(request_of, slow, {COPIER})
    ranks = [(each.figures["cycles"], -each.figures["bytes of LDS"]) for each in found]
    assert ranks == sorted(ranks)
    assert len({cycles for cycles, _ in ranks}) < len(ranks)


def test_options_of_a_choice_can_be_given():
    boxing = replace(CHIP, direct_by_pointer=True, most_box=256)
    for way in (*WAYS, *POINTED_WAYS, *ways_for(boxing)):
        asked = replace(options(4096), **way.options)
        assert asked.preset == way.name
        assert asked.unroll_factor == way.unroll
        assert asked.multi_buffer_count == (way.copies if way.more else None)
        assert [row.name for row in asked.passes] == [COPIER] * way.direct
        boxes = [dict(row.options).get("boxes", False) for row in asked.passes]
        assert boxes == [way.boxes] * way.direct
    assert any(way.boxes for way in ways_for(boxing))


SMALL = replace(CHIP, registers=replace(CHIP.registers, total=256, per_wave=128))
NARROW = replace(CHIP, memory=replace(CHIP.memory, lds_bytes=20000))


@pytest.mark.parametrize(
    ("target", "size", "why"),
    [
        (SMALL, 4096, " registers, and a wave has 128"),
        (NARROW, 4096, "2 copies of its tiles take 65536 bytes of LDS, and there are"),
        (CHIP, 4096, "waves of a SIMD have to alternate: 4 waves are too few"),
        (CHIP, 64, "iterations are too few to overlap"),
    ],
    ids=["registers", "LDS", "waves", "iterations"],
)
def test_what_does_not_fit_says_why(session, target, size, why):
    found = choices(options(size, target), GEMM, session)
    assert any(why in each.refused for each in found)
    assert not found[0].refused


def test_waves_of_a_simd_leave_a_wave_fewer_registers(session):
    found = choices(options(4096, waves_per_eu=4), GEMM, session)
    fitting = [each for each in found if not each.refused]
    assert all(each.figures["registers"] <= 128 for each in fitting)
    assert any(each.figures["registers"] > 128 for each in found)


def test_what_the_author_schedules_stays(session):
    found = choices(options(4096, unroll_factor=2), GEMM, session)
    assert set(presets(found)) == {"default"}
    (kept,) = {each.unroll_factor for each in settlements(options(512), GEMM, session)}
    assert kept == 1


def test_what_the_author_binds_stays(session):
    asked = WaveCompileOptions(
        subs={M: 4096, N: 4096, K: 4096, BLOCK: 64}, target=CHIP, preset="auto"
    )
    found = settlements(asked, GEMM, session)
    assert {each.subs[next(iter(TILES.symbols))] for each in found} == {64}


def test_sizes_of_the_launch_are_taken_for_large(session):
    asked = WaveCompileOptions(dynamic_symbols=[M, N, K], target=CHIP, preset="auto")
    assert tile(choices(asked, GEMM, session)[0]) >= 128


def test_tiles_that_the_author_copies_go_through_lds_as_they_are(session):
    asked = options(512)
    front = front_of(
        settlements(asked, staged_gemm(), session)[-1], staged_gemm(), session
    )
    work = work_of(front.traced, front.geometry, front.target)
    assert work.lds == 0
    assert [each.staged for each in work.fetched] == [False, False, True, True]


def test_nothing_is_chosen_without_figures_or_products(session):
    assert choices(options(512, "generic"), GEMM, session) == []

    @tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint()])
    def twice(a: tkw.Memory[M, GLOBAL, tkw.f32]):
        tkw.write(tkw.read(a) + tkw.read(a), a)

    asked = WaveCompileOptions(subs={M: 100}, target=CHIP, preset="auto")
    assert choices(asked, twice, session) == []
    assert presets_of(settlements(asked, twice, session)) == ["default"]


def presets_of(found):
    return [each.preset for each in found]


TURNING = replace(CHIP, transposed_read_bits=((16, 64),))
"""The same with transposed reads."""


def crossed(target, session):
    """The work of ``c = a @ b`` with both operands across, staged, on a chip."""
    constraints = [
        tkw.WorkgroupConstraint(M, 256, 0),
        tkw.WorkgroupConstraint(N, 256, 1),
        tkw.WaveConstraint(M, 128),
        tkw.WaveConstraint(N, 64),
        tkw.TilingConstraint(K, 32),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def product(
        a: tkw.Memory[K, M, SHARED, tkw.f16],
        b: tkw.Memory[K, N, SHARED, tkw.f16],
        c: tkw.Memory[M, N, GLOBAL, tkw.f32],
    ):
        zero = tkw.Register[M, N, tkw.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkw.Register[M, N, tkw.f32]) -> tkw.Register[M, N, tkw.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    sizes = {M: 4096, N: 4096, K: 4096}
    asked = WaveCompileOptions(target=target, subs=sizes, preset="default")
    front = front_of(asked, product, session)
    return work_of(front.traced, front.geometry, front.target)


def test_transposed_reads_have_addresses_of_their_own(session):
    work = crossed(TURNING, session)
    # 128 x 32 and 64 x 32 elements of a wave, 4 for each of 64 lanes.
    assert [each.turned for each in work.fetched] == [16, 8]
    assert crossed(CHIP, session).turned == 0
    straight = replace(
        work, fetched=tuple(replace(e, turned=0.0) for e in work.fetched)
    )
    way = next(way for way in WAYS if way.behind)
    more = need_of(work, way, TURNING).registers
    assert more == need_of(straight, way, TURNING).registers + 24


def test_instructions_between_products_of_another_wave_take_longer(session):
    work = crossed(TURNING, session)
    once, twice = (
        next(w for w in WAYS if w.name == "pingpong" and w.unroll == factor)
        for factor in (1, 2)
    )
    assert iteration(work, twice, 1, TURNING) < iteration(work, once, 1, TURNING)
    # Each of 24 addresses of both waves of a SIMD waits for a product, then LDS and
    # memory follow.
    product = work.matrix / work.issue * TURNING.costs.valu_cycles
    lds = (8 * 12288 + 32768) / 128
    memory = sum(each.lines for each in work.fetched) / TURNING.peaks.l2_bytes
    assert iteration(work, once, 1, TURNING) == lds + memory + 2 * 24 * product


def test_tiles_that_are_turned_on_their_way_take_registers_and_turns(session):
    work = crossed(CHIP, session)
    straight = replace(
        work, fetched=tuple(replace(e, packed=0.0) for e in work.fetched)
    )
    way = next(way for way in WAYS if way.name == "pingpong")
    # 8192 elements of each tile, two in a register, by 512 threads: put together anew,
    # and written.
    assert [each.packed for each in work.fetched] == [16, 16]
    more, less = (need_of(each, way, CHIP).registers for each in (work, straight))
    assert more - less == 16
    product = work.matrix / work.issue * CHIP.costs.valu_cycles
    lds = (8 * 12288 + 32768) / 128
    memory = sum(each.lines for each in work.fetched) / CHIP.peaks.l2_bytes
    turned = iteration(work, way, 1, CHIP)
    assert turned == lds + memory + 2 * 0.75 * 32 * product
    assert turned > iteration(straight, way, 1, CHIP)


def test_who_turns_tiles_otherwise_takes_neither(session):
    alone = replace(CHIP, costs=replace(CHIP.costs, mma_beside=False))
    assert crossed(TURNING, session).packed == 0
    assert crossed(alone, session).packed == 0


def test_operands_that_several_lanes_hold_take_more_registers(session):
    def with_rows_in_each_lane(row):
        m, n, k = row.shape
        whole = [
            Layout.make(row.lanes, k, {dim: [lanes], "K": [Digit(1, "reg", 1, k)]})
            for dim, lanes in (
                ("M", Digit(1, "lane", 1, m)),
                ("N", Digit(1, "lane", 1, n)),
            )
        ]
        return replace(row, lhs=whole[0], rhs=whole[1])

    rows = tuple(map(with_rows_in_each_lane, CHIP.matrix_instructions))
    once = crossed(CHIP, session)
    often = crossed(replace(CHIP, matrix_instructions=rows), session)
    # 16 by 16 elements, of which each of 64 lanes holds a row.
    assert {each.repeated for each in once.fetched} == {1}
    assert {each.repeated for each in often.fetched} == {4}
    assert often.fragments == 4 * once.fragments
    assert often.lds == once.lds


def test_what_is_fetched_ahead_without_lds_takes_registers_of_who_reads_it(session):
    staged = crossed(CHIP, session)
    fetched = tuple(replace(each, staged=False) for each in staged.fetched)
    unstaged = replace(staged, fetched=fetched)
    assert unstaged.unstaged == unstaged.fragments == staged.fragments
    prefetch = next(way for way in WAYS if way.name == "prefetch" and way.ahead)
    waiting, ahead = (
        need_of(unstaged, replace(prefetch, ahead=ahead), CHIP).registers
        for ahead in (0.0, 1.5)
    )
    assert ahead - waiting == round((1.5 - prefetch.live) * staged.fragments)
