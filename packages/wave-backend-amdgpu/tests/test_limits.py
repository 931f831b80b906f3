"""What is refused: too much LDS, too many registers, MLIR that does not compile."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_amdgpu.compile import backend
from wave_backend_amdgpu.compile.backend import (
    Settings,
    compile_graph,
    compile_vmfb,
    mlir_of,
)
from wave_core.analysis.pressure import widest_point
from wave_core.diagnostics import UserError

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


@pytest.fixture
def no_compiler(monkeypatch):
    """Refusals come before the compiler is asked."""

    def run(*_):
        raise AssertionError("the compiler was asked")

    monkeypatch.setattr(backend, "ask", run)


# ---- LDS


def two_buffers():
    @tkw.wave([tkw.WorkgroupConstraint(M, 64, 0), tkw.HardwareConstraint()])
    def hungry(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        small = tkw.allocate((M, N), (64, 128), tkl.f32)
        large = tkw.allocate((M, N), (64, 512), tkl.f32)
        tkw.write(tkw.read(a), small)
        tkw.write(tkw.read(a), large)
        tkw.shared_memory_barrier()
        tkw.write(tkw.read(small) + tkw.read(large), b)

    return hungry


SMALL, LARGE = 64 * 128 * 4, 64 * 512 * 4
SIZES = {M: 64, N: 128}


@pytest.mark.parametrize(("target", "limit"), [("gfx942", 65536), ("gfx1201", 65536)])
def test_too_much_lds(no_compiler, emitted, target, limit):
    with pytest.raises(UserError) as caught:
        emitted(two_buffers(), "hsaco", target, SIZES)
    text = str(caught.value)
    assert caught.value.code == "WV0406"
    assert f"needs {SMALL + LARGE} bytes of LDS, target `{target}` has {limit}" in text
    assert "large = tkw.allocate" in text
    assert f"the largest buffer: {LARGE} bytes" in text
    assert "use smaller tiles" in text


def test_too_much_lds_for_another_chip(no_compiler, lowered, session):
    options = tkl.WaveCompileOptions(subs=SIZES, target="gfx950")
    graph, _ = lowered.lower(two_buffers(), options)
    with pytest.raises(UserError) as caught:
        compile_graph(graph, session.target("gfx942"))
    text = str(caught.value)
    assert caught.value.code == "WV0605"
    assert f"`hungry` needs {SMALL + LARGE} bytes of LDS; gfx942 has 65536" in text
    first = f"{LARGE} bytes: `large` (f32[64, 512])"
    assert text.index(first) < text.index(f"{SMALL} bytes: `small` (f32[64, 128])")
    assert "smaller tiles, fewer buffers, or narrower element types" in text
    (found,) = caught.value.diagnostics
    assert (found.data["needed"], found.data["limit"]) == (SMALL + LARGE, 65536)


def test_as_much_lds_as_there_is(emitted):
    assert SMALL + LARGE == 160 * 1024
    text = emitted(two_buffers(), "asm", "gfx950", SIZES)
    assert f".group_segment_fixed_size: {SMALL + LARGE}" in text


# ---- registers


def test_a_loop_that_carries_too_much(no_compiler, lowered):
    graph, chip = lowered("gemm", settings={"BLOCK_M": 512, "BLOCK_N": 512})
    with pytest.raises(UserError) as caught:
        compile_graph(graph, chip)
    text = str(caught.value)
    assert caught.value.code == "WV0605"
    assert "`gemm` keeps values in 1024 registers of each lane across a loop" in text
    assert "gfx942 has 512" in text
    assert "1024 registers: `" in text
    assert "smaller WaveConstraint" in text


def test_a_loop_that_carries_more_than_waves_of_a_simd_share(no_compiler, lowered):
    settings = {"BLOCK_M": 512, "BLOCK_N": 512, "WAVES_M": 2, "WAVES_N": 4}
    graph, chip = lowered("gemm", settings=settings)
    with pytest.raises(UserError) as caught:
        compile_graph(graph, chip)
    assert (
        "`gemm` keeps values in 512 registers of each lane across a loop;"
        " gfx942 has 256 for each of 8 waves"
    ) in str(caught.value)


def kept_across(rows, *, carry):
    """A kernel with values that live across a loop, which carries one of its own."""
    constraints = [
        tkw.WorkgroupConstraint(M, rows, 0),
        tkw.TilingConstraint(K, 16),
        tkw.HardwareConstraint(vector_shapes={M: rows, N: 64, K: 16}),
    ]

    @tkw.wave(constraints)
    def keeper(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        b: tkl.Memory[M, K, GLOBAL, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        held = tkw.read(a)
        twice = tkw.exp2(held) if carry else held
        sums = tkl.Register[M, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[sums])
        def loop(part):
            scaled = tkw.sum(tkw.read(b), dim=K) + part
            if carry:
                return scaled + tkw.sum(twice, dim=N)
            return scaled

        tkw.write(twice * tkw.broadcast(loop, [M, N]), c)

    return keeper


def keeper_graph(lowered, rows, *, carry, target="gfx942"):
    options = tkl.WaveCompileOptions(subs={M: rows, N: 64, K: 64}, target=target)
    return lowered.lower(kept_across(rows, carry=carry), options)


def test_values_that_a_loop_uses_count(no_compiler, lowered):
    graph, chip = keeper_graph(lowered, 640, carry=True)
    found = widest_point(graph)
    assert found.registers > 640
    with pytest.raises(UserError) as caught:
        compile_graph(graph, chip)
    text = str(caught.value)
    assert f"keeps values in {found.registers} registers of each lane" in text
    assert "640 registers: `twice` (f32)" in text


def test_values_that_can_be_read_later_do_not_count(lowered):
    graph, _ = keeper_graph(lowered, 640, carry=False)
    assert widest_point(graph).registers < 640


def test_the_limit_is_that_of_the_chip(lowered):
    graph, chip = keeper_graph(lowered, 192, carry=True, target="gfx1100")
    with pytest.raises(UserError, match="gfx1100 has 256"):
        compile_graph(graph, chip)
    graph, chip = keeper_graph(lowered, 192, carry=True)
    _, text = mlir_of(graph, chip, Settings())
    assert "func.func @keeper" in text


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("name", ["attention", "gemm", "gemm-staged", "softmax"])
def test_the_estimate_is_no_more_than_the_code_uses(lowered, name, target):
    graph, chip = lowered(name, target)
    output = compile_graph(graph, chip, Settings(intermediates=True))
    _, _, rest = output.assembly.partition(".vgpr_count:")
    assert widest_point(graph).registers <= int(rest.split()[0])


# ---- MLIR by hand


def edited(lowered, old, new):
    graph, chip = lowered("copy")
    _, text = mlir_of(graph, chip, Settings())
    assert old in text
    return graph, chip, text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("gpu.block_id x", "gpu.block_id q", "block_id"),
        ("arith.addi", "arith.adde", "arith.adde"),
        ("return\n}", "return", "expected"),
        ("binding(1)", "binding(9)", "binding ordinal 9 out of bounds"),
    ],
)
def test_malformed_mlir_is_a_message_with_the_line(lowered, old, new, message):
    graph, chip, text = edited(lowered, old, new)
    with pytest.raises(UserError) as caught:
        compile_graph(graph, chip, Settings(override=text))
    assert caught.value.code == "WV0604"
    shown = str(caught.value)
    assert message in shown
    assert "the MLIR given for `copy` is malformed: " in shown
    assert "`wave compile --emit mlir`" in shown


def test_the_line_is_that_of_the_mistake(lowered):
    graph, chip, text = edited(lowered, "gpu.block_id x", "gpu.block_id q")
    line = next(i for i, x in enumerate(text.split("\n"), 1) if "block_id q" in x)
    with pytest.raises(UserError, match=f"line {line}, column"):
        compile_graph(graph, chip, Settings(override=text))


def test_mlir_that_crashes_the_compiler_is_a_message(lowered):
    graph, chip = lowered("copy")
    deep = 200_000
    text = f"module attributes {{a = {'[' * deep}{']' * deep}}} {{}}"
    with pytest.raises(UserError) as caught:
        compile_graph(graph, chip, Settings(override=text))
    assert caught.value.code == "WV0606"
    assert "the compiler of `copy` crashed (signal 11)" in str(caught.value)


def test_mlir_without_the_kernel(lowered):
    graph, chip = lowered("copy")
    _, text = mlir_of(graph, chip, Settings())
    other = text.replace("@copy", "@other")
    with pytest.raises(UserError, match="the MLIR has no kernel `copy`"):
        compile_graph(graph, chip, Settings(override=other))


def test_edited_mlir_is_what_is_compiled(lowered):
    graph, chip = lowered("copy")
    _, text = mlir_of(graph, chip, Settings())
    plain = compile_graph(graph, chip).artifact.code
    assert compile_graph(graph, chip, Settings(override=text)).artifact.code == plain
    changed = text.replace("return\n", "rocdl.s.setprio 3\nreturn\n", 1)
    settings = Settings(override=changed, intermediates=True)
    assert "s_setprio 3" in compile_graph(graph, chip, settings).assembly


def test_edited_mlir_is_for_code_objects(lowered):
    graph, chip = lowered("copy")
    with pytest.raises(UserError) as caught:
        compile_vmfb(graph, chip, Settings(override="module {}"))
    assert caught.value.code == "WV0823"
