"""Whatever the compiler does, the caller lives: crashes, limits, threads, forks."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_amdgpu.backend import AmdgpuBackend
from wave_backend_amdgpu.compile.backend import Settings, compile_graph
from wave_backend_amdgpu.compile.request import Form, Request
from wave_backend_amdgpu.compile.worker import Worker
from wave_backend_amdgpu.executors import settings_for
from wave_core.compile import Config, Session, WaveCompileOptions
from wave_core.compile.emission import emit
from wave_core.diagnostics import UserError
from wave_core.executors import LaunchRequest, LaunchSettings

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
FLAGS = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")
BROKEN = Request("module {", Form.CODE, FLAGS)
WAIT_S = 60


@pytest.fixture(autouse=True)
def _inputs_saved_by_failures(tmp_path, monkeypatch):
    """They would stay in the system's folder of temporary files for ever."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def worker():
    found = Worker()
    yield found
    found.close()


def process_of(worker):
    return worker._process()._popen


def test_malformed_text(worker):
    assert "expected" in worker.run(BROKEN, WAIT_S).errors[0]


def test_unknown_flag(worker):
    answer = worker.run(Request("module {}", Form.CODE, ("--no-such-flag",)), WAIT_S)
    assert "no-such-flag" in answer.errors[0]


def test_killed_while_compiling(worker):
    worker.run(BROKEN, WAIT_S)
    process = process_of(worker)
    os.kill(process.pid, signal.SIGSTOP)
    timer = threading.Timer(0.2, lambda: os.kill(process.pid, signal.SIGKILL))
    timer.start()
    assert "was killed" in worker.run(BROKEN, WAIT_S).failure
    assert "expected" in worker.run(BROKEN, WAIT_S).errors[0]


def test_killed_between_two_compilations(worker):
    worker.run(BROKEN, WAIT_S)
    process_of(worker).kill()
    process_of(worker).wait()
    assert "expected" in worker.run(BROKEN, WAIT_S).errors[0]


def test_an_interrupted_answer_is_not_that_of_the_next_request(worker, monkeypatch):
    worker.run(BROKEN, WAIT_S)

    def interrupted(pipe):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("wave_core.backends.process.worker.receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            worker.run(BROKEN, WAIT_S)
    answer = worker.run(Request("module {}", Form.CODE, ("--other",)), WAIT_S)
    assert "other" in answer.errors[0]


def test_no_python_to_start(worker, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert "cannot be started" in worker.run(BROKEN, WAIT_S).failure


def test_it_ends_with_its_owner():
    worker = Worker()
    worker.run(BROKEN, WAIT_S)
    process = process_of(worker)
    del worker
    gc.collect()
    assert process.wait(10) == -signal.SIGKILL


# ---- a kernel with MLIR by hand


@tkw.wave([tkw.WorkgroupConstraint(M, 16, 0), tkw.HardwareConstraint()])
def victim(a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]):
    tkw.write(tkw.read(a), b)


HEAD = """#layout = #hal.pipeline.layout<constants = 0, bindings = [
  #hal.pipeline.binding<storage_buffer, ReadOnly>,
  #hal.pipeline.binding<storage_buffer>]>
hal.executable.source public @victim {
hal.executable.export public @victim ordinal(0) layout(#layout)
  count(%device: !hal.device) -> (index, index, index) {
  %one = arith.constant 1 : index
  hal.return %one, %one, %one : index, index, index
}
builtin.module {
func.func @victim() attributes {translation_info = #iree_codegen.translation_info<
  pipeline = #iree_codegen.no_pipeline
  workgroup_size = [64, 1, 1] subgroup_size = 64>} {
%i0 = arith.constant 0 : index
%c0 = arith.constant 0 : i32
%a0 = hal.interface.binding.subspan layout(#layout) binding(0) offset(%i0)
  : memref<64xi32, #hal.descriptor_type<storage_buffer>>
%a = memref.memory_space_cast %a0
  : memref<64xi32, #hal.descriptor_type<storage_buffer>> to memref<64xi32>
%t0 = gpu.thread_id x
%t = arith.index_castui %t0 : index to i32
"""
TAIL = "return\n}\n}\n}\n"
STORE = "memref.store %{}, %a[%t0] : memref<64xi32>\n"

# LLVM has no form for a descriptor whose alignment it has deduced.
ABORTING = f"""{HEAD}
%f = amdgpu.fat_raw_buffer_cast %a
  : memref<64xi32> to memref<64xi32, #amdgpu.address_space<fat_raw_buffer>>
%x = memref.load %f[%i0] : memref<64xi32, #amdgpu.address_space<fat_raw_buffer>>
%y = "amdgpu.raw_buffer_load"(%a, %t, %c0) <{{boundsCheck = true,
  operandSegmentSizes = array<i32: 1, 1, 1>}}> : (memref<64xi32>, i32, i32) -> i32
%s = arith.addi %x, %y : i32
{STORE.format("s")}{TAIL}"""


def endless(steps):
    """Products of products: work that no limit of a test waits for."""
    names = ["t", "t", *(f"x{i}" for i in range(steps))]
    rows = zip(names[2:], names[1:], names, strict=False)
    body = "".join(f"%{x} = arith.muli %{y}, %{z} : i32\n" for x, y, z in rows)
    return HEAD + body + STORE.format(names[-1]) + TAIL


HUGE = endless(100_000)

ENDINGS = {
    "abort": (ABORTING, {}, "crashed (signal 6): LLVM ERROR: do not know how to"),
    "hang": (HUGE, {"compiler_time_limit_s": 2}, "took more than 2 s"),
    "memory": (HUGE, {"compiler_memory_limit_mib": 160}, "ran out of memory"),
}


def compile_by_hand(text, limits, session):
    options = tkl.WaveCompileOptions(
        subs={M: 16, N: 64},
        target="gfx942",
        override_mlir=text,
        plugin_options=limits,
    )
    return emit(options, victim, "hsaco", session)


def failure(text, limits, session):
    with pytest.raises(UserError) as caught:
        compile_by_hand(text, limits, session)
    return caught.value


@pytest.mark.parametrize("how", ENDINGS)
def test_the_caller_lives_and_the_session_compiles_on(session, how):
    text, limits, expected = ENDINGS[how]
    error = failure(text, limits, session)
    assert error.code == "WV0606"
    assert f"the compiler of `victim` {expected}" in str(error)
    assert emit_plainly(session)[:4] == b"\x7fELF"


def emit_plainly(session):
    options = tkl.WaveCompileOptions(subs={M: 16, N: 64}, target="gfx942")
    return emit(options, victim, "hsaco", session).files["code.hsaco"]


def test_the_message_names_the_kernel_and_the_saved_input(session):
    shown = str(failure(*ENDINGS["abort"][:2], session))
    saved = re.search(r"saved as (\S+)", shown)[1]
    assert Path(saved).read_text() == ABORTING
    line = victim.location.line
    head = "def victim(a: tkl.Memory[M, N, GLOBAL, tkl.f32], "
    assert shown == (
        "error[WV0606]: the compiler of `victim` crashed (signal 6): LLVM ERROR: do "
        "not know how to expand the result of this operator!\n"
        "    --> packages/wave-backend-amdgpu/tests/test_worker.py"
        f":{line}:1 in victim\n"
        f"{line} | {head}b: tkl.Memory[M, N, GLOBAL, tkl.f32]):\n"
        "    | ^^^^^^^^^^ compiling this kernel\n"
        f"    = note: its input is saved as {saved}\n"
        "    = note: its options: --iree-hal-target-device=hip "
        "--iree-rocm-target=gfx942 --iree-input-demote-f64-to-f32=false "
        "--iree-rocm-container-type=hsaco\n"
        "    = help: another tile, schedule or preset asks for other code\n"
        "    = help: plugin_options: `compiler_time_limit_s`, "
        "`compiler_memory_limit_mib`\n"
        "    = help: report it, with the saved input"
    )


def test_four_threads_each_with_its_own_diagnostic():
    session = Session(config=Config(cache=False), announce=lambda _: None)
    malformed = "the MLIR given for `victim` is malformed"
    texts = {**ENDINGS, "malformed": ("module {", {}, malformed)}

    def one(how):
        return str(failure(*texts[how][:2], session)).splitlines()[0]

    with ThreadPoolExecutor(4) as pool:
        for how, shown in zip(texts, pool.map(one, texts), strict=True):
            assert texts[how][2] in shown
    assert emit_plainly(session)[:4] == b"\x7fELF"


def in_a_fork(work):
    """What ``work`` gives in a forked child, or the code of its error."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        found = b"nothing"
        try:
            found = work()
        except UserError as error:
            found = error.code.encode()
        finally:
            os.write(writing, found)
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return found


forks = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@forks
def test_a_forked_child_compiles_after_its_parent_did(session):
    wanted = emit_plainly(session)

    def again():
        session.forget()
        return b"same" if emit_plainly(session) == wanted else b"other"

    assert in_a_fork(again) == b"same"
    assert emit_plainly(session) == wanted


@forks
def test_a_crash_in_a_forked_child(session):
    assert emit_plainly(session)
    assert in_a_fork(lambda: compile_by_hand(ABORTING, {}, session)) == b"WV0606"
    assert emit_plainly(session)[:4] == b"\x7fELF"


@forks
def test_within_a_forked_process_the_compiler_is_not_used(lowered):
    graph, chip = lowered("copy")
    compile_graph(graph, chip, Settings(worker=None))
    found = in_a_fork(lambda: compile_graph(graph, chip, Settings(worker=None)))
    assert found == b"WV0604"


SCRIPT = """
import sys
import wave_core.lang as tkl
from wave_backend_amdgpu.executors import settings_for
from wave_core.compile import Config, Session, WaveCompileOptions
from wave_core.compile.emission import emit
from wave_core.compile.kernels import make_case

print("run as", __name__)
session = Session()
case = make_case(session.plugins.load_kernel("copy"), "copy", {}, {}, "gfx942")
print(len(emit(case.options, case.kernel, "hsaco", session).files["code.hsaco"]) > 0)
worker = session.plugins.load_backend("amdgpu").worker
print("worker", worker._process()._popen.pid)
sys.stdout.flush()
if "die" in sys.argv:
    import os
    os._exit(9)
"""


def run_script(tmp_path, *arguments, **more):
    script = tmp_path / "kernel.py"
    script.write_text(SCRIPT)
    env = {**os.environ, "WAVE_CACHE": "off"}
    given = [sys.executable, str(script), *arguments]
    return subprocess.run(
        given, capture_output=True, text=True, env=env, timeout=120, check=False, **more
    )


def test_a_script_without_a_guard_runs_once_and_keeps_its_input(tmp_path):
    done = run_script(tmp_path, input="for the script")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["run as __main__", "True"]


def test_the_worker_ends_after_its_caller(tmp_path):
    done = run_script(tmp_path, "die")
    number = int(done.stdout.split()[-1])
    end = time.monotonic() + 10
    while time.monotonic() < end and Path(f"/proc/{number}").exists():
        time.sleep(0.1)
    assert done.returncode == 9
    assert not Path(f"/proc/{number}").exists()


def test_a_session_has_one_worker():
    session = Session(announce=lambda _: None)
    backend = session.plugins.load_backend("amdgpu")
    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(lambda _: run_and_name(backend.worker), range(4)))
    assert len(set(numbers)) == 1
    backend.worker.close()


def test_launches_compile_in_the_process_of_their_session(lowered):
    graph, chip = lowered("copy")
    backend = AmdgpuBackend()
    settings = LaunchSettings(compile_options=WaveCompileOptions(), backend=backend)
    request = LaunchRequest.of(graph, chip, (), settings=settings)
    assert settings_for(request).worker is backend.worker
    assert settings_for(replace(request, settings=LaunchSettings())) == Settings()


def run_and_name(worker):
    worker.run(BROKEN, WAIT_S)
    return process_of(worker).pid


def test_in_process_on_request(lowered):
    graph, chip = lowered("copy")
    inside = compile_graph(graph, chip, Settings(worker=None)).artifact.code
    assert compile_graph(graph, chip).artifact.code == inside
