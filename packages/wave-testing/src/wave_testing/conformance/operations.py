"""What an op has to do."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING
from typing import Any
from typing import ClassVar

import numpy as np
import pytest

from wave_core.compile import Session
from wave_core.diagnostics import UserError
from wave_core.ir import first_difference
from wave_core.ir import parse_graph
from wave_core.ir import print_graph
from wave_core.ops import Trait
from wave_core.passes import Phase
from wave_core.types import DTYPES
from wave_core.types import MemoryType
from wave_testing.conformance.one_op import SPACE
from wave_testing.conformance.one_op import OneOp
from wave_testing.conformance.one_op import build
from wave_testing.conformance.one_op import dims
from wave_testing.conformance.one_op import dtype_of
from wave_testing.conformance.one_op import emit
from wave_testing.conformance.one_op import empty_kernel
from wave_testing.conformance.one_op import lower
from wave_testing.conformance.one_op import parameter
from wave_testing.conformance.one_op import read
from wave_testing.conformance.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence

    from wave_core.ir import Graph
    from wave_core.ops import Op

    Array = np.ndarray[Any, np.dtype[Any]]

_CODE = re.compile(r"[A-Z]+\d{4}")

_SHAPE = (5, 70)
"""Extents of the operands: neither divides a tile."""

UNFIT = ("memory", "bool", "f64", "i32", "scalar")
"""What takes the place of each operand in turn."""


class OpConformance:
    """Tests of one op that computes a register from registers; see the package.

    Attributes:
        op: The class.
        attributes: Its attributes, by name.
        target: The machine.
        plugins: Plugins beside the installed ones: modules by name.
    """

    op: ClassVar[type[Op]]
    attributes: ClassVar[Mapping[str, object]] = {}
    target: ClassVar[str] = "generic"
    plugins: ClassVar[Mapping[str, object]] = {}

    def make_operands(self, rng: np.random.Generator) -> Sequence[Array]:
        """Arrays of one shape, one for each operand: f32 between -4 and 4."""
        count = len(self.op.operand_fields)
        return [rng.uniform(-4, 4, _SHAPE).astype(np.float32) for _ in range(count)]

    @property
    def session(self) -> Session:
        """The compiler session that the tests share."""
        return _session(type(self))

    @property
    def elementwise(self) -> bool:
        """Whether the op says that it works on each element by itself."""
        return Trait.ELEMENTWISE in self.op.traits

    def operands(self) -> list[Array]:
        """The operands, the same ones each time."""
        return list(self.make_operands(np.random.default_rng(0)))

    def kernel(self) -> OneOp:
        """The op in a kernel that reads its operands and writes its value."""
        return OneOp.make(self.op, self.attributes, self.operands(), self.target)

    def test_it_is_registered(self) -> None:
        """The session finds the op by its name."""
        assert self.session.plugins.op_classes.get(self.op.op_name) is self.op

    def test_it_is_documented(self) -> None:
        """The op and each of its fields say what they mean."""
        assert (self.op.__doc__ or "").strip(), "the class has no docstring"
        bare = [field.name for field in self.op.fields if not field.help]
        assert not bare, f"fields without help: {', '.join(bare)}"

    def test_the_text_is_the_op(self) -> None:
        """What is printed parses to the same graph."""
        graph = self.kernel().graph
        graph.verify()
        parsed = parse_graph(print_graph(graph), [self.op])
        found = first_difference(graph, parsed)
        assert found is None, f"the text denotes another graph: {found}"

    @pytest.mark.parametrize("unfit", UNFIT)
    def test_type_errors_are_coded(self, unfit: str) -> None:
        """Operands of other types are taken, or refused with a code."""
        for position in range(len(self.operands())):
            code = self.refusal(position, unfit)
            assert code is None or _CODE.fullmatch(code), f"the code is {code!r}"
            if self.elementwise and unfit == "memory":
                assert code, f"operand {position} may be a memory"

    def test_tiles_and_lanes_agree(self) -> None:
        """Both levels of the simulator compute the same, to the last bit."""
        tiles, lanes = self.run(Phase.INFER), self.run(None)
        np.testing.assert_array_equal(lanes, tiles)

    def test_tiles_are_like_whole_arrays(self) -> None:
        """An elementwise op means on a tile what it means on the whole array."""
        if not self.elementwise:
            pytest.skip("the op is not elementwise")
        kernel = self.kernel()
        want = kernel.op.evaluate(*kernel.operands)
        np.testing.assert_array_equal(self.run(Phase.INFER), want)

    def run(self, stop_after: str | None) -> Array:
        """What the kernel computes, lowered to some phase or to the end."""
        kernel = self.kernel()
        lower(self.session, kernel.graph, stop_after)
        output = kernel.output()
        simulate(self.session, kernel.graph, [*kernel.operands, output])
        return output

    def refusal(self, position: int, unfit: str) -> str | None:
        """The code with which the op refuses an operand; ``None`` if it takes it."""
        arrays = self.operands()
        shape = arrays[position].shape
        graph = empty_kernel(shape, self.target)
        values = [read(graph, a.shape, dtype_of(a)) for a in arrays]
        values[position] = _unfit(graph, unfit, shape, arrays[position])
        try:
            emit(graph, build(self.op, values, self.attributes))
        except UserError as error:
            return error.code
        return None


def _unfit(graph: Graph, unfit: str, shape: tuple[int, ...], like: Array) -> Op:
    if unfit == "memory":
        return parameter(graph, MemoryType(dims(len(shape)), SPACE, dtype_of(like)))
    if unfit == "scalar":
        return read(graph, (), dtype_of(like))
    return read(graph, shape, DTYPES[unfit])


@cache
def _session(cls: type[OpConformance]) -> Session:
    return Session(cls.plugins, announce=lambda _: None)
