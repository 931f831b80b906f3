"""Rules of plugins that fail, or give what cannot be: their plugin is named."""

from __future__ import annotations

import sys
from textwrap import dedent
from types import ModuleType

import numpy as np
import pytest

import wave_core.lang as tkw
from wave_core.compile import Config, Session, WaveCompileOptions, wave_compile
from wave_core.diagnostics import PluginError
from wave_core.plugin import LoweringSpec, OpSet, TileRules, hookimpl
from wave_core.trace.surface import surface

M, N = tkw.sym.M, tkw.sym.N

RULES = """
from wave_core.ops import rules
from wave_core.ops.base import Op, operand
from wave_core.ops.traits import Trait
from wave_core.plugin import lowers
from wave_core.plugin.tiles import *


class Flip(Op, name="toy.flip", traits={Trait.PURE, Trait.LAYS_OUT_ITSELF}):
    '''Neighbours exchanged.'''

    value: Op = operand(help="what is exchanged")

    def infer(self):
        return rules.register_type(self, self.value, "value")


@supplies(Flip)
def pairs(op, solver):
    SUPPLY
    digits = [Digit(1, "reg", 1, 2), Digit(2, "lane", 1, 32)]
    layout = Layout.make(64, 2, {op.type.dims[-1]: digits})
    return placed(layout, static_tile(op, op.type.dims, solver.geometry))


@demands(Flip)
def same(op, solver):
    DEMAND
    if (found := solver.known(op)) is not None:
        yield 0, found


@expands(Flip)
def each(expander, op, scope):
    EXPAND
    expand_elementwise(expander, op, scope)


@lowers(Flip)
def flip(op, program):
    LOWER

    def step(machine):
        STEP
        value = machine.value(op.value)
        machine.values[op.ident] = value.rearranged(lambda data: data[..., ::-1])

    return step
"""


class Toy:
    """A plugin with one op that needs everything."""

    REQUIRES_API = (1, 4)

    @hookimpl
    def wave_register_ops(self):
        yield OpSet("toy_rules:Flip")

    @hookimpl
    def wave_register_tile_rules(self):
        yield TileRules("toy_rules")

    @hookimpl
    def wave_register_lowerings(self):
        yield LoweringSpec("sim", "toy_rules")


@pytest.fixture
def launch(monkeypatch):
    """Runs a kernel with the op; keywords are statements that rules begin with."""

    def run(**statements):
        source = RULES
        for place in ("SUPPLY", "DEMAND", "EXPAND", "LOWER", "STEP"):
            source = source.replace(place, statements.get(place.lower(), "pass"))
        module = ModuleType("toy_rules")
        monkeypatch.setitem(sys.modules, "toy_rules", module)
        exec(dedent(source), vars(module))
        flip = surface(module.Flip, "flip")
        memory = tkw.Memory[M, N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32]

        @tkw.wave(
            [
                tkw.WorkgroupConstraint(M, 2, 0),
                tkw.WorkgroupConstraint(N, 64, 1),
                tkw.HardwareConstraint(threads_per_wave=64),
            ]
        )
        def kernel(a: memory, b: memory):
            tkw.write(flip(tkw.read(a)), b)

        options = WaveCompileOptions(subs={M: 3, N: 66}, device="sim")
        session = Session(config=Config(cache=False), plugins={"toy": Toy()})
        a = np.arange(198, dtype=np.float32).reshape(3, 66)
        b = np.full_like(a, np.nan)
        wave_compile(options, kernel, session=session)(a, b)
        assert (b == a.reshape(3, 33, 2)[..., ::-1].reshape(3, 66)).all()

    return run


def test_a_plugin_with_rules_of_all_kinds_runs(launch):
    launch()


@pytest.mark.parametrize(
    ("place", "role"),
    [
        ("supply", "layout"),
        ("demand", "layout of operands"),
        ("expand", "expansion"),
        ("lower", "lowering"),
        ("step", "lowering"),
    ],
)
def test_a_rule_that_raises_is_the_error_of_its_plugin(launch, place, role):
    with pytest.raises(PluginError) as caught:
        launch(**{place: "raise KeyError('gone')"})
    (found,) = caught.value.diagnostics
    assert found.code == "WV0819"
    assert found.message == (
        f"the {role} of `toy.flip` by plugin `toy` failed: KeyError: 'gone'"
    )
    assert "flip(tkw.read(a))" in found.render()
    assert found.help == ("run without it: WAVE_DISABLE_PLUGINS=toy",)


@pytest.mark.parametrize(
    ("place", "statement", "why"),
    [
        ("supply", "return 3", "3 is no Placement"),
        (
            "supply",
            "return placed(Layout.make(64, 1, {'N': [Digit(3, 'lane', 1, 9)]}), {})",
            "of the 128 elements of a tile",
        ),
        (
            "supply",
            "return placed(Layout.make(64, 2, {'Q': [Digit(1, 'reg', 1, 2)]}), {})",
            "the layout has digits for Q",
        ),
        ("demand", "yield 'a'", "not enough values to unpack"),
        ("demand", "yield 5, solver.known(op)", "tuple index out of range"),
    ],
)
def test_a_rule_that_gives_what_cannot_be(launch, place, statement, why):
    with pytest.raises(PluginError, match="WV0819") as caught:
        launch(**{place: statement})
    assert why in caught.value.diagnostics[0].message
