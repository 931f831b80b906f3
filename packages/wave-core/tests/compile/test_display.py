"""What a notebook shows of a compiled kernel."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import wave_core.lang as tkw
from wave_core.compile import Session, WaveCompileOptions, wave_compile
from wave_core.diagnostics import PluginError
from wave_core.plugin import DisplaySpec, ExecutorSpec, hookimpl

N = tkw.sym.N


@tkw.wave([tkw.WorkgroupConstraint(N, 64, 0), tkw.HardwareConstraint()])
def twice(a: tkw.Memory[N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32]):
    value = tkw.read(a)
    tkw.write(value + value, a)


def shown(*displays):
    """The HTML of a kernel of a session with these displays."""
    plugin = SimpleNamespace(__name__="toy", REQUIRES_API=(1, 8))

    @hookimpl
    def wave_register_displays():
        return displays

    @hookimpl
    def wave_register_executors():
        yield ExecutorSpec("toy", "toy_made:Device")

    plugin.wave_register_displays = wave_register_displays
    plugin.wave_register_executors = wave_register_executors
    session = Session({"toy": plugin}, entry_points=())
    options = WaveCompileOptions(subs={N: 300}, device="toy")
    return wave_compile(options, twice, session=session)._repr_html_()


def test_facts_are_a_table():
    text = shown()
    assert text.startswith("<b>twice</b><table>")
    assert text.endswith("</table>")
    assert ">twice(a: f32[N])</td>" in text
    assert ">5 workgroups</td>" in text
    assert ">N = 300</td>" in text


def test_what_plugins_draw_stands_below_by_name(monkeypatch):
    made = SimpleNamespace(
        last=lambda kernel: f"<i>{kernel.name}</i>", first=lambda kernel: "<hr>"
    )
    monkeypatch.setitem(sys.modules, "toy_made", made)
    text = shown(DisplaySpec("b", "toy_made:last"), DisplaySpec("a", "toy_made:first"))
    assert text.endswith("</table><hr><i>twice</i>")


def test_a_display_that_is_not_there_is_told():
    with pytest.raises(PluginError, match="WV0814"):
        shown(DisplaySpec("a", "toy_missing:first"))
