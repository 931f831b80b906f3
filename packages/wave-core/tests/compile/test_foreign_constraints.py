"""Constraints of plugins: registered, or refused; never ignored."""

from __future__ import annotations

import re
import sys
from copy import copy
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

import wave_core.lang as tkw
from wave_core.compile import Session, WaveCompileOptions
from wave_core.compile.front import front_of
from wave_core.constraints import Constraint, WorkgroupConstraint
from wave_core.diagnostics import Location, PluginError, UserError, user_error
from wave_core.plugin import ConstraintSet, hookimpl
from wave_core.symbols import from_sympy

N = tkw.sym.N


@dataclass(frozen=True)
class Tiles(Constraint):
    """``count`` workgroups along ``N``; told what to do by ``answer``."""

    count: int
    answer: Any = None

    def stands_for(self, kernel) -> Any:
        if callable(self.answer):
            return self.answer(self, kernel)
        size = kernel.bind(from_sympy(N)).constant_value
        return [WorkgroupConstraint(N, -(-size // self.count), 0)]


def compiled(session, count=4, answer=None):
    @tkw.wave([Tiles(count, answer), tkw.HardwareConstraint()])
    def kernel(a: tkw.Memory[N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32]):
        tkw.write(tkw.read(a), a)

    options = WaveCompileOptions(subs={N: 100}, target="generic")
    return front_of(options, kernel, session)


LINE = Location.of_function(compiled).line + 1

REFUSED = f"""\
error[WV0326]: nobody handles the constraint `Tiles`
  --> test_foreign_constraints.py:{LINE}:16 in compiled
{LINE} |     @tkw.wave([Tiles(count, answer), tkw.HardwareConstraint()])
   |                ^^^^^^^^^^^^^^^^^^^^
   = note: no plugin registers its class
   = help: install the plugin that brings it, or leave it out
   = help: an author registers it with `wave_register_constraints`"""


def relative(text):
    return re.sub(r" +--> .*/", "  --> ", text)


@pytest.fixture
def session(monkeypatch):
    made = SimpleNamespace(Tiles=Tiles)
    monkeypatch.setitem(sys.modules, "wave_test_tiles", made)

    @hookimpl
    def wave_register_constraints():
        yield ConstraintSet("wave_test_tiles:Tiles")

    plugin = SimpleNamespace(
        REQUIRES_API=(1, 3), wave_register_constraints=wave_register_constraints
    )
    return Session({"tiles": plugin}, entry_points=())


def test_a_registered_one_counts_as_what_it_stands_for(session):
    found = compiled(session)
    assert [str(count) for count in found.geometry.grid] == ["4"]
    assert not any(isinstance(row, Tiles) for row in found.traced.constraints)
    (tiles,) = [c for c in found.traced.constraints if type(c) is WorkgroupConstraint]
    assert tiles.location.line == LINE


def test_an_unregistered_one_is_refused():
    with pytest.raises(UserError) as caught:
        compiled(Session(entry_points=()))
    assert relative(str(caught.value)) == REFUSED


def test_a_copy_knows_its_line_and_nothing_more():
    row = Tiles(2)
    assert vars(copy(row)) == vars(row)


def test_one_that_stands_for_itself_is_refused(session):
    with pytest.raises(UserError, match="nobody handles the constraint") as caught:
        compiled(session, answer=lambda row, _kernel: [row])
    assert "it stands for `Tiles`, which is not built in" in str(caught.value)


def test_one_that_stands_for_open_symbols_is_refused(session):
    """Nobody would settle them."""
    with pytest.raises(UserError, match="it stands for `Tunable`") as caught:
        compiled(session, answer=lambda *_: [tkw.Tunable(tkw.sym.T, (1, 2))])
    assert caught.value.code == "WV0326"


def test_what_it_refuses_reaches_the_author(session):
    def refuse(row, _kernel):
        raise user_error("WV0308", "tiles are odd", at=row.location)

    with pytest.raises(UserError, match="tiles are odd"):
        compiled(session, answer=refuse)


def test_one_that_fails_names_its_plugin(session):
    with pytest.raises(PluginError, match="failed: ZeroDivisionError") as caught:
        compiled(session, answer=lambda *_: 1 // 0)
    assert caught.value.code == "WV0819"
    assert "constraint `Tiles` of plugin `tiles`" in str(caught.value)
