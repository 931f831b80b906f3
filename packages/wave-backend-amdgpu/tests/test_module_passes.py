"""Passes of plugins on the MLIR: run where it is compiled, and part of the key."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.cli import pipeline
from wave_core.compile import Config, Session, WaveCompileOptions, wave_compile
from wave_core.compile.emission import emit
from wave_core.diagnostics import PluginError, UserError
from wave_core.plugin import ModulePassSpec, hookimpl

M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE

PASSES = """
from iree.compiler import ir


def prioritise(module, request):
    def visit(operation):
        if operation.name == "func.return":
            with ir.InsertionPoint(operation), ir.Location.unknown(module.context):
                level = ir.IntegerAttr.get(
                    ir.IntegerType.get_signless(16), request.options["level"]
                )
                ir.Operation.create("rocdl.s.setprio", attributes={"priority": level})
        return ir.WalkResult.ADVANCE

    assert (request.kernel, request.target) == ("victim", "gfx942")
    module.operation.walk(visit)


def raises(module, request):
    raise LookupError("no such table")


def returns(module, request):
    return str(module)


def spoils(module, request):
    def visit(operation):
        if operation.name == "func.return":
            operation.erase()
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)


def aborts(module, request):
    import os

    os.abort()
"""


@tkw.wave([tkw.WorkgroupConstraint(M, 16, 0), tkw.HardwareConstraint()])
def victim(a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]):
    tkw.write(tkw.read(a), b)


@pytest.fixture(autouse=True)
def passes(tmp_path, monkeypatch):
    """A module that the worker can import, as the caller can."""
    (tmp_path / "mlir_passes_of_a_test.py").write_text(PASSES)
    monkeypatch.syspath_prepend(str(tmp_path))


def session_with(*functions, cache=False, **options):
    specs = [
        ModulePassSpec(name, "amdgpu", f"mlir_passes_of_a_test:{name}", options)
        for name in functions
    ]

    @hookimpl
    def wave_register_module_passes():
        yield from specs

    plugin = SimpleNamespace(
        REQUIRES_API=(1, 4), wave_register_module_passes=wave_register_module_passes
    )
    given = {"toy": plugin} if functions else {}
    return Session(given, Config(cache=cache), announce=lambda _: None)


def made(session, form="asm", **more):
    options = WaveCompileOptions(subs={M: 16, N: 64}, target="gfx942", **more)
    files = emit(options, victim, form, session).files
    return next(iter(files.values())).decode(errors="replace")


def test_the_module_is_what_the_pass_leaves():
    session = session_with("prioritise", level=2)
    assert "s_setprio 2" in made(session)
    assert "rocdl.s.setprio 2" in made(session, "mlir")
    assert "s_setprio" not in made(session_with())


def test_a_pass_keeps_the_lines_of_the_kernel():
    session = session_with("prioritise", level=1)
    lines = made(session, plugin_options={"debug_lines": True})
    assert "test_module_passes.py" in lines


def test_options_are_part_of_the_key():
    def key(session):
        options = WaveCompileOptions(subs={M: 16, N: 64}, target="gfx942")
        return emit(options, victim, "mlir", session).key

    one, two = (session_with("prioritise", level=n) for n in (1, 2))
    assert len({key(one), key(two), key(session_with())}) == 3
    assert key(session_with("prioritise", level=1)) == key(one)


def test_a_pass_that_is_disabled_does_not_run():
    session = session_with("prioritise", "raises", level=2)
    text = made(session, disable_passes=["raises"])
    assert "s_setprio 2" in text
    assert "s_setprio" not in made(session, disable_passes="raises, prioritise")
    options = WaveCompileOptions(
        subs={M: 16, N: 64},
        target="gfx942",
        device="emulator",
        disable_passes=["raises"],
    )
    lowerings = wave_compile(options, victim, session=session).compiled.launch_settings
    assert [each.name for each in lowerings.lowerings.module_passes] == ["prioritise"]


def test_mlir_by_hand_is_taken_as_it_is():
    session = session_with("prioritise", level=1)
    text = made(session_with(), "mlir")
    assert "s_setprio" not in made(session, override_mlir=text)


def test_a_pass_that_raises(tmp_path):
    with pytest.raises(PluginError) as caught:
        made(session_with("raises"))
    path = tmp_path / "mlir_passes_of_a_test.py"
    line = victim.location.line
    head = "def victim(a: tkl.Memory[M, N, GLOBAL, tkl.f32], "
    assert str(caught.value) == (
        "error[WV0607]: pass `raises` of plugin `toy` failed on the MLIR of `victim`: "
        f"LookupError: no such table ({path}:20)\n"
        "   --> packages/wave-backend-amdgpu/tests/test_module_passes.py"
        f":{line}:1 in victim\n"
        f"{line} | {head}b: tkl.Memory[M, N, GLOBAL, tkl.f32]):\n"
        "   | ^^^^^^^^^^ compiling this kernel\n"
        "   = help: report it to the authors of plugin `toy`, or leave it out"
    )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("returns", "a pass changes the module that it is given"),
        ("spoils", "block with no terminator"),
        ("absent", "has no attribute 'absent'"),
    ],
)
def test_what_a_pass_gives_is_checked(name, says):
    with pytest.raises(PluginError) as caught:
        made(session_with(name))
    assert caught.value.code == "WV0607"
    assert says in str(caught.value)


def test_a_pass_that_ends_the_process():
    with pytest.raises(UserError, match="crashed") as caught:
        made(session_with("aborts"))
    assert caught.value.code == "WV0606"


def test_mlir_by_hand_is_verified_at_its_line():
    text = made(session_with(), "mlir")
    broken = text.replace("gpu.block_id x", "gpu.block_id q", 1)
    line = next(i for i, x in enumerate(broken.split("\n"), 1) if "block_id q" in x)
    with pytest.raises(UserError) as caught:
        made(session_with(), override_mlir=broken)
    shown = str(caught.value)
    assert "error[WV0604]: the MLIR given for `victim` is malformed: " in shown
    assert f"line {line}, column " in shown
    assert "gpu.block_id q" in shown


def test_the_pipeline_lists_them(monkeypatch):
    session = session_with("prioritise", level=1)
    monkeypatch.setattr(pipeline, "open_session", lambda: session)
    runner = CliRunner()
    shown = runner.invoke(pipeline.app, ["--target", "gfx942"]).output
    assert "on what is emitted" in shown
    assert "prioritise" in shown
    listed = json.loads(
        runner.invoke(pipeline.app, ["--target", "gfx942", "--json"]).output
    )
    assert [(each["name"], each["provider"]) for each in listed["module_passes"]] == [
        ("prioritise", "toy")
    ]
    assert "on what" not in runner.invoke(pipeline.app, ["--target", "generic"]).output
