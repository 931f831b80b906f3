"""What a pass has to do."""

from __future__ import annotations

from functools import cache
from functools import lru_cache
from typing import TYPE_CHECKING
from typing import ClassVar

import pytest

from wave_core.compile import Session
from wave_core.ir import first_difference
from wave_core.ir import parse_graph
from wave_core.ir import print_graph
from wave_core.ir import regions
from wave_testing.conformance.simulate import arguments_of
from wave_testing.conformance.simulate import check_outputs
from wave_testing.conformance.trial import Trial
from wave_testing.corpus import KERNELS

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping

    from wave_core.compile.kernels import KernelCase
    from wave_core.ir import Graph


class PassConformance:
    """Tests of one pass in its place in the pipeline; see the package.

    Attributes:
        pass_name: The pass. It is enabled if it is not so by default.
        options: Its options, by name.
        idempotent: Whether running it twice is running it once.
        idle: Whether it may leave every kernel as it is, as a check does. Otherwise
            some kernel has to change: add one to ``kernels`` on which it does.
        target: The machine.
        plugins: Plugins beside the installed ones: modules by name.
        kernels: What it is tried on: functions of the target's name, by name.
    """

    pass_name: ClassVar[str]
    options: ClassVar[Mapping[str, object]] = {}
    idempotent: ClassVar[bool] = True
    idle: ClassVar[bool] = False
    target: ClassVar[str] = "generic"
    plugins: ClassVar[Mapping[str, object]] = {}
    kernels: ClassVar[Mapping[str, Callable[[str], KernelCase]]] = KERNELS

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test that takes a kernel on all of them."""
        if "kernel" in metafunc.fixturenames:
            metafunc.parametrize("kernel", list(self.kernels))

    def trial(self, kernel: str) -> Trial:
        """The pass on one kernel, shared by the tests."""
        return _trial(type(self), kernel)

    def test_some_kernel_changes(self) -> None:
        """On kernels that it leaves alone, a pass passes every other test."""
        for kernel in self.kernels:
            trial = self.trial(kernel)
            if self.idle or _difference(trial.before, trial.after):
                return
        message = f"`{self.pass_name}` changes no kernel: add one to `kernels`"
        raise AssertionError(message)

    def test_declared_facts_hold(self, kernel: str) -> None:
        """The graph keeps the rules, and each fact not declared as clobbered."""
        trial = self.trial(kernel)
        spec = trial.entry.spec
        trial.after.verify()
        wanted = (trial.before.facts_present - spec.clobbers) | spec.provides
        found = trial.after.facts_present
        assert found == wanted, f"declared {sorted(wanted)}, has {sorted(found)}"

    def test_no_change_goes_unreported(self, kernel: str) -> None:
        """Analyses are kept where a pass says that it changed nothing."""
        trial = self.trial(kernel)
        found = _difference(trial.before, trial.after)
        assert trial.changed or found is None, f"says it changed nothing: {found}"

    def test_meaning_is_kept(self, kernel: str) -> None:
        """The graph computes the same before and after."""
        trial = self.trial(kernel)
        before, after = trial.outputs(trial.before), trial.outputs(trial.after)
        check_outputs(trial.case, after, before, f"after `{self.pass_name}`")

    def test_the_lowered_kernel_is_right(self, kernel: str) -> None:
        """The passes behind it accept what it leaves, and the result is right."""
        trial = self.trial(kernel)
        lowered = trial.after.clone()
        trial.finish(lowered)
        want = trial.case.reference(arguments_of(trial.case))
        check_outputs(trial.case, trial.outputs(lowered), want, "the lowered kernel")

    def test_a_second_run_changes_nothing(self, kernel: str) -> None:
        """What the pass leaves is as it wants it."""
        if not self.idempotent:
            pytest.skip("the pass does not claim to be idempotent")
        trial = self.trial(kernel)
        again = trial.after.clone()
        trial.apply(again)
        found = _difference(trial.after, again)
        assert found is None, f"the second run changes the graph: {found}"

    def test_two_runs_agree(self, kernel: str) -> None:
        """The same kernel becomes the same text."""
        trial = self.trial(kernel)
        again = trial.fresh()
        trial.apply(again)
        assert print_graph(again) == print_graph(trial.after)

    def test_locations_are_kept(self, kernel: str) -> None:
        """Every op says where in the author's file it comes from."""
        graph = self.trial(kernel).after
        found = [
            repr(op)
            for region in regions(graph.body)
            for op in (*region.arguments, *region.ops)
            if op.location is None
        ]
        assert not found, f"without a location: {', '.join(found)}"

    def test_the_text_is_the_graph(self, kernel: str) -> None:
        """What is printed parses to the same graph."""
        trial = self.trial(kernel)
        ops = trial.session.plugins.op_classes.values()
        parsed = parse_graph(print_graph(trial.after), ops)
        found = first_difference(trial.after, parsed)
        assert found is None, f"the text denotes another graph: {found}"


def _difference(left: Graph, right: Graph) -> str | None:
    """The first difference, but for the facts that the pass manager sets."""
    if left.facts_present != right.facts_present:
        right = right.clone()
        right.facts_present = set(left.facts_present)
    return first_difference(left, right)


@cache
def _session(cls: type[PassConformance]) -> Session:
    return Session(cls.plugins, announce=lambda _: None)


@lru_cache(maxsize=64)
def _trial(cls: type[PassConformance], kernel: str) -> Trial:
    case = cls.kernels[kernel](cls.target)
    return Trial(_session(cls), case, cls.pass_name, cls.options)
