"""Rules of plugins that fail, or give what cannot be: their plugin is named."""

from __future__ import annotations

import sys
from dataclasses import replace
from textwrap import dedent
from types import ModuleType

import numpy as np
import pytest

import wave_core.lang as tkw
from wave_core.compile import Config, Session, WaveCompileOptions, wave_compile
from wave_core.compile.emission import emit
from wave_core.diagnostics import PluginError, UserError
from wave_core.plugin import LoweringSpec, OpSet, TileRules, hookimpl
from wave_core.trace.surface import surface

M, N = tkw.sym.M, tkw.sym.N

RULES = """
import numpy as np
from wave_core.ops import rules
from wave_core.ops.base import Op, operand
from wave_core.ops.elementwise import Unary
from wave_core.ops.traits import Trait
from wave_core.plugin import lowers
from wave_core.plugin.tiles import *


class Flip(Op, name="toy.flip", traits={Trait.PURE, Trait.LAYS_OUT_ITSELF}):
    '''Neighbours exchanged.'''

    value: Op = operand(help="what is exchanged")

    def infer(self):
        INFER
        return rules.register_type(self, self.value, "value")

    def effects(self):
        EFFECTS
        return ()

    def evaluate(self, value):
        EVALUATE
        return value.reshape(*value.shape[:-1], -1, 2)[..., ::-1].reshape(value.shape)


class Twice(Unary, name="toy.twice"):
    '''Two times each element.'''

    def compute(self, np, value):
        COMPUTE
        return value + value


def fits(op):
    WHEN
    return True


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


@lowers(Flip, when=fits)
def flip(op, program):
    LOWER

    def step(machine):
        STEP
        value = machine.value(op.value)
        machine.values[op.ident] = value.rearranged(lambda data: data[..., ::-1])

    return step
"""

TILE_RULES = """
from toy_rules import Flip
from wave_core.plugin import lowers


@lowers(Flip)
def flip(op, state):
    TILE
    state.values[op.ident] = op.evaluate(state.values[op.value.ident])
"""

CODE_RULES = """
from toy_rules import Flip, Twice
from wave_backend_amdgpu.lowering import vector
from wave_core.plugin import lowers


@lowers(Flip)
def flip(op, emit):
    CODE
    value = emit.value(op.value)
    kind = vector(*value.kind)
    text = f"vector.shuffle {value.name}, {value.name} [1, 0] : {kind}, {kind}"
    emit.set(op, emit.builder.op(text))


@lowers(Twice)
def twice(op, emit):
    value = emit.value(op.value)
    total = emit.instructions.apply("addf", value.kind, value.name, value.name)
    emit.set(op, total)
"""

ASM_RULES = """
from toy_rules import Flip, Twice
from wave_backend_asm.lowering import MissingError, Operands, gathered, sliced
from wave_core.plugin import lowers


@lowers(Flip)
def flip(op, emit):
    value = emit.value(op.value)
    parts = [sliced(emit, value, at, 1) for at in (1, 0)]
    emit.set(op, gathered(emit, parts, value.item))


@lowers(Twice)
def twice(op, emit):
    ASM
    work, b = Operands(op, emit), emit.b
    words = [b.valu("v_add_f32", x, x) for x in b.words(*work.names)]
    work.finish(b.of(work.kind, words))
"""

MODULES = {
    "toy_rules": RULES,
    "toy_tiles": TILE_RULES,
    "toy_code": CODE_RULES,
    "toy_asm": ASM_RULES,
}
PLACES = [
    *("INFER", "EFFECTS", "EVALUATE", "COMPUTE", "WHEN", "SUPPLY", "DEMAND", "EXPAND"),
    *("LOWER", "STEP", "TILE", "CODE", "ASM"),
]
SHAPE = {M: 3, N: 66}


class Toy:
    """A plugin with one op that needs everything, and one that needs nothing."""

    REQUIRES_API = (1, 4)

    @hookimpl
    def wave_register_ops(self):
        yield OpSet("toy_rules:Flip")
        yield OpSet("toy_rules:Twice")

    @hookimpl
    def wave_register_tile_rules(self):
        yield TileRules("toy_rules")

    @hookimpl
    def wave_register_lowerings(self):
        yield LoweringSpec("sim", "toy_rules")
        yield LoweringSpec("sim-logical", "toy_tiles")
        yield LoweringSpec("amdgpu", "toy_code")
        yield LoweringSpec("asm", "toy_asm")


@pytest.fixture
def launch(monkeypatch):
    """Runs a kernel with the ops; keywords are statements that rules begin with."""

    def run(device="sim", **statements):
        for name, text in MODULES.items():
            source = text
            for place in PLACES:
                source = source.replace(place, statements.get(place.lower(), "pass"))
            module = ModuleType(name)
            monkeypatch.setitem(sys.modules, name, module)
            exec(dedent(source), vars(module))
        kernel = kernel_of(sys.modules["toy_rules"])
        session = Session(config=Config(cache=False), plugins={"toy": Toy()})
        options = WaveCompileOptions(subs=SHAPE, target="gfx942")
        if device == "amdgpu":
            assert "vector.shuffle" in text_of(emit(options, kernel, "mlir", session))
            return
        if device == "asm":
            options = replace(options, backend=device, device="emulator")
        else:
            options = replace(options, device=device)
        a = np.random.default_rng(7).standard_normal((3, 66), np.float32)
        b = np.full_like(a, np.nan)
        wave_compile(options, kernel, session=session)(a, b)
        assert (b == 2 * a.reshape(3, 33, 2)[..., ::-1].reshape(3, 66)).all()

    return run


def kernel_of(ops):
    """A kernel with each of the ops."""
    flip, twice = surface(ops.Flip, "flip"), surface(ops.Twice, "twice")
    memory = tkw.Memory[M, N, tkw.GLOBAL_ADDRESS_SPACE, tkw.f32]

    @tkw.wave(
        [
            tkw.WorkgroupConstraint(M, 2, 0),
            tkw.WorkgroupConstraint(N, 64, 1),
            tkw.HardwareConstraint(threads_per_wave=64),
        ]
    )
    def kernel(a: memory, b: memory):
        x = flip(tkw.read(a))
        tkw.write(twice(x), b)

    return kernel


def text_of(emitted):
    """All that was emitted."""
    return b"".join(emitted.files.values()).decode()


@pytest.mark.parametrize("device", ["sim", "sim-logical", "emulator", "amdgpu", "asm"])
def test_a_plugin_with_rules_of_all_kinds_runs(launch, device):
    launch(device)


LANES, TILES, CODE, ASM = "sim", "sim-logical", "amdgpu", "asm"
"""Where a rule runs."""


@pytest.mark.parametrize(
    ("place", "device", "role"),
    [
        ("supply", LANES, "layout"),
        ("demand", LANES, "layout of operands"),
        ("expand", LANES, "expansion"),
        ("when", LANES, "lowering"),
        ("lower", LANES, "lowering"),
        ("step", LANES, "lowering"),
        ("tile", TILES, "lowering"),
        ("code", CODE, "lowering"),
    ],
)
def test_a_rule_that_raises_is_the_error_of_its_plugin(launch, place, device, role):
    with pytest.raises(PluginError) as caught:
        launch(device, **{place: "raise KeyError('gone')"})
    (found,) = caught.value.diagnostics
    assert found.code == "WV0819"
    assert found.message == (
        f"the {role} of `toy.flip` by plugin `toy` failed: KeyError: 'gone'"
    )
    assert "flip(tkw.read(a))" in found.render()
    assert found.help == ("run without it: WAVE_DISABLE_PLUGINS=toy",)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("place", "device", "role", "op"),
    [
        ("infer", LANES, "type rule", "flip"),
        ("effects", LANES, "rule for effects", "flip"),
        ("evaluate", TILES, "meaning", "flip"),
        ("compute", LANES, "meaning", "twice"),
        ("compute", TILES, "meaning", "twice"),
    ],
)
def test_a_class_that_raises_is_the_error_of_its_package(
    launch, place, device, role, op
):
    with pytest.raises(PluginError) as caught:
        launch(device, **{place: "raise KeyError('gone')"})
    (found,) = caught.value.diagnostics
    assert found.code == "WV0819"
    assert found.message == (
        f"the {role} of `toy.{op}` by package `toy_rules` failed: KeyError: 'gone'"
    )
    assert found.notes == (f"in `toy_rules.{op.title()}.{place}`",)
    assert f"{op}(" in found.render()
    assert isinstance(caught.value.__cause__, KeyError)


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
        ("demand", "yield 0, 7", "7 is no Placement"),
        ("expand", "return None", "it defines no piece"),
        ("expand", "return expander.emit(op, 5, scope)", "AttributeError"),
        ("lower", "return None", "it gives None, no step"),
        ("lower", "return 5", "it gives 5, no step"),
        ("lower", "yield 5", "no step"),
        ("lower", "return lambda machine: None", "it leaves None as the value"),
        ("step", "return", "it leaves None as the value"),
        (
            "step",
            "machine.values[op.ident] = machine.value(op.value).data; return",
            "it leaves array([[",
        ),
    ],
)
def test_a_rule_that_gives_what_cannot_be(launch, place, statement, why):
    expect_fault(launch, "sim", place, statement, why)


def expect_fault(launch, device, place, statement, why):
    """See that a rule with this statement is an error of plugins that says why."""
    with pytest.raises(PluginError, match="WV0819") as caught:
        launch(device, **{place: statement})
    assert why in caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("lambda x: x[:, :3]", "it leaves the shape"),
        ("lambda x: x[0]", "it leaves the shape"),
        ("lambda x: np.repeat(x, 3, 2)", "it leaves the shape"),
        (
            "lambda x: x.astype(np.float64)",
            "it leaves elements of float64, not float32",
        ),
    ],
)
def test_a_step_that_leaves_another_value(launch, change, why):
    statement = (
        f"machine.values[op.ident] = machine.value(op.value).rearranged({change})"
    )
    expect_fault(launch, "sim", "step", f"{statement}; return", why)


@pytest.mark.parametrize(
    ("device", "place", "statement", "why"),
    [
        (LANES, "infer", "return 5", "5 is no type"),
        (LANES, "effects", "return None", "None is no tuple of effects"),
        (LANES, "compute", "return None", "it gives None, no array"),
        (LANES, "compute", "return value[..., :1, :]", "it gives the shape"),
        (TILES, "evaluate", "return None", "it gives None, no array"),
        (TILES, "evaluate", "return value.ravel()", "it gives 1 axes, for 2 dims"),
        (TILES, "tile", "return None", "it leaves None as the value"),
        (CODE, "code", "return None", "it records no value"),
        (CODE, "code", "return emit.set(op, '%x', 7)", "it records 7 x f32, not 2 x"),
        (CODE, "code", "emit.value(op)", "[WV9905]"),
        (ASM, "asm", "raise KeyError('gone')", "KeyError: 'gone'"),
        (ASM, "asm", "return None", "it records no value"),
        (ASM, "asm", "emit.b.valu('w_add', 1)", "no instruction `w_add`"),
        (ASM, "asm", "emit.b.say('v_ad_f32', (), (1,))", "refuses v_ad_f32 1: "),
        (ASM, "asm", "emit.b.say('v_prng_b32', (), (1,))", "refuses v_prng_b32 1: "),
    ],
)
def test_an_op_that_gives_what_cannot_be(launch, device, place, statement, why):
    expect_fault(launch, device, place, statement, why)


def test_a_form_that_a_rule_has_no_instructions_for_is_refused(launch):
    with pytest.raises(UserError) as refused:
        launch(ASM, asm="raise MissingError('an odd one')")
    (found,) = refused.value.diagnostics
    assert found.code == "WV0610"
    assert found.message == (
        "backend `asm` selects no instructions of gfx942 for `toy.twice`"
    )
    assert found.notes == ("an odd one",)
    assert found.help == (
        "leave out `backend='asm'`: the MLIR path compiles it, if it has a rule",
        "or register a rule for `asm`: `wave_backend_asm.lowering` has what it needs",
    )
    assert "twice(x)" in found.render()
