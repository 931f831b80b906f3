"""No preset spills: a schedule that needs too many registers gives way."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import pytest

import wave_core.lang as tkw
from wave_backend_amdgpu.compile.backend import compile_graph, settings_of
from wave_core.compile import Config, Session, run_case, wave_compile
from wave_core.compile.choosing import open_values
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case
from wave_core.diagnostics import UserError
from wave_core.plugin import Choice
from wave_kernels.definitions.gemm import gemm_kernel

M, N, K = tkw.sym.M, tkw.sym.N, tkw.sym.K
SIDE = 4096
SHARED, GLOBAL = tkw.SHARED_ADDRESS_SPACE, tkw.GLOBAL_ADDRESS_SPACE
PRESETS = (
    "default",
    "prefetch",
    "fetch-ahead",
    "four-stage",
    "modulo",
    "pingpong",
    "prefetch-attention",
)
CHIPS = ("gfx942", "gfx950")
SIZES = (64, 128, 256)
REFUSALS = {"WV0406", "WV0605"}
"""More LDS or more registers than there are, with the numbers."""
TILES = tuple(product(SIZES, SIZES, (32, 64), (4, 8)))
FEW = (
    ("gfx942", "fetch-ahead", (256, 256, 64, 4)),
    ("gfx942", "modulo", (256, 256, 64, 16)),
    ("gfx950", "pingpong", (256, 256, 64, 8)),
    ("gfx950", "four-stage", (256, 256, 64, 8)),
    ("gfx942", "modulo", (256, 256, 64, 8)),
    ("gfx950", "four-stage", (256, 256, 64, 4)),
)
MANY = [row for row in product(CHIPS, PRESETS[:-1], TILES) if row not in FEW]
CASES = [*FEW, *(pytest.param(*row, marks=pytest.mark.fuzz) for row in MANY)]
LIBRARY = {
    "gemm": dict.fromkeys("MNK", SIDE),
    "gemm-staged": dict.fromkeys("MNK", SIDE),
    "attention": {"B": 64, "M": SIDE, "N": 64, "K1": 64, "K2": SIDE},
    "attention-heads": {"B": 4, "M": SIDE, "H": 32, "N": 64, "K1": 64, "K2": SIDE},
    "conv-depthwise": {"N": 32, "H": 64, "W": 64, "C": 64},
    "conv2d": {"N": 32, "H": 64, "W": 64, "C": 64, "NF": 128},
    "conv2d-input": {"N": 32, "H": 64, "W": 64, "C": 64, "NF": 128},
    "conv2d-weight": {"N": 32, "H": 64, "W": 64, "C": 64, "NF": 128},
    "layer-norm": {},
    "rms-norm": {},
    "softmax": {},
    "copy": {},
}
"""Every kernel of the library, at sizes that overlap iterations."""


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def staged_gemm(m, n, k, waves):
    """A product with both factors in LDS; two rows of waves, or four of many."""
    rows = 2 if waves < 16 else 4

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, m, 0),
            tkw.WorkgroupConstraint(N, n, 1),
            tkw.TilingConstraint(K, k),
            tkw.WaveConstraint(M, m // rows),
            tkw.WaveConstraint(N, n // (waves // rows)),
            tkw.HardwareConstraint(),
        ]
    )
    def gemm(
        a: tkw.Memory[M, K, SHARED, tkw.f16],
        b: tkw.Memory[N, K, SHARED, tkw.f16],
        c: tkw.Memory[M, N, GLOBAL, tkw.f32],
    ):
        @tkw.iterate(K, init_args=[tkw.Register[M, N, tkw.f32](0.0)])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return gemm


def spilled(session, kernel, options):
    """Registers that the code object spills."""
    (text,) = emit(options, kernel, "metrics", session).files.values()
    taken = json.loads(text)["resources"]
    return taken["vgpr_spills"] + taken["sgpr_spills"]


@pytest.mark.parametrize(("target", "preset", "tile"), CASES)
def test_products_spill_nothing(session, target, preset, tile):
    subs = dict.fromkeys((M, N, K), SIDE)
    options = tkw.WaveCompileOptions(subs=subs, target=target, preset=preset)
    assert spilled(session, staged_gemm(*tile), options) == 0


@pytest.mark.parametrize(
    ("target", "preset", "width"),
    [
        ("gfx942", "modulo", 128),
        *(
            pytest.param(*row, marks=pytest.mark.fuzz)
            for row in product(CHIPS, PRESETS, (64, 128))
            if row != ("gfx942", "modulo", 128)
        ),
    ],
)
def test_attention_spills_nothing(session, target, preset, width):
    shape = {"B": 4, "M": SIDE, "K2": SIDE, "K1": width, "N": width}
    settings = {"STAGED": 1, "BLOCK_N": width}
    factory = session.plugins.load_kernel("attention")
    case = make_case(factory, "attention", shape, settings, target)
    options = replace(case.options, preset=preset)
    assert spilled(session, case.kernel, options) == 0


@pytest.mark.fuzz
@pytest.mark.parametrize("preset", ["naive", *PRESETS])
@pytest.mark.parametrize("target", CHIPS)
@pytest.mark.parametrize("kernel", LIBRARY)
def test_the_library_spills_nothing(session, kernel, target, preset):
    factory = session.plugins.load_kernel(kernel)
    case = make_case(factory, kernel, LIBRARY[kernel], {}, target)
    found: dict[str, int] = {}
    for values in open_values(case.options, case.kernel, session.target(target)):
        subs = {**case.options.subs, **values}
        options = replace(case.options, subs=subs, preset=preset)
        try:
            spills = spilled(session, case.kernel, options)
        except UserError as error:
            if error.code not in REFUSALS:
                raise
            continue
        found |= {str(values): spills} if spills else {}
    assert not found


@pytest.mark.parametrize("name", ["attention-decode", "attention-varlen"])
def test_ragged_attention_spills_nothing_where_operands_are_held_twice(session, name):
    case = make_case(session.plugins.load_kernel(name), name, {}, {}, "gfx1100")
    assert spilled(session, case.kernel, case.options) == 0


@pytest.mark.parametrize(
    ("name", "target"),
    [("softmax", "gfx942"), ("layer-norm", "gfx950"), ("rms-norm", "gfx1100")],
)
def test_rows_that_no_registers_hold_spill_nothing(session, name, target):
    """Held by four waves, each lane would have 512 elements."""
    sizes = {"M": 8, "N": 131_072}
    case = make_case(session.plugins.load_kernel(name), name, sizes, {}, target)
    assert spilled(session, case.kernel, case.options) == 0


@pytest.mark.parametrize("keys", [200, 256])
def test_code_in_another_order_computes_the_same(session, keys):
    """At these tiles the compiler's usual order of instructions spills."""
    tiles = {"BLOCK_M": 256, "BLOCK_N": 256, "BLOCK_K": 64, "WAVES_M": 2, "WAVES_N": 2}
    factory, shape = session.plugins.load_kernel("gemm"), {"M": 257, "N": 31, "K": keys}
    case = make_case(factory, "gemm", shape, tiles | {"STAGED": 1}, "gfx942")
    options = replace(case.options, preset="fetch-ahead", device="emulator")
    report = run_case(case, options=options, session=session, seed=keys)
    assert report.passed, report.to_json()
    assert report.record.reports == ()


def test_a_schedule_that_does_not_fit_says_what_it_needs(session):
    subs = dict.fromkeys((M, N, K), SIDE)
    options = tkw.WaveCompileOptions(subs=subs, target="gfx950", preset="four-stage")
    kernel = wave_compile(options, staged_gemm(256, 256, 64, 8), session=session)
    (warning,) = kernel.compiled.warnings
    assert warning.code == "WV0508"
    assert "has another schedule than was asked for" in warning.message
    assert "`four-stage` needs 296 registers of 248" in warning.render()


def test_a_choice_whose_loop_has_no_registers_gives_way(session, monkeypatch):
    """The first leaves none to any schedule; asked for by the user, it is told so."""
    first = {"preset": "four-stage", "spare_registers": 400}
    found = [Choice({}, first), Choice({}, {"preset": "fetch-ahead"})]
    monkeypatch.setattr(session.plugins, "load_chooser", lambda _: lambda _: found)
    subs, kernel = dict.fromkeys((M, N, K), SIDE), staged_gemm(128, 128, 32, 4)
    options = tkw.WaveCompileOptions(subs=subs, target="gfx950", preset="auto")
    assert not wave_compile(options, kernel, session=session).compiled.warnings
    asked = replace(options, **first)
    left = wave_compile(asked, kernel, session=session).compiled.warnings
    assert {row.code for row in left} == {"WV0501", "WV0508"}


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ({"preset": "prefetch-attention"}, "WV0501"),
        ({"preset": "default", "reorder": "pingpong"}, "WV0506"),
    ],
    ids=["not pipelined", "not reordered"],
)
def test_a_choice_that_leaves_the_loop_as_it_was_gives_way(
    session, monkeypatch, first, code
):
    """No product of products is here; nothing is read before it is written."""
    found = [Choice({}, first), Choice({}, {"preset": "fetch-ahead"})]
    monkeypatch.setattr(session.plugins, "load_chooser", lambda _: lambda _: found)
    subs, kernel = dict.fromkeys((M, N, K), SIDE), staged_gemm(128, 128, 32, 4)
    options = tkw.WaveCompileOptions(subs=subs, target="gfx942", preset="auto")
    taken = wave_compile(options, kernel, session=session)
    assert (taken.options.preset, taken.warnings) == ("fetch-ahead", ())
    asked = wave_compile(replace(options, **first), kernel, session=session)
    assert {row.code for row in asked.warnings} == {code}


UNSTAGED = {"BLOCK_M": 256, "BLOCK_N": 64, "BLOCK_K2": 32, "WAVES_M": 8, "STAGED": 0}
"""A tile of attention whose operands of four iterations are in registers."""


def test_a_launch_schedules_loops_again_whose_machine_code_spills(session):
    factory = session.plugins.load_kernel("attention")
    shape = {"B": 1, "M": 200, "N": 64, "K1": 64, "K2": 192}
    case = make_case(factory, "attention", shape, UNSTAGED, "gfx950")
    options = replace(case.options, preset="four-stage", device="emulator")
    report = run_case(case, options=options, session=session)
    assert report.passed, report.to_json()
    assert report.record.reports == ()
    left = report.kernel.options.spare_registers
    (warning,) = report.kernel.warnings
    assert left > 0
    assert warning.code == "WV0508"
    assert f"{left} more are left free" in warning.render()


def test_what_spills_in_its_usual_way_is_compiled_by_the_fewest_passes(tmp_path):
    """A product of f32 by one wave: what is staged takes registers on its way."""
    told = []
    kept = Config(cache_dir=tmp_path)
    session = Session(config=kept, announce=told.append)
    rows = tkw.WorkgroupConstraint(M, 80, 0), tkw.WorkgroupConstraint(N, 96, 1)

    @tkw.wave([*rows, tkw.TilingConstraint(K, 96), tkw.HardwareConstraint()])
    def gemm(
        a: tkw.Memory[M, K, SHARED, tkw.f32],
        b: tkw.Memory[K, N, SHARED, tkw.f32],
        c: tkw.Memory[M, N, GLOBAL, tkw.f32],
    ):
        @tkw.iterate(K, init_args=[tkw.Register[M, N, tkw.f32](0.0)])
        def repeat(acc):
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    dynamic = {"dynamic_symbols": (M, N, K), "target": "gfx950"}
    assert spilled(session, gemm, tkw.WaveCompileOptions(**dynamic)) == 0
    (note,) = told
    assert "`gemm` is compiled as preset `naive`" in note
    assert "are spilled" in note


def test_code_that_spills_under_a_schedule_is_refused_with_numbers(session):
    subs = dict.fromkeys((M, N, K), SIDE)
    options = tkw.WaveCompileOptions(subs=subs, target="gfx950", preset="four-stage")
    kernel = wave_compile(options, staged_gemm(256, 256, 64, 4), session=session)
    assert kernel.graph.gives_way
    with pytest.raises(UserError) as caught:
        compile_graph(kernel.graph, kernel.compiled.target, settings_of(options))
    (said,) = caught.value.diagnostics
    assert said.code == "WV0605"
    assert said.data["needed"] - said.data["limit"] == said.data["spilled"] > 0
    assert f"spare_registers={said.data['spilled']}" in said.render()


def test_waves_of_a_simd_leave_schedules_fewer_registers(session):
    subs = dict.fromkeys((M, N, K), SIDE)
    options = tkw.WaveCompileOptions(
        subs=subs, target="gfx942", preset="fetch-ahead", waves_per_eu=4
    )
    kernel = staged_gemm(128, 128, 32, 4)
    assert spilled(session, kernel, options) == 0
    (warning,) = wave_compile(options, kernel, session=session).warnings
    assert "registers of 120" in warning.render()


def test_ping_pong_takes_as_many_clusters_as_registers_ask_for(session):
    def clusters(target):
        subs = dict.fromkeys((M, N, K), SIDE)
        options = tkw.WaveCompileOptions(subs=subs, target=target, preset="pingpong")
        kernel = wave_compile(options, staged_gemm(256, 256, 64, 8), session=session)
        rows = [run.statistics for run in kernel.timings.passes]
        return sum(row.get("clusters", 0) for row in rows)

    assert clusters("gfx950") > 2


def test_code_that_fills_shared_memory_has_the_registers_that_are_left(session):
    """Two workgroups fit; the assembler would spill to have registers for seven."""
    sym = tkw.sym
    tile = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 128, "WAVES_M": 2, "WAVES_N": 2}
    sizes = {"M": 64, "N": 4096, "K": 4096, "MMA_ROWS": 0, **tile}
    subs = {getattr(sym, name): value for name, value in sizes.items()}
    options = tkw.WaveCompileOptions(
        subs={**subs, sym.ADDRESS_SPACE: tkw.SHARED_ADDRESS_SPACE},
        target="sm_90a",
        preset="fetch-ahead",
        multi_buffer_count=4,
        passes=("copy-direct-to-lds{cheaper=true}",),
    )
    kernel = gemm_kernel(tkw.bf16, result=tkw.bf16)
    (made,) = emit(options, kernel, "metrics", session).files.values()
    taken = json.loads(made)["resources"]
    assert (taken["spill_store_bytes"], taken["waves_per_simd"]) == (0, 2)
