"""Names that MLIR cannot take as they are: of kernels, dimensions and source files."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import wave_core.lang as tkw
from wave_core.compile import Config, Session, WaveCompileOptions, wave_compile
from wave_core.compile.emission import emit
from wave_runtime.iree_hal import function_names

SOURCE = """
import wave_core.lang as tkw

SIZE = getattr(tkw.sym, "größe")
MEMORY = tkw.Memory[SIZE, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32]


@tkw.wave([tkw.WorkgroupConstraint(SIZE, 64, 0), tkw.HardwareConstraint()])
def käse(ä: MEMORY, 漢字: MEMORY):
    tkw.write(tkw.read(ä) + 1.0, 漢字)
"""


@pytest.fixture
def kernel(tmp_path):
    """A kernel of a file in a folder that a user may have."""
    folder = tmp_path / 'jürgens "kernel" \\ 1'
    folder.mkdir()
    path = folder / "käse.py"
    path.write_text(SOURCE, "utf-8")
    spec = importlib.util.spec_from_file_location("kaese", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.käse


@pytest.fixture
def session():
    return Session(config=Config(cache=False))


@pytest.mark.parametrize("line_tables", [False, True])
def test_a_kernel_of_any_name_from_any_file_runs(kernel, session, line_tables):
    options = WaveCompileOptions(
        subs={"größe": 70},
        target="gfx942",
        device="emulator",
        plugin_options={"debug_lines": line_tables},
    )
    a, b = np.arange(70, dtype=np.float32), np.full(70, np.nan, np.float32)
    wave_compile(options, kernel, session=session)(a, b)
    assert (b == a + 1).all()


def test_a_module_of_iree_has_the_name(kernel, session):
    options = WaveCompileOptions(subs={"größe": 70}, target="gfx942")
    files = emit(options, kernel, "vmfb", session).files
    assert function_names(files["käse.vmfb"])[0] == "käse"


def test_a_module_of_iree_computes_in_f64(session):
    """IREE would make its own part of the program one in f32."""
    size = tkw.sym.N
    memory = tkw.Memory[size, tkw.GLOBAL_ADDRESS_SPACE, tkw.f64]

    @tkw.wave([tkw.WorkgroupConstraint(size, 64, 0), tkw.HardwareConstraint()])
    def twice(a: memory, b: memory):
        tkw.write(tkw.read(a) * 2.0, b)

    options = WaveCompileOptions(subs={size: 70}, target="gfx942")
    files = emit(options, twice, "vmfb", session).files
    assert function_names(files["twice.vmfb"])[0] == "twice"


def test_a_lambda_is_a_kernel(session):
    size = tkw.sym.N
    memory = tkw.Memory[size, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32]
    body = lambda a, b: tkw.write(tkw.read(a), b)  # noqa: E731 - a lambda is meant
    body.__annotations__ = {"a": memory, "b": memory}
    kernel = tkw.wave([tkw.WorkgroupConstraint(size, 64, 0), tkw.HardwareConstraint()])(
        body
    )
    options = WaveCompileOptions(subs={size: 5}, target="gfx942", device="emulator")
    a, b = np.arange(5, dtype=np.float32), np.full(5, np.nan, np.float32)
    wave_compile(options, kernel, session=session)(a, b)
    assert (a == b).all()
