"""Where NVIDIA's programs are looked for."""

from __future__ import annotations

import sys

import pytest

from wave_backend_nvgpu.compile.settings import Settings, settings_of
from wave_backend_nvgpu.compile.tools import (
    MissingToolError,
    find_assembler,
    find_disassembler,
)
from wave_backend_nvgpu.compile.versions import versions, versions_with
from wave_core.compile import WaveCompileOptions
from wave_core.diagnostics import UserError


def program(path, version="12.4.99"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, V{version}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No wheel, no toolkit, no Triton."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages")])
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("WAVE_PTXAS", raising=False)
    return tmp_path


def test_nothing_is_installed(nowhere):
    assert find_assembler() is None
    assert find_disassembler() is None
    assert "ptxas" not in versions()


PLACES = (
    "packages/nvidia/cu13/bin",
    "home/bin",
    "path",
    "packages/triton/backends/nvidia/bin",
)


@pytest.mark.parametrize("first", range(len(PLACES)))
def test_the_first_place_that_has_it(nowhere, monkeypatch, first):
    monkeypatch.setenv("CUDA_HOME", str(nowhere / "home"))
    for number, place in list(enumerate(PLACES))[first:]:
        program(nowhere / place / "ptxas", f"12.{number}.0")
    if first == 0:
        (nowhere / "packages/nvidia/__init__.py").touch()
    if (nowhere / "packages/triton").exists():
        (nowhere / "packages/triton/__init__.py").touch()
    found = find_assembler()
    assert found.path == nowhere / PLACES[first] / "ptxas"
    assert versions()["ptxas"] == found.version == f"12.{first}.0"


def test_what_is_asked_for_comes_before(nowhere, monkeypatch):
    program(nowhere / "path/ptxas")
    named = program(nowhere / "by_variable", "13.0.1")
    monkeypatch.setenv("WAVE_PTXAS", str(named))
    assert find_assembler().path == named
    asked = program(nowhere / "by_option", "13.0.2")
    assert find_assembler(str(asked)).version == "13.0.2"
    assert find_assembler("none") is None


def test_a_program_that_is_no_assembler_is_passed_over(nowhere):
    other = nowhere / "path/ptxas"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho hello\n")
    other.chmod(0o755)
    assert find_assembler() is None
    with pytest.raises(MissingToolError):
        find_assembler(str(other))


def test_a_new_program_in_the_same_place_is_asked_again(nowhere):
    path = program(nowhere / "path/ptxas", "12.1.0")
    assert find_assembler().version == "12.1.0"
    program(path, "12.2.0")
    assert find_assembler().version == "12.2.0"


@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_path_that_is_wrong_is_told(nowhere, monkeypatch, by):
    settings = Settings(assembler="/nowhere/ptxas" if by == "option" else None)
    if by == "variable":
        monkeypatch.setenv("WAVE_PTXAS", "/nowhere/ptxas")
    with pytest.raises(UserError) as caught:
        settings.find_assembler()
    assert caught.value.code == "WV0823"
    name = "option `ptxas`" if by == "option" else "variable WAVE_PTXAS"
    assert f"{name} is '/nowhere/ptxas'" in str(caught.value)
    of_path = {"ptxas": "none at /nowhere/ptxas"} if by == "variable" else {}
    assert versions() == {**versions_with(None), **of_path}


def test_settings_are_what_the_options_say():
    options = WaveCompileOptions(
        target="sm_90a",
        use_fast_math=True,
        plugin_options={
            "registers_per_thread": 64,
            "override_ptx": "text",
            "ptxas": "none",
            "debug_lines": True,
            "compile_in_process": True,
            "compiler_time_limit_s": 7,
        },
    )
    found = settings_of(options)
    assert (found.code.fast_math, found.code.most_registers) == (True, 64)
    assert (found.ptx, found.llvm, found.assembler) == ("text", None, "none")
    assert (found.lines, found.worker, found.time_limit_s) == (True, None, 7)
    assert found.find_assembler() is None
    assert settings_of(WaveCompileOptions(target="sm_90a")) == Settings()
