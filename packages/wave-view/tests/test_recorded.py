"""Recorded thread traces: the input that asks for one, and what is read of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import viewed_kernels

from wave_core.cli.app import run_command
from wave_core.diagnostics import UserError
from wave_view import recorded, thread_trace, trace_command
from wave_view.measured import unit_of, with_recording
from wave_view.recorded import read_recording
from wave_view.records import Code, CodeLine
from wave_view.thread_trace import Launch, recorder, trace_input

HEADER = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
CODE = [
    ["; double", 0, 0, "double", 1, 4096, 0, 0, 0, 0],
    ["v_add_f32_e32 v0, v0, v0", 0, 1, "SOURCE:22", 1, 4096, 2, 16, 8, 0],
    ["s_waitcnt vmcnt(0)", 0, 2, "SOURCE:22", 1, 4100, 2, 40, 36, 0],
    ["s_endpgm", 0, 3, "SOURCE:23", 1, 4104, 2, 8, 0, 0],
]
WAVE = [[100, 6, 4, 8, 1], [108, 9, 16, 20, 2], [128, 10, 0, 4, 3]]


def write_trace(folder, code=CODE, waves=(WAVE,), header=HEADER):
    """The files of one dispatch, as the decoder of rocprofv3 writes them."""
    at = folder / "ui_output_agent_7_dispatch_2"
    at.mkdir()
    (at / "code.json").write_text(json.dumps({"code": code, "header": header}))
    for slot, rows in enumerate(waves):
        document = {"duration": 32, "wave": {"cu": 1, "instructions": rows}}
        (at / f"se0_sm1_sl{slot}_wv0.json").write_text(json.dumps(document))
    (at / "occupancy.json").write_text("{}")
    return at


def test_the_input_is_of_the_documented_form():
    """Names and ranges: ROCprofiler-SDK, "Using thread trace"."""
    launch = Launch("a.b", [], number=3, unit=15, folder=Path("here"))
    (job,) = trace_input(launch, simds="0xF")["jobs"]
    assert job.pop("advanced_thread_trace") is True
    assert job.pop("kernel_include_regex") == r"^a\.b$"
    assert job.pop("kernel_iteration_range") == "[3]"
    assert job.pop("output_directory") == "here"
    assert 0 <= job.pop("att_target_cu") <= 15
    assert 1 <= int(job.pop("att_shader_engine_mask"), 16) < 1 << 32
    assert 0 <= int(job.pop("att_simd_select"), 16) <= 0xF
    assert 1 << 20 <= int(job.pop("att_buffer_size"), 16) < 1 << 31
    assert not job


def test_code_that_no_tool_records_is_refused(monkeypatch, session):
    made = SimpleNamespace(forms=("elsewhere",))
    monkeypatch.setattr(thread_trace, "backend_of", lambda *_: made)
    launch = Launch("double", [], number=1, unit=1, folder=Path("traces"))
    case = viewed_kernels.case_of(viewed_kernels.double)
    with pytest.raises(UserError, match="records code for target `generic`") as caught:
        recorder(case, session, launch, None)
    assert caught.value.code == "WV0855"


def test_a_trace_is_read_and_found_below_its_folder(tmp_path):
    found = read_recording(write_trace(tmp_path, waves=(WAVE, WAVE)).parent)
    assert found.name == "ui_output_agent_7_dispatch_2"
    assert sorted(found.rows) == [1, 2, 3]
    assert [(w.engine, w.simd, w.slot) for w in found.waves] == [(0, 1, 0), (0, 1, 1)]
    assert found.waves[0].events[1] == (2, 108, 124, 128)
    assert found.left_out == 0


def test_a_trace_takes_the_place_of_the_emulators_cycles(view, tmp_path):
    lines = [CodeLine(f"    {row[0]}", (0, 22), instruction=True) for row in CODE[1:]]
    lines[0] = replace(lines[0], text="    v_add_f32 v0, v0, v0")
    made = replace(view, code=Code("asm", tuple(lines)))
    shown = with_recording(made, read_recording(write_trace(tmp_path)))
    timeline = shown.documents["cycles"]["timeline"]
    assert (timeline["waves_shown"], timeline["waves_recorded"]) == ([0, 0], 1)
    assert shown.executed == (0, 1, 2)
    assert [row["unit"] for row in timeline["instructions"]] == [
        "valu",
        "sync",
        "branch",
    ]
    reasons = timeline["reasons"]
    assert [(e[1:5], reasons[e[5]]) for e in timeline["events"]] == [
        ([0, 4, 8, 4], "valu"),
        ([1, 24, 28, 16], "wait"),
        ([2, 28, 32, 0], "branch"),
    ]
    assert timeline["cycles"] == 32
    assert shown.to_json()


def test_lines_are_enough_where_the_code_is_another(view, tmp_path):
    source = view.sources[0].file
    code = [[source.join(e.split("SOURCE")) if i == 3 else e for i, e in enumerate(r)]
            for r in CODE]  # fmt: skip
    shown = with_recording(view, read_recording(write_trace(tmp_path, code)))
    assert shown.executed == ()
    assert shown.documents["cycles"]["timeline"]["events"]


def test_a_trace_of_another_kernel_is_refused(view, tmp_path):
    with pytest.raises(UserError, match=r"WV0851.*no trace of kernel `double`"):
        with_recording(view, read_recording(write_trace(tmp_path)))


BAD_ROW = ["v_add", 0, 1, "k.py:1", 1, 4096, 2, 16]
DAMAGE = {
    "columns": {"code": [BAD_ROW]},
    "text": {"code": [["x" * 5000, *CODE[1][1:]]]},
    "address": {"code": [[*CODE[1][:5], -4, *CODE[1][6:]]]},
    "header": {"header": "ISA, Hit"},
    "no wave": {"waves": ()},
    "kinds": {"waves": ([[0, 0, 0, "4", 1]],)},
    "huge": {"waves": ([[1 << 60, 0, 0, 4, 1]],)},
    "a float": {"waves": ([[0.5, 0, 0, 4, 1]],)},
    "truth": {"waves": ([[0, 0, 0, True, 1]],)},
    "backwards": {"waves": ([[9, 0, 0, 4, 1], [3, 0, 0, 4, 1]],)},
    "stalls too long": {"waves": ([[0, 0, 9, 4, 1]],)},
    "no such row": {"waves": ([[0, 0, 0, 4, 77]],)},
    "not a list": {"waves": ({"a": 1},)},
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_contradicts_the_form_is_refused(damage, tmp_path):
    write_trace(tmp_path, **DAMAGE[damage])
    with pytest.raises(UserError, match="WV0850"):
        read_recording(tmp_path)


@pytest.mark.parametrize("file", ["code.json", "se0_sm1_sl0_wv0.json"])
@pytest.mark.parametrize(
    "data", [b"", b'{"code": [', b"\xff\xfe", b"[" * 100_000, b"null", b"1e999"]
)
def test_files_of_another_kind_are_refused(file, data, tmp_path):
    (write_trace(tmp_path) / file).write_bytes(data)
    with pytest.raises(UserError, match="WV0850"):
        read_recording(tmp_path)


@pytest.mark.parametrize("file", ["code.json", "se0_sm1_sl0_wv0.json"])
def test_a_file_that_ends_early_is_refused_wherever_it_ends(file, tmp_path):
    path = write_trace(tmp_path) / file
    data = path.read_bytes()
    for length in range(0, len(data) - 1, 7):
        path.write_bytes(data[:length])
        with pytest.raises(UserError, match="WV0850"):
            read_recording(tmp_path)


def test_large_files_are_not_read_and_long_traces_are_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded, "EVENTS", 4)
    write_trace(tmp_path, waves=(WAVE, WAVE, WAVE))
    found = read_recording(tmp_path)
    assert [len(wave.events) for wave in found.waves] == [3, 1, 0]
    assert found.left_out == 5
    monkeypatch.setattr(recorded, "FILE_BYTES", 100)
    with pytest.raises(UserError, match="no plain file of at most"):
        read_recording(tmp_path)


@pytest.mark.parametrize(
    ("wanted", "slots"), [(range(2), [0, 1]), (range(1, 9), [1, 2]), (range(2, 3), [2])]
)
def test_waves_that_are_asked_for_are_read(tmp_path, wanted, slots):
    write_trace(tmp_path, waves=(WAVE, WAVE, WAVE))
    found = read_recording(tmp_path, wanted)
    assert [wave.slot for wave in found.waves] == list(found.numbers) == slots
    assert (found.recorded, found.left_out) == (3, 0)


def test_waves_that_were_not_recorded_are_refused(tmp_path):
    write_trace(tmp_path, waves=(WAVE, WAVE))
    with pytest.raises(UserError, match="has no wave 2: 2 were recorded") as caught:
        read_recording(tmp_path, range(2, 4))
    assert caught.value.code == "WV0852"


@pytest.fixture
def traced(monkeypatch, view, tmp_path, capsys):
    """`wave trace --read` of a kernel that need not be compiled, and what it says."""
    monkeypatch.setattr(trace_command, "collect", lambda *_: view)
    monkeypatch.chdir(tmp_path)
    source = view.sources[0].file
    code = [[source.join(e.split("SOURCE")) if i == 3 else e for i, e in enumerate(r)]
            for r in CODE]  # fmt: skip
    write_trace(tmp_path, code, waves=(WAVE,) * 3)

    def run(*options):
        kernel = f"{viewed_kernels.__file__}:doubled"
        code = run_command(["trace", kernel, "--read", ".", *options])
        return code, *capsys.readouterr()

    return run


def test_what_is_not_shown_is_said(traced, monkeypatch):
    code, _, told = traced()
    assert (code, "shows waves" in told) == (0, False)
    code, _, told = traced("--waves", "1-2")
    assert (code, "shows waves 1 to 2 of 3: --waves chooses" in told) == (0, True)
    monkeypatch.setattr(recorded, "EVENTS", 4)
    code, printed, told = traced("--waves", "all", "--json")
    assert "leaves out 5 instructions of these waves" in told
    found = json.loads(printed)
    assert (found["waves"], found["waves_recorded"]) == ([0, 2], 3)
    assert found["instructions_left_out"] == 5


@pytest.mark.parametrize("waves", ["", "x", "-1", "3-1", "1-2-3"])
def test_waves_that_are_no_numbers_are_refused(traced, waves):
    code, _, told = traced(f"--waves={waves}")
    assert (code, "names no waves" in told) == (2, True)


def test_a_folder_that_is_none_or_of_several_is_refused(tmp_path):
    with pytest.raises(UserError, match="there is no such folder"):
        read_recording(tmp_path / "nothing")
    with pytest.raises(UserError, match=r"no `code.json`"):
        read_recording(tmp_path)
    write_trace(tmp_path)
    (tmp_path / "ui_output_agent_7_dispatch_3").mkdir()
    with pytest.raises(UserError, match="several dispatches: ui_output_agent_7_disp"):
        read_recording(tmp_path)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("v_mfma_f32_16x16x16_f16 a[0:3]", "mfma"),
        ("v_cvt_f32_f16 v0, v1", "valu"),
        ("ds_read_b128 v[0:3], v4", "lds"),
        ("buffer_load_dwordx4 v[0:3]", "vmem"),
        ("s_load_dwordx2 s[0:1]", "smem"),
        ("s_barrier", "barrier"),
        ("s_waitcnt lgkmcnt(0)", "wait"),
        ("s_cbranch_scc1 L", "branch"),
        ("s_add_u32 s0, s1, s2", "salu"),
    ],
)
def test_instructions_have_units(text, unit):
    assert unit_of(text) == unit
