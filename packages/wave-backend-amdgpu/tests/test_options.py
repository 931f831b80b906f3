"""Compile options of this package: accepted, and seen in the machine code."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import option_table, wave_compile
from wave_core.compile.dump import Dumps
from wave_core.diagnostics import UserError
from wave_runtime.manifest import Manifest

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
SIZES = {M: 16, N: 64}


ROWS = [tkw.WorkgroupConstraint(M, 16, 0), tkw.HardwareConstraint()]


@pytest.fixture
def kernel():
    @tkw.wave(ROWS)
    def mean(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32],
        b: tkl.Memory[M, N, GLOBAL, tkl.f32],
        c: tkl.Memory[M, N, GLOBAL, tkl.f32],
    ):
        one, other = tkw.read(a), tkw.read(b)
        tkw.write(tkw.exp2(one) / (one + other), c)

    return mean


def test_every_option_of_the_package_is_declared(session):
    own = {row.name for row in option_table() if row.owner == "wave-backend-amdgpu"}
    declared = {
        name: each.value
        for name, each in session.plugins.option_specs.items()
        if each.value.package == "wave-backend-amdgpu"
    }
    assert set(declared) == own
    assert all(spec.help for spec in declared.values())


# ---- what they do


@pytest.mark.parametrize(("target", "waves"), [("gfx942", 2), ("gfx1201", 4)])
def test_waves_per_eu(emitted, kernel, target, waves):
    plain = emitted(kernel, "llvm", target, SIZES)
    asked = emitted(kernel, "llvm", target, SIZES, waves_per_eu=waves)
    assert f'"amdgpu-waves-per-eu"="{waves}"' in asked
    assert f'"amdgpu-waves-per-eu"="{waves}"' not in plain


def test_waves_per_eu_decides_the_registers(lowered, session):
    few = registers(lowered, None)
    assert registers(lowered, 8) <= 64 < few


def registers(lowered, waves):
    from wave_backend_amdgpu.codegen.options import CodeOptions
    from wave_backend_amdgpu.compile.backend import Settings, compile_graph

    settings = Settings(CodeOptions(waves_per_eu=waves), intermediates=True)
    text = compile_graph(*lowered("gemm"), settings).assembly
    return int(re.search(r"\.vgpr_count:\s+(\d+)", text).group(1))


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1100", "gfx1201"])
def test_denormals(emitted, kernel, target):
    mode = r"\.amdhsa_float_denorm_mode_32 (\d)"
    found = [
        re.search(mode, emitted(kernel, "asm", target, SIZES, **given)).group(1)
        for given in (
            {},
            {"denorm_fp_math_f32": "ieee"},
            {"denorm_fp_math_f32": "preserve-sign"},
        )
    ]
    assert found == ["3", "3", "0"]


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_fast_math(emitted, kernel, target):
    exact = emitted(kernel, "asm", target, SIZES)
    fast = emitted(kernel, "asm", target, SIZES, use_fast_math=True)
    assert "v_div_fixup_f32" in exact
    assert "v_div_fixup_f32" not in fast
    assert "v_rcp_f32" in fast
    text = emitted(kernel, "llvm", target, SIZES, use_fast_math=True)
    assert "fdiv reassoc nsz arcp contract afn" in text


def test_fast_math_takes_the_instruction_of_exp2_as_it_is(emitted, kernel):
    exact = emitted(kernel, "asm", "gfx942", SIZES)
    fast = emitted(kernel, "asm", "gfx942", SIZES, use_fast_math=True)
    assert "v_ldexp_f32" in exact
    assert "v_ldexp_f32" not in fast
    assert fast.count("v_exp_f32") == exact.count("v_exp_f32")


@pytest.mark.parametrize(
    ("given", "fast"), [(None, True), (True, True), (False, False)]
)
def test_a_kernel_allows_fast_math_and_the_option_decides(emitted, given, fast):
    @tkw.wave([*ROWS, tkw.FastMath()])
    def inverse(a: tkl.Memory[M, N, GLOBAL, tkl.f32]):
        tkw.write(tkw.reciprocal(tkw.read(a)), a)

    text = emitted(inverse, "asm", "gfx942", SIZES, use_fast_math=given)
    assert ("v_div_fixup_f32" not in text) is fast


def test_buffer_instructions(emitted, kernel):
    text = emitted(kernel, "asm", "gfx942", SIZES, use_buffer_ops=True)
    assert "buffer_load_dword" in text
    assert "global_" not in text.partition("s_endpgm")[0]


def test_lines_reach_the_debug_information(emitted, kernel):
    plain = emitted(kernel, "asm", "gfx942", SIZES)
    given = {"debug_lines": True}
    lines = emitted(kernel, "asm", "gfx942", SIZES, plugin_options=given)
    assert ".loc" not in plain
    # Nothing but the kernel's `def` and its lines: no line of the MLIR in between.
    first = kernel.function.__code__.co_firstlineno
    known = {int(line) for line in re.findall(r"\t\.loc\t\d+ (\d+)", lines)} - {0}
    assert known
    assert known <= {first + 1, first + 6, first + 7}
    assert "test_options.py" in lines


# ---- what they refuse


@pytest.mark.parametrize(
    ("given", "code", "advice"),
    [
        ({"waves_per_eu": 0}, "WV0804", "it takes int or `none` from 1"),
        ({"waves_per_eu": 9}, "WV0823", "a number from 1 to 8"),
        ({"waves_per_eu": "two"}, "WV0823", "it takes int | None"),
        ({"denorm_fp_math_f32": "flush"}, "WV0804", "preserve-sign"),
        ({"plugin_options": {"debug_lines": 3}}, "WV0804", "`true` or `false`"),
        ({"plugin_options": {"debug_line": True}}, "WV0803", "debug_lines"),
        ({"plugin_options": {"compiler_time_limit_s": 0}}, "WV0804", "from 1"),
        ({"plugin_options": {"compiler_memory_limit_mib": 1.5}}, "WV0804", "int"),
    ],
)
def test_unfit_values(emitted, kernel, given, code, advice):
    with pytest.raises(UserError) as caught:
        emitted(kernel, "asm", "gfx942", SIZES, **given)
    assert caught.value.code == code
    assert advice in str(caught.value)


# ---- files


def test_intermediates(emitted, kernel, tmp_path):
    folder = tmp_path / "made" / "here"
    files = emitted.files(
        *(kernel, "hsaco", "gfx942", SIZES), dump_intermediates=str(folder)
    )
    found = {path.suffix: path.read_text() for path in folder.iterdir()}
    assert {path.stem for path in folder.iterdir()} == {"mean-gfx942"}
    assert set(found) == {".wave", ".mlir", ".ll", ".s"}
    assert "= read " in found[".wave"]
    assert "hal.executable" in found[".mlir"]
    assert "define amdgpu_kernel void @mean" in found[".ll"]
    assert "s_endpgm" in found[".s"]
    assert files == emitted.files(kernel, "hsaco", "gfx942", SIZES)


def test_binaries(emitted, kernel, tmp_path):
    given = {"dump_binaries": str(tmp_path)}
    files = emitted.files(kernel, "hsaco", "gfx942", SIZES, **given)
    assert (tmp_path / "mean-gfx942.hsaco").read_bytes() == files["code.hsaco"]
    manifest = Manifest.from_json((tmp_path / "mean-gfx942.json").read_bytes())
    assert manifest.name == "mean"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_module_for_iree_is_a_binary(emitted, kernel, tmp_path):
    given = {"dump_binaries": str(tmp_path)}
    files = emitted.files(kernel, "vmfb", "gfx942", SIZES, **given)
    assert (tmp_path / "mean-gfx942.vmfb").read_bytes() == files["mean.vmfb"]


@pytest.mark.parametrize("option", ["dump_intermediates", "dump_binaries"])
def test_a_folder_that_is_a_file(emitted, kernel, tmp_path, option):
    (tmp_path / "file").write_text("kept")
    with pytest.raises(UserError) as caught:
        emitted.files(kernel, "hsaco", subs=SIZES, **{option: str(tmp_path / "file")})
    assert caught.value.code == "WV0823"
    assert option in str(caught.value)
    assert (tmp_path / "file").read_text() == "kept"


def test_a_file_is_there_whole_or_not_at_all(lowered, tmp_path, monkeypatch):
    graph, _ = lowered("gemm")
    dumps = Dumps(binaries=str(tmp_path))
    dumps.write("a", graph, {}, {".bin": b"old"})

    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(UserError, match="No space"):
        dumps.write("a", graph, {}, {".bin": b"new"})
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]
    assert (tmp_path / "a.bin").read_bytes() == b"old"


# ---- kernels that are compiled to be called


def test_stages_are_written_when_the_kernel_is_launched(session, kernel, tmp_path):
    options = tkw.WaveCompileOptions(
        subs=SIZES,
        target="gfx942",
        device="emulator",
        dump_intermediates=str(tmp_path / "text"),
        dump_binaries=str(tmp_path / "code"),
    )
    compiled = wave_compile(options, kernel, session=session)
    compiled(*(np.ones((16, 64), np.float32) for _ in range(3)))
    found = {path.name for path in tmp_path.rglob("*.*")}
    endings = (".wave", ".mlir", ".ll", ".s", ".hsaco", ".json")
    assert found == {f"mean-gfx942{ending}" for ending in endings}
