"""A backend says which of its forms is launched, and which is assembly."""

from __future__ import annotations

import sys
import types

import pytest

from wave_core.cli import app, compile as compile_command
from wave_core.compile import WaveCompileOptions, wave_compile
from wave_core.compile.backends import backend_of
from wave_core.diagnostics import UserError
from wave_core.plugin import BackendSpec, hookimpl


class ToyBackend:
    """Emits the form that it is asked for, as a text that says so."""

    def versions(self):
        return {"toy": "1"}

    def prepare(self):
        return None

    def check(self, lowered, target):
        return None

    def emit(self, lowered, target, options, table, form):
        return {f"code.{form}": f"{form} of {lowered.name}\n".encode()}


@pytest.fixture
def session(make_session, monkeypatch):
    """Makes a session with a backend for the target `generic`."""
    module = types.ModuleType("toy_backend")
    module.ToyBackend = ToyBackend
    monkeypatch.setitem(sys.modules, "toy_backend", module)

    def make(**fields):
        @hookimpl
        def wave_register_backends():
            forms = ("listing", "tape")
            yield BackendSpec(
                "toy", "toy_backend:ToyBackend", {"generic"}, forms, **fields
            )

        plugin = types.ModuleType("toy_backend_plugin")
        plugin.REQUIRES_API = (1, 6)
        plugin.wave_register_backends = wave_register_backends
        made = make_session()
        made._extra += (("toybackend", plugin),)
        return made

    return make


@pytest.mark.parametrize(
    ("fields", "artifact"), [({}, "listing"), ({"artifact": "tape"}, "tape")]
)
def test_the_form_that_is_launched_is_the_first_or_the_one_named(
    session, fields, artifact
):
    assert backend_of(session(**fields), "generic").artifact == artifact


def test_assembly_is_the_form_that_the_backend_names(session, copy_kernel, tiles):
    options = WaveCompileOptions(subs={"M": 20, "N": 70, **tiles}, device="sim")
    made = session(assembly="listing")
    assert wave_compile(options, copy_kernel, session=made).asm == "listing of copy\n"
    with pytest.raises(UserError, match="does not emit `asm`") as caught:
        _ = wave_compile(options, copy_kernel, session=session()).asm
    assert caught.value.code == "WV0823"


def test_the_command_makes_what_is_launched(
    session, monkeypatch, tmp_path, copy_kernel, tiles, capsys
):
    made = session(artifact="tape")
    monkeypatch.setattr(compile_command, "open_session", lambda: made)
    path = tmp_path / "mine.py"
    path.write_text(
        "from wave_core.compile import KernelCase\n"
        "def case(shape, settings, target):\n"
        "    return KernelCase(kernel=KERNEL, options=OPTIONS, shape={},"
        " make_arguments=None, reference=None, outputs=(), tolerance=0.0)\n"
    )
    options = WaveCompileOptions(subs={"M": 20, "N": 70, **tiles})
    monkeypatch.setattr("builtins.KERNEL", copy_kernel, raising=False)
    monkeypatch.setattr("builtins.OPTIONS", options, raising=False)
    for given, says in (((), "tape of copy"), (("--emit", "listing"), "listing of")):
        command = ["compile", f"{path}:case", "--target", "generic", *given]
        assert app.run_command(command) == 0
        assert capsys.readouterr().out.startswith(says)
