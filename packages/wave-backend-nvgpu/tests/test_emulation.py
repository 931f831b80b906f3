"""The device ``emulator`` on PTX: launches, hazards at the user's lines, refusals."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_nvgpu import executors
from wave_backend_nvgpu.emulation import ERRORS, HAZARDS
from wave_core.compile import Config, Session, wave_compile
from wave_core.diagnostics import LaunchError, SimulationError, catalogue
from wave_emulator_ptx.errors import CODES

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
SIZES = {M: 64, N: 64}
FLOATS = tkl.Memory[N, GLOBAL, tkl.f32]


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


@tkw.wave([tkw.WorkgroupConstraint(M, 16, 0), tkw.HardwareConstraint()])
def double(a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]):
    x = tkw.read(a)
    tkw.write(x + x, b)


@tkw.thread(
    [
        tkw.WorkgroupConstraint(N, 64, 0),
        tkw.HardwareConstraint(threads_per_wave=32, waves_per_block=(2,)),
    ]
)
def unordered(a: FLOATS, b: FLOATS):
    t = tkw.thread_id(0)
    halves = tkw.allocate(64, dtype=tkl.f32)
    tkw.store(tkw.load(a, t), halves, t)
    tkw.wave_fence()
    tkw.store(tkw.load(halves, (t + 32) % 64), b, t)


def options(**more):
    given = {"subs": SIZES, "target": "sm_90a", "device": "emulator"} | more
    return tkw.WaveCompileOptions(**given)


@pytest.fixture
def arrays():
    a = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    return a, np.full((64, 64), np.nan, np.float32)


@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90", "sm_90a"])
def test_results_and_counters(session, arrays, target):
    a, b = arrays
    kernel = wave_compile(options(target=target), double, session=session)
    kernel(a, b)
    assert (b == 2 * a).all()
    counters = kernel.last_run.counters
    assert counters["waves"] == 4
    assert counters["instructions"] > 4
    assert counters["hazards"] == "0"


def test_the_second_launch_compiles_nothing(session, arrays, monkeypatch):
    a, b = arrays
    kernel = wave_compile(options(), double, session=session)
    kernel(a, b)
    monkeypatch.setattr(executors, "compile_text", None)
    b[...] = np.nan
    kernel(a, b)
    assert (b == 2 * a).all()


def test_a_race_is_told_at_the_line_that_sees_it(session):
    a, b = np.zeros((2, 64), np.float32)
    with pytest.raises(SimulationError) as caught:
        wave_compile(options(subs={N: 64}), unordered, session=session)(a, b)
    found = caught.value.diagnostics[0]
    lines, first = inspect.getsourcelines(unordered.function)
    load = first + next(k for k, line in enumerate(lines) if "(t + 32)" in line)
    assert (found.code, found.location.line) == ("WV0901", load)
    assert any("ld.shared" in note for note in found.notes)
    assert any("the other instruction: st.shared" in note for note in found.notes)


def test_without_checks_nothing_is_looked_for(session):
    a, b = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    given = options(subs={N: 64}, checks=False)
    kernel = wave_compile(given, unordered, session=session)
    kernel(a, b)
    assert kernel.last_run.counters["hazards"] == "not looked for"


def test_an_output_that_is_read_before_it_is_written(session):
    @tkw.wave([tkw.WorkgroupConstraint(M, 16, 0), tkw.HardwareConstraint()])
    def added(
        a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]
    ):
        tkw.write(tkw.read(a) + tkw.read(b), b)

    a = np.ones((64, 64), np.float32)
    kernel = wave_compile(options(poison_outputs=True), added, session=session)
    with pytest.raises(SimulationError) as caught:
        kernel(a, a.copy())
    assert caught.value.diagnostics[0].code == "WV0905"


def test_text_of_the_user_is_what_runs(session, arrays):
    a, b = arrays
    kernel = wave_compile(options(), double, session=session)
    text = kernel.asm
    assert "add.rn.f32" in text
    given = {"override_ptx": text.replace("add.rn.f32", "mul.rn.f32")}
    wave_compile(options(plugin_options=given), double, session=session)(a, b)
    assert (b == a * a).all()


def test_what_the_emulator_does_not_execute_is_refused(session, arrays):
    text = wave_compile(options(), double, session=session).asm
    given = {"override_ptx": text.replace("add.rn.f32", "unheard.of.f32")}
    kernel = wave_compile(options(plugin_options=given), double, session=session)
    with pytest.raises(SimulationError, match="EP0301") as caught:
        kernel(*arrays)
    assert caught.value.diagnostics[0].code == "WV0912"


def test_without_the_emulator(session, arrays, monkeypatch):
    monkeypatch.setattr(executors, "device_names", lambda: ("cuda", "null"))
    kernel = wave_compile(options(), double, session=session)
    with pytest.raises(LaunchError) as caught:
        kernel(*arrays)
    (found,) = caught.value.diagnostics
    assert found.code == "WV0708"
    assert found.help[0] == "pip install wave-emulator-ptx"


def test_every_hazard_of_the_emulator_has_a_code_of_wave():
    hazards = {code for code in CODES if code.startswith("EP05")}
    assert set(HAZARDS) == hazards
    assert set(ERRORS) <= set(CODES)
    assert {*HAZARDS.values(), *ERRORS.values()} <= set(catalogue())


# ---- the device of GPUs, without one


@dataclass
class Card:
    """Takes code and arguments as a GPU does, and keeps what it got."""

    name: str = "cuda"
    memory: str = "cpu"
    architecture: str | None = None
    machine_code: tuple[str, ...] = ("sm_90a", "sm_90")
    loaded: list = field(default_factory=list)
    launched: list = field(default_factory=list)

    def load(self, artifact):
        self.loaded.append(artifact)
        return self

    def launch(self, grid, buffers, words, stream):
        self.launched.append((grid, [size for _, size in buffers], words, stream))

    def synchronize(self):
        pass


@pytest.fixture
def on_card(session, monkeypatch):
    """Compiles for a card in the place of the emulator."""

    def compiled(card, **more):
        executor = executors.CudaExecutor(lambda _: card)
        monkeypatch.setattr(session.plugins, "load_executor", lambda _: executor)
        return wave_compile(options(**more), double, session=session)

    return compiled


def test_a_gpu_gets_machine_code_once(on_card, arrays):
    card = Card()
    kernel = on_card(card)
    kernel(*arrays)
    kernel(*arrays)
    (artifact,) = card.loaded
    assert (artifact.manifest.form, artifact.manifest.target) == ("cubin", "sm_90a")
    assert artifact.code[:4] == b"\x7fELF"
    assert card.launched == [((4, 1, 1), [64 * 64 * 4] * 2, b"", 0)] * 2


def test_a_newer_gpu_gets_ptx(on_card, arrays):
    card = Card(machine_code=("sm_120",))
    on_card(card, target="sm_90")(*arrays)
    (artifact,) = card.loaded
    assert artifact.manifest.form == "ptx"
    assert b".target sm_90\n" in artifact.code
