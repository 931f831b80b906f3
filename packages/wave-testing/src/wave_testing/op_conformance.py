"""Conformance of ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from wave_core.compile import Session, WaveCompileOptions, wave_compile
from wave_core.diagnostics import WaveError
from wave_core.ir import Graph, first_difference, parse_graph

if TYPE_CHECKING:
    from wave_core.lang import LaunchableWave

_SEED = 20


@dataclass(frozen=True, kw_only=True)
class OpExample:
    """A kernel that uses an op, with arguments.

    Attributes:
        kernel: What the ``wave`` decorator makes.
        subs: Values of its symbols, by name or symbol.
        arguments: Fresh arguments from a random generator, outputs allocated.
        outputs: Positions of the outputs among them.
        expected: From the arguments to what the outputs should hold; by default
            only tiles and lanes are compared with each other.
        tolerance: Largest difference between tiles and lanes, in units of the
            largest element; 0 asks for equal bits.
    """

    kernel: LaunchableWave
    arguments: Callable[[np.random.Generator], Sequence[Any]]
    outputs: tuple[int, ...]
    subs: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    expected: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    tolerance: float = 0.0


class OpConformance:
    """Tests of every op; a subclass named ``Test...`` names one.

    Attributes:
        op_name: The op, as its text form has it.
        misuses: Functions that use the op wrongly: each must raise a coded error.
        plugins: Plugins beside the installed ones: modules by name.
    """

    op_name: ClassVar[str]
    misuses: ClassVar[Sequence[Callable[[], object]]] = ()
    plugins: ClassVar[Mapping[str, object]] = {}

    def example(self) -> OpExample:
        """A kernel that uses the op; every subclass has one."""
        raise NotImplementedError

    @pytest.fixture
    def session(self) -> Session:
        """A session that has the op."""
        return Session(self.plugins)

    def run(self, session: Session, device: str) -> tuple[list[Any], list[Any]]:
        """The arguments before and after a launch of the example."""
        example = self.example()
        arguments = list(example.arguments(np.random.default_rng(_SEED)))
        before = [np.array(a) for a in arguments]
        options = WaveCompileOptions(subs=example.subs, device=device)
        wave_compile(options, example.kernel, session=session)(*arguments)
        return before, arguments

    def traced(self) -> Graph:
        """The graph of the example."""
        example = self.example()
        return example.kernel.trace(example.subs)

    def test_the_example_uses_the_op(self) -> None:
        """Otherwise the other tests would say nothing."""
        assert self.op_name in {op.op_name for op in self.traced().walk()}

    def test_it_is_registered_and_documented(self, session: Session) -> None:
        """By name, with a first line that says what it means."""
        found = session.plugins.op_classes[self.op_name]
        assert (found.__doc__ or "").strip(), f"`{self.op_name}` says not what it means"

    def test_the_text_reads_back(self, session: Session) -> None:
        """The text form denotes the same graph."""
        graph = self.traced()
        parsed = parse_graph(str(graph), session.plugins.op_classes.values())
        assert first_difference(graph, parsed) is None

    def test_the_type_follows_from_the_operands(self) -> None:
        """The type rule gives what the op has."""
        ops = [op for op in self.traced().walk() if op.op_name == self.op_name]
        assert [op.infer() for op in ops] == [op.type for op in ops]

    def test_tiles_and_lanes_agree(self, session: Session) -> None:
        """The op's meaning on whole tiles is what lanes compute."""
        example = self.example()
        _, tiles = self.run(session, "sim-logical")
        _, lanes = self.run(session, "sim")
        for position in example.outputs:
            _close(lanes[position], tiles[position], example.tolerance)

    def test_the_result_is_right(self, session: Session) -> None:
        """Against the example's own reference, where it has one."""
        example = self.example()
        if example.expected is None:
            return
        before, after = self.run(session, "sim")
        wanted = example.expected(before)
        for position, expected in zip(example.outputs, wanted, strict=True):
            _close(after[position], np.asarray(expected), example.tolerance)

    def test_misuse_is_a_coded_error(self) -> None:
        """Wrong operands are the user's mistake, and the user is told so."""
        for misuse in self.misuses:
            with pytest.raises(WaveError) as caught:
                misuse()
            assert caught.value.diagnostics[0].code, "the error has no code"


def _close(found: Any, wanted: Any, tolerance: float) -> None:
    one, other = (np.asarray(a).astype(np.float64) for a in (found, wanted))
    unit = float(np.abs(other[np.isfinite(other)]).max(initial=0.0)) or 1.0
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    with np.errstate(invalid="ignore"):
        near = np.abs(one - other) <= tolerance * unit
    wrong = np.argwhere(~(same | near))
    assert not wrong.size, f"{len(wrong)} elements differ, first at {wrong[0]}"
