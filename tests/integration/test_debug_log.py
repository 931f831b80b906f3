"""`debug_log` keeps the same values on every device and changes no result."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import wave_core.lang as tkw
from wave_core.compile import default_session, wave_compile
from wave_core.diagnostics import LaunchError, SimulationError
from wave_core.ir import parse_graph

M, N, K = tkw.sym.M, tkw.sym.N, tkw.sym.K
BLOCK, SPACE = tkw.sym.BLOCK, tkw.sym.SPACE
GLOBAL = tkw.GLOBAL_ADDRESS_SPACE
Matrix = tkw.Memory[M, N, GLOBAL, tkw.f32]

DEVICES = [
    pytest.param("sim-logical", "generic", id="tiles"),
    pytest.param("sim", "generic", id="lanes"),
    pytest.param("emulator", "gfx942", id="gfx942"),
    pytest.param("emulator", "gfx950", id="gfx950"),
    pytest.param("emulator", "gfx1100", id="gfx1100"),
]
DIFFERENT = ("pingpong", "prefetch-attention")
"""Presets that move what is logged the farthest; the others are for `-m fuzz`."""

PRESETS = [
    pytest.param(name, marks=() if name in DIFFERENT else pytest.mark.fuzz)
    for name in sorted(default_session().plugins.presets)
]
ON = pytest.mark.parametrize(("device", "target"), DEVICES)


def lanes(target):
    return 32 if target.startswith("gfx1") else 64


def launch(kernel, subs, arguments, **options):
    """Compile and run; the logs."""
    logs = {}
    given = tkw.WaveCompileOptions(subs=subs, **options)
    wave_compile(given, kernel)(*arguments, debug_logs=logs)
    return logs


def product(width, *, log):
    """A product through LDS, with the accumulator of each iteration in a log."""

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, BLOCK, 0),
            tkw.WorkgroupConstraint(N, BLOCK, 1),
            tkw.TilingConstraint(K, 32),
            tkw.WaveConstraint(M, BLOCK / 2),
            tkw.WaveConstraint(N, BLOCK / 2),
            tkw.HardwareConstraint(threads_per_wave=width),
        ]
    )
    def gemm(
        a: tkw.Memory[M, K, SPACE, tkw.f16],
        b: tkw.Memory[N, K, SPACE, tkw.f16],
        c: tkw.Memory[M, N, GLOBAL, tkw.f32],
    ):
        @tkw.iterate(K, init_args=[tkw.Register[M, N, tkw.f32](0.0)])
        def total(acc):
            left = tkw.read(a)
            acc = tkw.mma(left, tkw.read(b), acc)
            if log:
                dims = [("STEP", K)]
                tkw.debug_log(acc, "acc", extra_iteration_dimensions=dims, printer=None)
                tkw.debug_log(left, "left", printer=None)
            return acc

        tkw.write(total, c)

    return gemm


def run_product(device, target, preset="default", dynamic=()):
    """A product with and without logs: both results, the right one, and the logs."""
    rng = np.random.default_rng(3)
    rows, columns, depth = 40, 50, 100
    a = rng.standard_normal((rows, depth)).astype("f2")
    b = rng.standard_normal((columns, depth)).astype("f2")
    sizes = {M: rows, N: columns, K: depth}
    subs = {key: size for key, size in sizes.items() if key not in dynamic}
    subs |= {BLOCK: 32, SPACE: tkw.SHARED_ADDRESS_SPACE}
    results, logs = [], {}
    for log in (False, True):
        c = np.full((rows, columns), np.nan, "f4")
        options = tkw.WaveCompileOptions(
            subs=subs,
            device=device,
            target=target,
            preset=preset,
            dynamic_symbols=list(dynamic),
        )
        wave_compile(options, product(lanes(target), log=log))(a, b, c, debug_logs=logs)
        results.append(c)
    left, right = a.astype("f8"), b.astype("f8")
    steps = [left[:, :end] @ right[:, :end].T for end in (32, 64, 96, 100)]
    return results, np.stack(steps), left, logs


def check_product(results, steps, left, logs):
    np.testing.assert_array_equal(*results)
    acc, operand = logs["acc"], logs["left"]
    assert acc["symbolic_shape"] == ("STEP", "M", "N")
    assert acc["iteration_dimensions"] == ("STEP",)
    assert acc["logged"].all()
    np.testing.assert_allclose(acc["value"], steps, atol=1e-4)
    np.testing.assert_array_equal(acc["value"][-1], results[1])
    # Two workgroups on the axis of N read the same rows.
    assert operand["symbolic_shape"] == ("WORKGROUP_1", "M", "K")
    assert all(np.array_equal(part, left) for part in operand["value"])


@ON
def test_each_iteration_of_a_product(device, target):
    check_product(*run_product(device, target))


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_keep_the_logs(preset):
    check_product(*run_product("emulator", "gfx950", preset, dynamic=(M, N, K)))


def rows_kernel(target):
    hardware = tkw.HardwareConstraint(threads_per_wave=lanes(target))

    @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), tkw.WaveConstraint(M, 2), hardware])
    def rows(a: Matrix, b: Matrix):
        x = tkw.read(a)
        total = tkw.sum(x, dim=N)
        logged = {
            "total": total,
            "positive": x > 0.0,
            "half": tkw.cast(x, tkw.f16),
            "bf16": tkw.cast(x, tkw.bf16),
            "byte": tkw.cast(x * 10.0, tkw.i8),
            "u32": tkw.cast(tkw.abs(x) * 10.0, tkw.u32),
            "long": tkw.cast(x * 10.0, tkw.i64),
            "index": tkw.self_index(N, tkw.i32),
        }
        for label, value in logged.items():
            tkw.debug_log(value, label, printer=None)

        @tkw.conditional(tkw.WORKGROUP_0 > 0)
        def _():
            tkw.debug_log(x, "later", printer=None)
            tkw.debug_log(tkw.cast(x, tkw.i32), "later_int", printer=None)

        tkw.write(x - tkw.broadcast(total, target_shape=[M, N]), b)

    return rows


@pytest.mark.parametrize(
    ("device", "target", "m", "n"),
    [
        ("sim-logical", "generic", 7, 37),
        ("sim", "generic", 1, 1),
        ("sim", "generic", 7, 37),
        ("emulator", "gfx942", 7, 37),
        ("emulator", "gfx950", 9, 100),
        ("emulator", "gfx1100", 5, 64),
    ],
)
def test_types_and_masks(device, target, m, n):
    """What exists is logged once, each type as its own values."""
    a = np.random.default_rng(m).standard_normal((m, n)).astype("f4")
    b = np.full_like(a, np.nan)
    options = {"device": device, "target": target, "dynamic_symbols": [M]}
    logs = launch(rows_kernel(target), {N: n}, (a, b), **options)
    value = {label: log["value"] for label, log in logs.items()}
    tens = np.trunc(a * np.float32(10))
    np.testing.assert_allclose(value["total"], a.sum(1, dtype="f8"), atol=1e-4)
    np.testing.assert_array_equal(value["positive"], a > 0)
    np.testing.assert_array_equal(value["half"], a.astype("f2"))
    assert torch.equal(
        torch.from_numpy(value["bf16"].astype("f4")),
        torch.from_numpy(a).bfloat16().float(),
    )
    for label, dtype in (("byte", "i4"), ("long", "i8")):
        assert value[label].dtype == dtype
        np.testing.assert_array_equal(value[label], tens)
    np.testing.assert_array_equal(value["u32"], np.abs(tens))
    assert value["index"].shape == (-(-m // 4), n)
    assert (value["index"] == np.arange(n)).all()
    np.testing.assert_allclose(b, a - a.sum(1, keepdims=True), atol=1e-4)
    there = np.zeros((m, n), bool)
    there[4:] = True
    assert all(logs[each]["logged"].all() for each in logs if "later" not in each)
    for label in ("later", "later_int"):
        np.testing.assert_array_equal(logs[label]["logged"], there)
    np.testing.assert_array_equal(value["later"], np.where(there, a, np.nan))
    np.testing.assert_array_equal(value["later_int"], np.where(there, np.trunc(a), 0))


@ON
def test_nested_and_while_loops(device, target):
    hardware = tkw.HardwareConstraint(threads_per_wave=lanes(target))
    tiles = [tkw.TilingConstraint(N, 16), tkw.TilingConstraint(K, 2)]

    @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), *tiles, hardware])
    def nested(a: Matrix, b: tkw.Memory[M, GLOBAL, tkw.f32]):
        zero = tkw.Register[M, tkw.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def outer(acc):
            @tkw.iterate(N, init_args=[acc], start=1)
            def inner(acc):
                acc = tkw.sum(tkw.read(a), acc, dim=N)
                dims = [K, ("COLUMN", N)]
                tkw.debug_log(acc, "acc", extra_iteration_dimensions=dims, printer=None)
                return acc

            return inner

        at = tkw.scalar(0, tkw.i32)

        @tkw.iterate(N, start=at, condition=N < 2)
        def first_two():
            tkw.debug_log(tkw.read(a), "tile", printer=None)
            tkw.set_symbol(N, N + 1)

        tkw.write(outer, b)

    a = np.random.default_rng(5).standard_normal((6, 40)).astype("f4")
    sizes = {M: 6, N: 40, K: 4}
    logs = launch(nested, sizes, (a, np.empty(6, "f4")), device=device, target=target)
    one, two = a[:, 16:32].sum(1, dtype="f8"), a[:, 32:].sum(1, dtype="f8")
    want = [[one, one + two], [2 * one + two, 2 * one + 2 * two]]
    assert logs["acc"]["symbolic_shape"] == ("K", "COLUMN", "M")
    np.testing.assert_allclose(logs["acc"]["value"], want, atol=1e-4)
    there = np.broadcast_to(np.arange(40) < 32, (6, 40))
    np.testing.assert_array_equal(logs["tile"]["logged"], there)
    np.testing.assert_array_equal(logs["tile"]["value"], np.where(there, a, np.nan))


I, J = tkw.IndexMapping.iterator(0), tkw.IndexMapping.iterator(1)
TURNED = tkw.IndexMapping(2, inputs={M: I, N: J}, outputs={N: J, M: I})


@ON
def test_mappings_and_scalars(device, target):
    hardware = tkw.HardwareConstraint(threads_per_wave=lanes(target))

    @tkw.wave([tkw.WorkgroupConstraint(M, 4, 0), hardware])
    def scaled(a: Matrix, b: Matrix, factor: tkw.f32):
        x = tkw.read(a)
        tkw.debug_log(x, "turned", mapping=TURNED, printer=None)
        tkw.debug_log(factor, printer=None)
        tkw.debug_log(tkw.scalar(tkw.WORKGROUP_0 * 2, tkw.i32), printer=None)
        tkw.write(x * factor, b)

    a = np.random.default_rng(6).standard_normal((6, 10)).astype("f4")
    given = (a, np.empty_like(a), 3.5)
    logs = launch(scaled, {M: 6, N: 10}, given, device=device, target=target)
    assert logs["turned"]["symbolic_shape"] == ("N", "M")
    np.testing.assert_array_equal(logs["turned"]["value"], a.T)
    assert logs["debug_log_1"]["value"].tolist() == [3.5, 3.5]
    assert logs["debug_log_2"]["value"].tolist() == [0, 2]


@ON
def test_single_threads(device, target):
    """Each workgroup has threads of the same numbers, and a log for each."""
    width = lanes(target)
    rows = [
        tkw.WorkgroupConstraint(M, 2 * width, 0),
        tkw.HardwareConstraint(threads_per_wave=width, waves_per_block=(2,)),
    ]
    vector = tkw.Memory[M, GLOBAL, tkw.f32]

    @tkw.thread(rows)
    def doubled(a: vector, b: vector):
        i = tkw.program_id(0) * tkw.num_threads(0) + tkw.thread_id(0)
        x = tkw.load(a, i, mask=i < M)
        tkw.debug_log(x, "x", printer=None)

        @tkw.conditional(x > 5.0)
        def _():
            tkw.debug_log(x * x, "square", printer=None)

        tkw.store(x + x, b, i, mask=i < M)

    a = np.arange(200, dtype="f4")
    b = np.empty_like(a)
    logs = launch(doubled, {M: 200}, (a, b), device=device, target=target)
    whole = np.zeros(-(-200 // (2 * width)) * 2 * width, "f4")
    whole[:200] = a
    whole = whole.reshape(-1, 2 * width)
    assert logs["x"]["symbolic_shape"][0] == "WORKGROUP_0"
    np.testing.assert_array_equal(b, 2 * a)
    np.testing.assert_array_equal(logs["x"]["value"], whole)
    np.testing.assert_array_equal(logs["square"]["logged"], whole > 5)
    there = np.where(whole > 5, whole * whole, np.nan)
    np.testing.assert_array_equal(logs["square"]["value"], there)


TILE, WORKERS = tkw.sym.TILE, tkw.sym.WORKERS


@ON
def test_workgroups_that_place_their_work(device, target):
    """Two workgroups at one tile do not race for its log; each has its own."""
    hardware = tkw.HardwareConstraint(threads_per_wave=lanes(target))
    rows = [tkw.GridConstraint(WORKERS), tkw.WorkgroupConstraint(M, 4, 0), hardware]

    @tkw.wave(rows)
    def persistent(a: Matrix, b: Matrix):
        start = tkw.scalar(tkw.WORKGROUP_0, tkw.i32)

        @tkw.iterate(TILE, start=start, condition=TILE < tkw.sym.TILES)
        def each():
            tkw.set_symbol(tkw.WORKGROUP_0, TILE)
            x = tkw.read(a)
            tkw.debug_log(x, "x", printer=None)
            tkw.write(x + 1.0, b)
            tkw.set_symbol(TILE, TILE + WORKERS)

    a = np.random.default_rng(4).standard_normal((18, 8)).astype("f4")
    b = np.empty_like(a)
    subs = {M: 18, N: 8, WORKERS: 2, "TILES": 5}
    logs = launch(persistent, subs, (a, b), device=device, target=target)
    np.testing.assert_array_equal(b, a + 1)
    mine = np.arange(18) // 4 % 2 == np.arange(2)[:, None]
    log = logs["x"]
    assert log["symbolic_shape"] == ("WORKGROUP_0", "M", "N")
    assert (log["logged"] == mine[..., None]).all()
    np.testing.assert_array_equal(log["value"], np.where(mine[..., None], a, np.nan))


def copy_kernel(**log):
    @tkw.wave([tkw.HardwareConstraint(threads_per_wave=64)])
    def copy(a: tkw.Memory[M, GLOBAL, tkw.f32], b: tkw.Memory[M, GLOBAL, tkw.f32]):
        x = tkw.read(a)
        tkw.debug_log(x + 1.0, "more", **log)
        tkw.debug_log(tkw.sum(x, dim=M), "total", **log)
        tkw.write(x, b)

    return copy


def test_printers_and_handlers():
    """Each log is printed, a handler gets all of them once, equal kernels apart."""
    for _ in range(2):
        printed, handled = [], []
        kernel = copy_kernel(
            printer=lambda label, value, to=printed: to.append((label, value.tolist())),
            handler=handled.append,
        )
        a, b = torch.arange(3.0), torch.empty(3)
        logs = launch(kernel, {M: 3}, (a, b), device="sim")
        assert printed == [("more", [1.0, 2.0, 3.0]), ("total", 3.0)]
        assert [sorted(each) for each in handled] == [["more", "total"]]
        assert isinstance(logs["more"]["value"], torch.Tensor)
        assert torch.equal(b, a)


def test_the_default_prints(capsys):
    launch(copy_kernel(), {M: 3}, (torch.arange(3.0), torch.empty(3)), device="sim")
    assert capsys.readouterr().out == ("more tensor([1., 2., 3.])\ntotal tensor(3.)\n")


def test_logs_of_an_empty_grid():
    a, b = np.empty((0, 5), "f4"), np.empty((0, 5), "f4")
    logs = launch(rows_kernel("generic"), {M: 0, N: 5}, (a, b), device="sim")
    assert logs["later"]["value"].shape == (0, 5)


def test_logs_are_there_although_a_race_is_raised():
    hardware = tkw.HardwareConstraint(threads_per_wave=64)

    @tkw.wave([tkw.WorkgroupConstraint(M, 1, 0), hardware])
    def racing(a: Matrix, b: tkw.Memory[N, GLOBAL, tkw.f32]):
        row = tkw.sum(tkw.read(a), dim=M)
        tkw.debug_log(row, "row", printer=None)
        tkw.write(row, b)

    a = np.random.default_rng(1).standard_normal((2, 8)).astype("f4")
    options = tkw.WaveCompileOptions(subs={M: 2, N: 8}, device="sim")
    logs = {}
    with pytest.raises(SimulationError):
        wave_compile(options, racing)(a, np.empty(8, "f4"), debug_logs=logs)
    np.testing.assert_array_equal(logs["row"]["value"], a)


def test_the_graph_is_text():
    options = tkw.WaveCompileOptions(subs={M: 6, N: 40}, device="sim")
    text = str(wave_compile(options, rows_kernel("generic")).trace_graph)
    assert str(parse_graph(text)) == text


def test_the_signature_is_the_authors():
    kernel = wave_compile(
        tkw.WaveCompileOptions(subs={M: 3}, device="sim"), copy_kernel(printer=None)
    )
    assert str(kernel.signature) == "copy(a: f32[M], b: f32[M])"
    kernel(b=np.empty(3, "f4"), a=np.ones(3, "f4"))
    assert kernel.last_run.logs["total"]["value"] == 3.0


def rendered(error):
    lines = str(error.value).splitlines()
    return "\n".join(line for line in lines if "-->" not in line and "|" not in line)


def test_too_large_a_log():
    a, b = np.zeros(3, "f4"), np.zeros(3, "f4")
    mapping = tkw.IndexMapping(1, inputs={M: I}, outputs={M: I, N: 0})
    kernel = copy_kernel(printer=None)

    @tkw.wave([tkw.HardwareConstraint(threads_per_wave=64)])
    def wide(a: tkw.Memory[M, GLOBAL, tkw.f32], b: tkw.Memory[M, GLOBAL, tkw.f32]):
        tkw.debug_log(tkw.read(a), "wide", mapping=mapping, printer=None)
        tkw.write(tkw.read(a), b)

    with pytest.raises(LaunchError) as error:
        launch(wide, {M: 3, N: 1 << 30}, (a, b), device="sim")
    assert rendered(error) == (
        "error[WV0721]: log `wide` has 3 x 1073741824 elements\n"
        "    = help: launch a smaller problem, or name fewer iteration dimensions\n"
        "    = help: log a part: `mapping=` says which elements go where"
    )
    options = tkw.WaveCompileOptions(subs={M: 3}, device="sim")
    with pytest.raises(LaunchError) as error:
        wave_compile(options, kernel)(a, b, debug_logs=True)
    assert rendered(error) == (
        "error[WV0722]: `debug_logs` of `copy` is a bool\n"
        "    = help: give a dictionary: `logs = {}`, `debug_logs=logs`"
    )
