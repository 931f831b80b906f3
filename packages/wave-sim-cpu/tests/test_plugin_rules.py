"""Ops of plugins: rules over the simulators' own, looked up by the nearest class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lowered import WG, Kernel, flat
from tiles import F32, M, Tiles, spread

from wave_core.backends import LoweringTable, lowers
from wave_core.constraints.machine import LANE
from wave_core.diagnostics import UserError
from wave_core.executors import LaunchRequest, LaunchSettings
from wave_core.ir.graph import Graph
from wave_core.ops.arithmetic import Neg
from wave_core.ops.base import Op, operand
from wave_core.ops.memory import Read, Write
from wave_core.ops.traits import Trait
from wave_core.targets import generic_target
from wave_core.types import Type
from wave_sim_cpu.executor import LaneExecutor, TileExecutor

LEVELS = {"sim": LaneExecutor, "sim-logical": TileExecutor}
START = np.arange(128, dtype=np.float32)


class Turn(Op, name="test.turn", traits={Trait.PURE, Trait.FOLLOWS_OPERANDS}):
    """The elements in the opposite order, 64 by 64."""

    value: Op = operand()

    def infer(self) -> Type | None:
        return self.value.type


class Told(Turn, name="test.told"):
    """The same, and says so itself."""

    def evaluate(self, *operands: Any) -> Any:
        return operands[0][..., ::-1]


class Loud(Neg, name="test.loud"):
    """A negation with rules of its own."""


@lowers(Turn)
def turn_lanes(op: Turn, program: Any) -> Any:
    def step(machine: Any) -> None:
        value = machine.value(op.value)
        machine.values[op.ident] = value.rearranged(lambda data: data[:, ::-1])

    return step


@lowers(Turn)
def turn_tile(op: Turn, state: Any) -> None:
    state.values[op.ident] = state.values[op.value.ident][..., ::-1]


@lowers(Loud)
def loud_lanes(op: Loud, program: Any) -> Any:
    def step(machine: Any) -> None:
        value = machine.value(op.value)
        machine.values[op.ident] = value.rearranged(lambda data: data * 100)

    return step


@lowers(Loud)
def loud_tile(op: Loud, state: Any) -> None:
    state.values[op.ident] = state.values[op.value.ident] * 100


@lowers(Neg, when=lambda op: isinstance(op, Told))
def never(op: Op, where: Any) -> Any:
    raise AssertionError(op)


RULES = {
    "sim": (turn_lanes, loud_lanes, never),
    "sim-logical": (turn_tile, loud_tile, never),
}


def lane_graph(op: type[Op]) -> Graph:
    kernel = Kernel(groups=2, M=128)
    a, b = (kernel.parameter(name, (128,), F32) for name in "ab")
    value = kernel.add(op(kernel.read(a, (64 * WG + LANE,))), flat(1))
    kernel.write(value, b, (64 * WG + LANE,))
    return kernel.finish()


def tile_graph(op: type[Op]) -> Graph:
    tiles = Tiles(*spread(M, 64, 0, 64), M=128)
    a, b = (tiles.parameter(name, (M,), F32) for name in "ab")
    tiles.add(Write(tiles.add(op(tiles.add(Read(a)))), b))
    return tiles.finish()


GRAPHS = {"sim": lane_graph, "sim-logical": tile_graph}


def run(level: str, op: type[Op], rules: Any = (), **unsupported: str) -> Any:
    named = {name.replace("_", "."): why for name, why in unsupported.items()}
    table = LoweringTable.of(level, rules, named)
    b = np.zeros_like(START)
    graph = GRAPHS[level](op)
    settings = LaunchSettings(lowerings=table)
    request = LaunchRequest.of(graph, generic_target(), (START, b), settings=settings)
    LEVELS[level]().launch(request)
    return b


each_level = pytest.mark.parametrize("level", LEVELS)


@each_level
@pytest.mark.parametrize("op", [Turn, Told])
def test_rules_of_plugins_reach_the_simulators(level: str, op: type[Op]) -> None:
    turned = START.reshape(2, 64)[:, ::-1].reshape(-1)
    np.testing.assert_array_equal(run(level, op, RULES[level]), turned)


@each_level
def test_the_nearest_class_counts(level: str) -> None:
    rules = RULES[level]
    np.testing.assert_array_equal(run(level, Loud, rules), 100 * START)
    np.testing.assert_array_equal(run(level, Neg, rules), -START)
    np.testing.assert_array_equal(run(level, Loud), -START)


@each_level
def test_a_rule_of_a_plugin_goes_before_the_simulators_own(level: str) -> None:
    rule = lowers(Neg)(RULES[level][1].function)
    np.testing.assert_array_equal(run(level, Neg, [rule]), 100 * START)


@each_level
def test_an_op_without_a_rule_is_refused_with_the_reason(level: str) -> None:
    with pytest.raises(UserError, match="nobody asked") as caught:
        run(level, Turn, test_turn="nobody asked")
    assert caught.value.code == "WV0912"


def test_tiles_fall_back_to_evaluate_and_lanes_do_not() -> None:
    turned = START.reshape(2, 64)[:, ::-1].reshape(-1)
    np.testing.assert_array_equal(run("sim-logical", Told), turned)
    with pytest.raises(UserError) as caught:
        run("sim", Told)
    assert caught.value.code == "WV0912"
