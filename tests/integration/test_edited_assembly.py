"""Assembly that was edited takes the place of ours, or is refused by its line."""

from __future__ import annotations

import re

import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_backend_asm.assemble.apart import Assembler
from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.emission import emit
from wave_core.diagnostics import SimulationError, UserError

M, N = tkl.sym.M, tkl.sym.N
KIND = tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32]
ARRAYS = torch.arange(256.0).reshape(4, 64), torch.full((4, 64), 3.0)


@tkw.wave(
    [
        tkw.WorkgroupConstraint(M, 4, 0),
        tkw.WorkgroupConstraint(N, 64, 1),
        tkw.HardwareConstraint(),
    ]
)
def added(a: KIND, b: KIND, c: KIND):
    tkw.write(tkw.read(a) + tkw.read(b), c)


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


@pytest.fixture
def files(session):
    """The files of the kernel in a form, of other assembly where it is given."""

    def make(form, text=None, chip="gfx942", **more):
        given = {**({} if text is None else {"override_asm": text}), **more}
        options = tkw.WaveCompileOptions(
            subs={M: 4, N: 64}, target=chip, backend="asm", plugin_options=given
        )
        return emit(options, added, form, session).files

    return make


@pytest.fixture
def text(files):
    return files("asm")["added.s"].decode()


@pytest.fixture
def refused(files):
    """The diagnostic of assembly that is refused."""

    def make(text, **more):
        with pytest.raises(UserError) as caught:
            files("hsaco", text, **more)
        return caught.value.diagnostics[0]

    return make


def test_what_was_not_edited_is_the_same(files, text):
    ours, again = files("hsaco"), files("hsaco", text)
    assert ours == again
    assert files("asm", "anything")["added.s"] == b"anything"


def test_what_was_edited_is_what_runs(session, text):
    edited = text.replace("v_pk_add_f32", "v_pk_mul_f32")
    assert edited != text
    options = tkw.WaveCompileOptions(
        subs={M: 4, N: 64}, target="gfx942", device="emulator", backend="asm",
        plugin_options={"override_asm": edited},
    )  # fmt: skip
    kernel, out = wave_compile(options, added, session=session), torch.zeros(4, 64)
    kernel(*ARRAYS, out)
    assert torch.equal(out, ARRAYS[0] * ARRAYS[1])
    assert kernel.last_run.reports == ()


def test_a_wait_that_was_deleted_is_reported(session, text):
    """The views and the emulator look at the edited code."""
    edited = re.sub(r"s_waitcnt vmcnt\(\d+\)\n", "", text)
    assert edited != text
    options = tkw.WaveCompileOptions(
        subs={M: 4, N: 64}, target="gfx942", device="emulator", backend="asm",
        plugin_options={"override_asm": edited},
    )  # fmt: skip
    kernel = wave_compile(options, added, session=session)
    with pytest.raises(SimulationError, match="is still being filled"):
        kernel(*ARRAYS, torch.zeros(4, 64))


def test_stages_are_written_where_asked_for(session, tmp_path):
    """Of the kernel as it is launched, and of its text alone."""
    asked = {name: str(tmp_path / name) for name in ("text", "code", "emitted")}
    how = {"subs": {M: 4, N: 64}, "target": "gfx942", "backend": "asm"}
    options = tkw.WaveCompileOptions(
        **how, device="emulator",
        dump_intermediates=asked["text"], dump_binaries=asked["code"],
    )  # fmt: skip
    wave_compile(options, added, session=session)(*ARRAYS, torch.zeros(4, 64))
    found = {path.name for path in tmp_path.rglob("added-gfx942.*")}
    assert found == {f"added-gfx942.{end}" for end in ("wave", "s", "hsaco", "json")}
    options = tkw.WaveCompileOptions(**how, dump_intermediates=asked["emitted"])
    (text,) = emit(options, added, "asm", session).files.values()
    for folder in ("text", "emitted"):
        assert (tmp_path / folder / "added-gfx942.s").read_bytes() == text


@pytest.mark.parametrize(
    ("option", "how", "said"),
    [
        ("override_asm", {"backend": "amdgpu"}, "backend `amdgpu` does not read it"),
        ("override_asm", {}, "backend `amdgpu` does not read it"),
        ("override_mlir", {"backend": "asm"}, "backend `asm` does not read it"),
        ("override_asm", {"target": "sm_90a"}, "backend `nvgpu` does not read it"),
        ("override_asm", {"device": "sim"}, "device `sim` runs no machine code"),
        ("override_ptx", {"backend": "asm"}, "backend `asm` does not read it"),
    ],
)
def test_text_for_another_backend_is_refused(session, option, how, said):
    how = {"target": "gfx942", "device": "emulator", **how}
    given = {option: "text"}
    if option != "override_mlir":
        given = {"plugin_options": given}
    options = tkw.WaveCompileOptions(subs={M: 4, N: 64}, **how, **given)
    with pytest.raises(UserError) as caught:
        wave_compile(options, added, session=session)
    found = caught.value.diagnostics[0]
    assert (found.code, found.message) == (
        "WV0823",
        f"option `{option}` is given, and {said}",
    )
    if how["device"] == "emulator":
        fits = (option, how["target"]) in {
            ("override_asm", "gfx942"),
            ("override_mlir", "gfx942"),
        }
        assert ("`backend=" in "".join(found.help)) == fits


def test_lds_is_what_the_text_asks_for(files, text):
    more = re.sub(r"(group_segment_fixed_size:?) 0", r"\1 4096", text)
    assert b'"lds_bytes":4096' in files("hsaco", more)["manifest.json"].replace(
        b" ", b""
    )


def line_of(text, found):
    return text.split("\n")[found.data["line"] - 1]


def test_malformed_text_is_refused_at_its_line(refused, files, text):
    wrong = text.replace("v_pk_add_f32", "v_pk_sum_f32", 1)
    assert wrong != text
    found = refused(wrong)
    assert found.code == "WV0604"
    assert found.message.startswith("the assembly of `added` is malformed: ")
    assert "invalid instruction" in found.message
    assert line_of(wrong, found).startswith("v_pk_sum_f32")
    assert files("hsaco", text) == files("hsaco")


def test_instructions_of_another_chip_are_refused(refused, text):
    wrong = text.replace(
        "s_endpgm", "v_mfma_f32_16x16x32_f16 v[0:3], v[0:3], v[0:3], v[0:3]\ns_endpgm"
    )
    found = refused(wrong)
    assert "not supported on this GPU" in found.message
    found = refused(f'.amdgcn_target "amdgcn-amd-amdhsa--gfx950"\n{text}')
    assert found.code == "WV0604"
    assert "gfx950" in found.message
    assert found.data["line"] == 1


BADLY = {
    "no kernel": (r"added", "other", "has no kernel `added`; it has: `other`"),
    "no metadata": (
        r"(?s)\.amdgpu_metadata.*\.end_amdgpu_metadata",
        "",
        "has no kernel `added`; it has: none",
    ),
    "no descriptor": (
        r"(?s)\.amdhsa_kernel.*\.end_amdhsa_kernel",
        "",
        "has no kernel `added`; it has: none",
    ),
    "fewer arguments": (
        r", \{\.size: 8, \.offset: 16[^}]*\}",
        "",
        "takes 2 arguments, and a launch gives 3",
    ),
    "a number for a pointer": (
        r"\.offset: 8, \.value_kind: global_buffer, \.address_space: global",
        ".offset: 8, .value_kind: by_value",
        "has argument 1 as by_value of 8 bytes at 8; "  # noqa: ISC004 - one sentence
        "a launch gives a pointer of 8 at 8",
    ),
    "more threads": (
        r"\.max_flat_workgroup_size: 64",
        ".max_flat_workgroup_size: 128",
        "is for 128 threads, and a launch has 64",
    ),
    "other LDS": (
        r"amdhsa_group_segment_fixed_size 0",
        "amdhsa_group_segment_fixed_size 512",
        "has 512 bytes of LDS in its descriptor and 0 in its metadata",
    ),
    "other scratch": (
        r"(?<= {4})\.private_segment_fixed_size: 0",
        ".private_segment_fixed_size: 8",
        "has 0 bytes of scratch in its descriptor and 8 in its metadata",
    ),
    "other arguments": (
        r"amdhsa_kernarg_size 24",
        "amdhsa_kernarg_size 32",
        "has 32 bytes of arguments in its descriptor and 24 in its metadata",
    ),
    "shorter waves": (
        r"wavefront_size: 64",
        "wavefront_size: 32",
        "has 64 lanes in a wave in its descriptor and 32 in its metadata",
    ),
}


@pytest.mark.parametrize("name", BADLY)
def test_code_that_a_launch_does_not_fit_is_refused(refused, text, name):
    pattern, instead, told = BADLY[name]
    wrong = re.sub(pattern, instead, text)
    assert wrong != text
    found = refused(wrong)
    assert found.code == "WV0604"
    assert found.message == f"the assembly given for `added` {told}"


@pytest.mark.parametrize(
    ("more", "instead", "told"),
    [
        ("v_mov_b32 v200, v1 // s99", "", r"v200, and its .* v0 to v\d+"),
        ("s_mov_b64 s[88:89], 0 ; v99", "", r"s89, and its .* s0 to s\d+"),
        ("v_accvgpr_write_b32 a20, v1", "", r"a20, and its .* a0 to a\d+"),
        ("", "amdhsa_accum_offset 4", r"v\d+, and its .* v0 to v3"),
    ],
)
def test_registers_that_nobody_asks_for_are_refused(refused, text, more, instead, told):
    wrong = text.replace("s_endpgm", f"{more}\ns_endpgm", 1) if more else text
    if instead:
        wrong = re.sub(rf"{instead.split()[0]} \d+", instead, wrong)
    found = refused(wrong)
    assert found.code == "WV0604"
    assert re.fullmatch(
        f"the assembly given for `added` uses {told}".replace(
            ".*", "descriptor asks for"
        ),
        found.message,
    )
    register = found.message.split("uses ")[1].split(",")[0]
    assert register[1:] in line_of(wrong, found)


def test_the_emulator_sees_them_behind_an_expression(session, text):
    wrong = text.replace("s_endpgm", "v_mov_b32 v[100+100], v1\ns_endpgm", 1)
    options = tkw.WaveCompileOptions(
        subs={M: 4, N: 64}, target="gfx942", device="emulator", backend="asm",
        plugin_options={"override_asm": wrong},
    )  # fmt: skip
    kernel = wave_compile(options, added, session=session)
    with pytest.raises(SimulationError) as caught:
        kernel(*ARRAYS, torch.zeros(4, 64))
    (found,) = caught.value.diagnostics
    assert found.code == "WV0917"
    assert re.fullmatch(
        "the machine code of `added`: v200 is used, and the kernel descriptor asks for "
        r"v0 to v\d+",
        found.message,
    )
    assert "tkw.write(" in found.render()
    assert found.help == ("`wave compile --emit asm` shows the code",)


def test_more_lds_than_there_is_is_refused(refused, text):
    more = re.sub(r"(group_segment_fixed_size:?) 0", r"\1 65540", text)
    found = refused(more)
    assert found.code == "WV0605"
    assert found.message == "the assembly given for `added` needs 65540 bytes of LDS"


RUBBISH = {
    "nothing": "",
    "the end of a string": "s_nop 0\0",
    "quotes": 'a "b" \\ \\0A "',
    "letters": "ä \u2028 \x1b[31m",
    "braces": "{" * 100_000,
}


@pytest.mark.parametrize("name", RUBBISH)
def test_rubbish_is_refused(refused, files, name):
    """LLVM reads an open quote behind a backslash for ever, until the limit."""
    found = refused(RUBBISH[name], compiler_time_limit_s=3)
    others = {"nothing": "WV0804", "quotes": "WV0606"}
    assert found.code == others.get(name, "WV0604")
    assert files("hsaco")


def test_a_text_that_takes_too_long_is_not_tried_again(session, text, monkeypatch):
    """No other choice of the compiler's makes another text of it."""
    asked: list[str] = []
    code = Assembler.code
    monkeypatch.setattr(Assembler, "code", lambda *a: asked.append(a[1]) or code(*a))
    options = tkw.WaveCompileOptions(
        subs={M: 4, N: 64}, target="gfx942", backend="asm", preset="auto",
        plugin_options={"override_asm": RUBBISH["quotes"], "compiler_time_limit_s": 1},
    )  # fmt: skip
    with pytest.raises(UserError, match="WV0606"):
        emit(options, added, "hsaco", session)
    assert len(asked) == 1


def test_of_a_line_without_end_the_beginning_is_told(refused):
    found = refused("x" * 100_000)
    assert found.notes == (f"line 1, column 1: {'x' * 200}...",)


def test_half_a_character_is_refused(refused):
    assert refused("half \ud800").code == "WV0823"


def test_an_assembler_that_ends_its_process_leaves_ours(refused, files, text):
    """LLVM gives up on a size that is none, and on text without an end."""
    found = refused(
        text.replace(".size added, .Lfunc_end_added-added", ".size added, nowhere")
    )
    assert found.code == "WV0606"
    assert "LLVM ERROR" in found.message
    endless = text.replace(".text", ".text\n.rept 100000000000\ns_nop 0\n.endr", 1)
    found = refused(endless, compiler_time_limit_s=2)
    assert found.code == "WV0606"
    assert "took more than 2 s" in found.message
    assert files("hsaco", text) == files("hsaco")
