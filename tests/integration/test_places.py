"""Symbols and mappings that name the place of a workgroup, and spaces by symbols."""

from __future__ import annotations

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import UserError

sym = tkl.sym
B, M, N, OFF, SPACE, OTHER, TILE = (
    getattr(sym, x) for x in ("B", "M", "N", "OFF", "SPACE", "OTHER", "TILE")
)
GLOBAL, SHARED = tkl.GLOBAL_ADDRESS_SPACE, tkl.SHARED_ADDRESS_SPACE
DEVICES = [
    ("sim-logical", "gfx942"),
    ("sim", "gfx942"),
    ("emulator", "gfx942"),
    ("emulator", "gfx950"),
]
i, j = (tkw.IndexMapping.iterator(n) for n in range(2))
ROWS = [
    tkw.WorkgroupConstraint(N, 32, 0),
    tkw.WorkgroupConstraint(M, 1, 1),
    tkw.HardwareConstraint(),
]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


@pytest.fixture(params=DEVICES, name="run", ids="-".join)
def _run(request, session):
    device, target = request.param

    def run(kernel, subs, *arrays, preset="default"):
        options = tkl.WaveCompileOptions(
            subs=subs, device=device, target=target, preset=preset
        )
        wave_compile(options, kernel, session=session)(*arrays)

    return run


def rows_of(count, length):
    rng = np.random.default_rng(count)
    x = rng.standard_normal((count, length)).astype(np.float32)
    return x, np.full_like(x, np.nan)


def reading(inputs, rows=ROWS):
    mapping = tkw.IndexMapping(2, inputs=inputs, outputs={M: i, N: j})

    @tkw.wave(rows)
    def kernel(
        x: tkl.Memory[B, N, GLOBAL, tkl.f32], y: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.read(x, mapping=mapping), y)

    return kernel


def test_a_symbol_may_be_bound_to_an_expression_of_the_place(run):
    x, y = rows_of(5, 40)
    subs = {M: 5, B: 5, N: 40, OFF: 4 - tkw.WORKGROUP_1}
    run(reading({B: OFF, N: j}), subs, x, y)
    np.testing.assert_array_equal(y, x[::-1])


def test_the_place_on_an_axis_that_the_grid_has_not_is_the_first(run):
    x, y = rows_of(5, 40)
    run(reading({B: i + tkw.WORKGROUP_2, N: j}), {M: 5, B: 5, N: 40}, x, y)
    np.testing.assert_array_equal(y, x)


def test_a_constraint_may_start_at_a_place(run):
    rows = [
        tkw.WorkgroupConstraint(M, 1, 0),
        tkw.TilingConstraint(N, 16, iters=1, start=OFF),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(rows)
    def kernel(
        x: tkl.Memory[M, N, GLOBAL, tkl.f32], y: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        @tkw.iterate(N)
        def loop():
            tkw.write(tkw.read(x), y)

    x, y = rows_of(3, 48)
    run(kernel, {M: 3, N: 48, OFF: tkw.WORKGROUP_0 * 16}, x, y)
    wanted = np.full_like(x, np.nan)
    for row in range(3):
        wanted[row, 16 * row : 16 * row + 16] = x[row, 16 * row : 16 * row + 16]
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("extra", [0, i])
def test_a_coordinate_that_the_memory_lacks_may_name_one_place(run, extra):
    mapping = tkw.IndexMapping(2, inputs={M: extra, N: j}, outputs={M: i, N: j})

    @tkw.wave(ROWS)
    def kernel(x: tkl.Memory[N, GLOBAL, tkl.f32], y: tkl.Memory[M, N, GLOBAL, tkl.f32]):
        tkw.write(tkw.read(x, mapping=mapping), y)

    x, y = rows_of(4, 40)
    run(kernel, {M: 4, N: 40}, x[0].copy(), y)
    np.testing.assert_array_equal(y, np.broadcast_to(x[0], y.shape))


def test_a_coordinate_that_the_memory_lacks_and_that_varies_is_refused():
    mapping = tkw.IndexMapping(2, inputs={OFF: j, B: i, N: j}, outputs={M: i, N: j})

    @tkw.wave(ROWS)
    def kernel(
        x: tkl.Memory[B, N, GLOBAL, tkl.f32], y: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.read(x, mapping=mapping), y)

    with pytest.raises(UserError, match="gives coordinates along") as caught:
        kernel.trace()
    assert caught.value.code == "WV0401"


def test_spaces_by_symbols(run):
    @tkw.wave(ROWS)
    def kernel(
        x: tkl.Memory[M, N, OTHER, tkl.f32], y: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        buffer = tkw.allocate((M, N), (1, 32), tkl.f32, SPACE)
        tkw.write(tkw.read(x), buffer)
        tkw.write(tkw.read(buffer), y)

    x, y = rows_of(3, 40)
    run(kernel, {M: 3, N: 40, SPACE: SHARED, OTHER: SPACE}, x, y)
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("preset", ["default", "four-stage"])
def test_a_symbol_names_the_tile_of_a_loop(run, preset):
    """Tiles are read from the last one on."""
    rows = [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.TilingConstraint(N, 16, induction_var=TILE),
        tkw.HardwareConstraint(),
    ]
    backwards = tkw.IndexMapping(
        2, inputs={M: i, N: 16 * (3 - 2 * TILE) + j}, outputs={M: i, N: j}
    )

    @tkw.wave(rows)
    def kernel(
        x: tkl.Memory[M, N, GLOBAL, tkl.f32], y: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        @tkw.iterate(N)
        def body():
            found = tkw.read(x, mapping=backwards)
            tkw.write(found + tkw.scalar(TILE, tkl.f32), y)

    x, y = rows_of(16, 64)
    run(kernel, {M: 16, N: 64}, x, y, preset=preset)
    tiles = x.reshape(16, 4, 16)[:, ::-1] + np.arange(4, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(y, tiles.reshape(16, 64))


def naming(body):
    """A loop with a name for its tile; ``body`` is what follows and what it does."""

    @tkw.wave([tkw.TilingConstraint(N, 16, TILE), tkw.HardwareConstraint()])
    def kernel(x: tkl.Memory[N, GLOBAL, tkl.f32]):
        @tkw.iterate(N)
        def loop():
            body()

        if body.__name__ == "after":
            tkw.scalar(TILE, tkl.i32)

    return kernel


def test_the_name_of_a_tile_has_no_value_after_the_loop(session):
    def after():
        pass

    options = tkl.WaveCompileOptions(subs={N: 64}, device="sim")
    with pytest.raises(UserError, match="symbol `TILE` has no value") as caught:
        wave_compile(options, naming(after), session=session)
    assert caught.value.code == "WV0301"


def test_the_name_of_a_tile_cannot_be_set():
    def within():
        tkw.set_symbol(TILE, tkw.scalar(3, tkl.i32))

    with pytest.raises(UserError, match="`TILE`, which has a value already") as caught:
        naming(within).trace()
    assert caught.value.code == "WV0118"


WAVES = [
    tkw.WorkgroupConstraint(M, 8, 0),
    tkw.WaveConstraint(M, 4),
    tkw.WorkgroupConstraint(N, 32, 1),
    tkw.WaveConstraint(N, 16),
    tkw.HardwareConstraint(threads_per_wave=64),
]


def of_waves(value):
    """A kernel that adds to each element what ``value`` makes of it."""

    @tkw.wave(WAVES)
    def kernel(
        x: tkl.Memory[M, N, GLOBAL, tkl.f32], y: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        tkw.write(value(tkw.read(x)), y)

    return kernel


def chosen(x):
    @tkw.conditional(tkw.THREAD_0 // 64 + 2 * tkw.THREAD_1 >= 2, else_return=[x])
    def second():
        return x + 5.0

    return second


def named(x):
    tkw.set_symbol(OFF, tkw.THREAD_1 * 3)
    return x + tkw.scalar(OFF, tkl.f32)


WAVE = (np.arange(8)[:, None] // 4, np.arange(64) // 16 % 2)
"""Of each element, which wave has it, along both axes."""


@pytest.mark.parametrize(
    ("value", "more"),
    [
        (lambda x: x + (tkw.THREAD_0 // 64 + 10 * tkw.THREAD_2), WAVE[0] + 0 * WAVE[1]),
        (lambda x: x * tkw.scalar(tkw.THREAD_1, tkl.f32), None),
        (chosen, 5 * (WAVE[1] + 0 * WAVE[0])),
        (named, 3 * (WAVE[1] + 0 * WAVE[0])),
    ],
)
def test_numbers_of_threads_that_a_wave_agrees_in(run, value, more):
    x, y = rows_of(8, 64)
    run(of_waves(value), {M: 8, N: 64}, x, y)
    wanted = x * WAVE[1] if more is None else x + more.astype(np.float32)
    np.testing.assert_array_equal(y, wanted)


def test_a_wave_may_be_placed_by_the_number_of_its_threads(run):
    rows = [
        tkw.WorkgroupConstraint(N, 64, 0),
        tkw.WaveConstraint(N, 32, wave_id=1 - tkw.THREAD_0 // 64),
        tkw.HardwareConstraint(threads_per_wave=64, waves_per_block=(2,)),
    ]

    @tkw.wave(rows)
    def kernel(x: tkl.Memory[N, GLOBAL, tkl.f32], y: tkl.Memory[N, GLOBAL, tkl.f32]):
        tkw.write(tkw.read(x) + tkw.THREAD_0 // 64, y)

    x, y = (row[0] for row in rows_of(1, 100))
    run(kernel, {N: 100}, x, y)
    wave = 1 - np.arange(100) % 64 // 32
    np.testing.assert_array_equal(y, x + wave.astype(np.float32))


@pytest.mark.parametrize(
    ("lanes", "hint"),
    [
        (64, "`THREAD_0 // 64` is the number of the wave"),
        (None, "with `threads_per_wave=64`, `THREAD_0 // 64` is the number"),
    ],
)
def test_numbers_of_threads_in_which_lanes_differ(lanes, hint):
    @tkw.wave([tkw.HardwareConstraint(threads_per_wave=lanes)])
    def kernel(x: tkl.Memory[N, GLOBAL, tkl.f32]):
        tkw.write(tkw.read(x) + tkw.THREAD_0 // 32, x)

    with pytest.raises(UserError, match="`THREAD_0` is for single threads") as caught:
        kernel.trace()
    assert caught.value.code == "WV0150"
    assert hint in str(caught.value)
