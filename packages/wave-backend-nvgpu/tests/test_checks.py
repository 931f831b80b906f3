"""What `wave doctor` says about the programs that make code."""

from __future__ import annotations

from importlib import metadata

import pytest

from wave_backend_nvgpu import checks
from wave_backend_nvgpu.compile.tools import Tool
from wave_backend_nvgpu.plugin import wave_register_checks


def test_all_that_is_declared_is_there():
    for spec in wave_register_checks():
        state, found = getattr(checks, spec.target.rpartition(":")[2])()
        assert state in {"ok", "missing"}, found
        assert found


def test_the_code_generator_has_a_version():
    assert checks.code_generator() == ("ok", metadata.version("llvmlite"))


@pytest.mark.parametrize("name", ["assembler", "disassembler"])
def test_a_program_is_found_with_its_place(monkeypatch, tmp_path, name):
    tool = Tool(tmp_path / "tool", "13.5.37")
    monkeypatch.setattr(checks, f"find_{name}", lambda: tool)
    assert getattr(checks, name)() == ("ok", f"13.5.37, {tmp_path / 'tool'}")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("assembler", "pip install nvidia-cuda-nvcc; without it artifacts hold PTX"),
        ("disassembler", "pip install nvidia-cuda-nvdisasm; without it there is no"),
    ],
)
def test_a_program_that_is_missing_can_be_installed(monkeypatch, name, says):
    monkeypatch.setattr(checks, f"find_{name}", lambda: None)
    state, found = getattr(checks, name)()
    assert state == "missing"
    assert says in found


def test_an_assembler_that_is_named_and_is_none(monkeypatch, tmp_path):
    monkeypatch.setenv("WAVE_PTXAS", str(tmp_path))
    state, found = checks.assembler()
    assert state == "broken"
    assert found == f"WAVE_PTXAS names `{tmp_path}`, which is no assembler"
