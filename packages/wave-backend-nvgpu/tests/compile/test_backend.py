"""Whole kernels: forms, text of the user, missing tools, limits, spills."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_nvgpu.compile import backend, tools
from wave_backend_nvgpu.compile.ask import ask_llvm
from wave_backend_nvgpu.compile.limits import check_limits
from wave_core.compile import Config, Session, WaveCompileOptions
from wave_core.compile.compiler import lower_front
from wave_core.compile.emission import emit
from wave_core.compile.front import front_of
from wave_core.diagnostics import UserError
from wave_runtime import Artifact, Manifest

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
SIZES = {M: 16, N: 64}


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def constraints(rows=8, waves=1):
    return [
        tkw.WorkgroupConstraint(M, rows, 0),
        tkw.WaveConstraint(M, rows // waves),
        tkw.HardwareConstraint(),
    ]


@tkw.wave(constraints())
def doubled(a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]):
    x = tkw.read(a)
    tkw.write(x + x, b)


@pytest.fixture
def made(session):
    def make(form, kernel=doubled, subs=SIZES, target="sm_90a", **options):
        given = WaveCompileOptions(
            subs=subs, target=target, preset="default", plugin_options=options
        )
        return emit(given, kernel, form, session).files

    return make


def text_of(files):
    (found,) = files.values()
    return found.decode()


def refusal(make, *arguments, **options):
    with pytest.raises(UserError) as caught:
        make(*arguments, **options)
    (found,) = caught.value.diagnostics
    return found


@pytest.mark.parametrize("target", ["sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"])
def test_a_cubin_and_its_manifest(made, target):
    files = made("cubin", target=target)
    manifest = Manifest.from_json(files["manifest.json"])
    Artifact(manifest, files["code.cubin"])
    assert files["code.cubin"][:4] == b"\x7fELF"
    assert (manifest.form, manifest.target, manifest.name) == (
        "cubin",
        target,
        "doubled",
    )
    assert (manifest.threads, manifest.wave_size, manifest.grid[0]) == (32, 32, "2")
    assert set(manifest.versions) == {
        *("wave-core", "wave-backend-nvgpu"),
        *("llvmlite", "ptxas"),
    }


def test_texts_of_every_stage(made):
    assert "define ptx_kernel void @doubled(" in text_of(made("llvm"))
    assert ".visible .entry doubled(" in text_of(made("ptx"))
    assert "FADD" in text_of(made("sass"))


def test_metrics(made):
    found = json.loads(text_of(made("metrics")))
    resources = found["resources"]
    assert (found["kernel"], found["target"]) == ("doubled", "sm_90a")
    assert 0 < resources["registers"] <= 255
    assert resources["threads"] == 32
    assert resources["spill_store_bytes"] == resources["spill_load_bytes"] == 0


def test_without_an_assembler_the_artifact_is_ptx(made):
    files = made("code", ptxas="none")
    manifest = Manifest.from_json(files["manifest.json"])
    assert manifest.form == "ptx"
    assert b".visible .entry doubled(" in files["code.ptx"]
    assert "ptxas" not in manifest.versions
    Artifact(manifest, files["code.ptx"])


def test_with_one_the_artifact_is_machine_code(made):
    assert made("code") == made("cubin")


@pytest.mark.parametrize("form", ["cubin", "sass", "metrics"])
def test_what_needs_the_assembler_says_what_to_install(made, form):
    found = refusal(made, form, ptxas="none")
    assert found.code == "WV0604"
    assert "`ptxas` is not installed" in found.message
    assert found.help[0] == "pip install nvidia-cuda-nvcc"


def test_the_disassembler_is_named_by_its_package(made, monkeypatch):
    backend = "wave_backend_nvgpu.backend.find_disassembler"
    monkeypatch.setattr(backend, lambda: None)
    found = refusal(made, "sass")
    assert found.code == "WV0604"
    assert found.help[0] == f"pip install {tools.WHEELS['nvdisasm']}"


@pytest.mark.parametrize("form", ["llvm", "ptx"])
def test_text_of_the_user_is_what_is_compiled(made, form):
    ours = text_of(made(form))
    right, other = {"llvm": ("fadd", "fsub"), "ptx": ("add.rn.f32", "sub.rn.f32")}[form]
    changed = ours.replace(right, other)
    assert changed != ours
    again = made(form, **{f"override_{form}": changed})
    assert text_of(again) == changed
    machine_code = made("cubin", **{f"override_{form}": changed})["code.cubin"]
    assert machine_code != made("cubin")["code.cubin"]
    assert "FADD" in text_of(made("sass", **{f"override_{form}": ours}))


@pytest.mark.parametrize("form", ["llvm", "ptx"])
def test_text_without_the_kernel_is_refused(made, form):
    other = text_of(made(form)).replace("doubled", "other")
    found = refusal(made, "cubin", **{f"override_{form}": other})
    what = {"llvm": "LLVM IR", "ptx": "PTX"}[form]
    assert found.code == "WV0604"
    assert found.message == f"the {what} given for `doubled` has no kernel `doubled`"


LAST = "doubled_param_1\n)"
ARGUMENTS = {
    "one more": ("doubled_param_1,\n.param .u32 more\n)", "takes 3 arguments"),
    "a larger one": ("doubled_param_1[4096]\n)", "has argument 1 of 32768 bytes"),
    "an endless one": (f"doubled_param_1[{'9' * 5000}]\n)", "of an unknown size"),
    "one in a comment": ("doubled_param_1, // .param .u32 a)\n)", "takes 3 arguments"),
    "no parameter": ("doubled_param_1, .reg .u32 a\n)", "takes 3 arguments"),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_text_with_other_arguments_is_refused(made, case):
    """The driver would read what no launch gives."""
    instead, said = ARGUMENTS[case]
    ours = text_of(made("ptx"))
    assert ours.count(LAST) == 1
    found = refusal(made, "cubin", override_ptx=ours.replace(LAST, instead))
    assert found.code == "WV0604"
    assert found.message.startswith("the PTX given for `doubled` ")
    assert said in found.message


def test_comments_among_arguments_are_none(made):
    ours = text_of(made("ptx"))
    told = ours.replace(LAST, "doubled_param_1 /* .param .u64 (a), b */ // c)\n)")
    assert made("cubin", override_ptx=told)["code.cubin"]


RUBBISH = {
    "nothing": "\0",
    "half a character": "half \ud800",
    "colors": "\x1b[31m;" * 9,
    "braces": "{" * 100_000,
}


@pytest.mark.parametrize("form", ["llvm", "ptx"])
@pytest.mark.parametrize("text", RUBBISH)
def test_rubbish_in_place_of_text(made, form, text):
    found = refusal(made, "cubin", **{f"override_{form}": RUBBISH[text]})
    assert found.code == ("WV0823" if text == "half a character" else "WV0604")


@pytest.mark.parametrize(
    ("form", "right", "wrong", "said"),
    [
        ("llvm", "fadd", "fnone", "expected instruction opcode"),
        ("ptx", "add.rn.f32", "add.rn.f99", "Unexpected instruction types"),
    ],
)
def test_malformed_text_of_the_user(made, form, right, wrong, said):
    ours = text_of(made(form))
    assert right in ours
    found = refusal(made, "cubin", **{f"override_{form}": ours.replace(right, wrong)})
    assert found.code == "WV0604"
    assert said in found.message or said in " ".join(found.notes)
    row = ours.splitlines()[found.data["line"] - 1]
    assert right in row


def test_lines_of_the_kernel_reach_the_ptx_and_no_machine_code(made):
    line = doubled.location.line + 2
    assert f".loc\t1 {line} " in text_of(made("ptx"))
    plain, lines = (
        made("cubin", debug_lines=wanted)["code.cubin"] for wanted in (False, True)
    )
    name = b"test_backend.py"
    assert (name in plain, name in lines) == (False, True)
    assert text_of(made("sass")).count("FADD") == text_of(
        made("sass", debug_lines=True)
    ).count("FADD")


# ---- limits


@tkw.thread(
    [
        tkw.WorkgroupConstraint(N, 32, 0),
        tkw.HardwareConstraint(threads_per_wave=32, waves_per_block=(1,)),
    ]
)
def staged(a: tkl.Memory[N, GLOBAL, tkl.f32], b: tkl.Memory[N, GLOBAL, tkl.f32]):
    t = tkw.thread_id(0)
    held = tkw.allocate(1024, dtype=tkl.f32)
    tkw.store(tkw.load(a, t), held, t)
    tkw.shared_memory_barrier()
    tkw.store(tkw.load(held, 31 - t), b, t)


def test_too_much_shared_memory(session):
    options = WaveCompileOptions(subs={N: 32}, target="sm_90a", preset="default")
    front = front_of(options, staged, session)
    graph, target = lower_front(front, staged).graph, front.target
    check_limits(graph, target)
    small = replace(target, memory=replace(target.memory, lds_bytes=4095))
    with pytest.raises(UserError) as caught:
        check_limits(graph, small)
    (found,) = caught.value.diagnostics
    assert found.code == "WV0605"
    assert "needs 4096 bytes of shared memory; sm_90a has 4095" in found.message
    assert (found.data["needed"], found.data["limit"]) == (4096, 4095)


def test_a_launch_asks_for_the_shared_memory(made):
    manifest = Manifest.from_json(made("cubin", staged, {N: 32})["manifest.json"])
    assert manifest.lds_bytes == 4096


def test_too_many_workgroups(made):
    long = tkw.wave(
        [
            tkw.WorkgroupConstraint(N, 64, 0),
            tkw.WorkgroupConstraint(M, 1, 1),
            tkw.HardwareConstraint(),
        ]
    )(doubled.function)
    found = refusal(made, "ptx", long, {M: 65536, N: 64})
    assert found.code == "WV0605"
    assert "needs 65536 workgroups on axis 1 of its grid" in found.message
    assert made("ptx", long, {M: 65535, N: 64})


def test_spills_are_told_with_numbers(made, caplog):
    with caplog.at_level(logging.WARNING, logger="wave_core"):
        made("cubin", doubled, {M: 8, N: 1024}, registers_per_thread=24)
    told = [row.message for row in caplog.records if "WV0608" in row.message]
    assert len(told) == 1
    assert "`doubled` spills registers on sm_90a" in told[0]
    assert "bytes are written to local memory" in told[0]


def test_code_that_spills_is_compiled_again_with_less_in_registers(made, monkeypatch):
    asked = []

    def ask(request, *others):
        asked.append(request.sinking)
        return ask_llvm(request, *others)

    monkeypatch.setattr(backend, "ask_llvm", ask)
    made("cubin", doubled, {M: 8, N: 1024}, registers_per_thread=24)
    assert asked == [False, True]
    asked.clear()
    made("cubin", doubled)
    made("ptx", doubled, {M: 8, N: 1024}, registers_per_thread=24)
    assert asked == [False, False]
