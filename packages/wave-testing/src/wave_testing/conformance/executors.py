"""What an executor has to do."""

from __future__ import annotations

from functools import cache
from functools import lru_cache
from typing import TYPE_CHECKING
from typing import Any
from typing import ClassVar
from typing import cast

import numpy as np

from wave_core.compile import Session
from wave_core.passes import PassContext
from wave_core.plugin.plan import plan_pipeline
from wave_core.plugin.results import PipelineRequest
from wave_testing.conformance.simulate import arguments_of
from wave_testing.conformance.simulate import check_outputs
from wave_testing.conformance.simulate import check_reports
from wave_testing.conformance.simulate import need_executor
from wave_testing.conformance.simulate import outputs_of
from wave_testing.corpus import KERNELS
from wave_testing.corpus import Sizes
from wave_testing.corpus import corpus_case

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping
    from collections.abc import Sequence

    import pytest

    from wave_core.compile.kernels import KernelCase
    from wave_core.ir import Graph
    from wave_core.passes.base import GraphLike

    Array = np.ndarray[Any, np.dtype[Any]]

GAP = 77
"""What lies between the elements of strided arguments."""


class ExecutorConformance:
    """Tests of one executor, on numpy arrays; see the package.

    Attributes:
        executor: Its name, as in ``device=``.
        target: The machine that kernels are compiled for.
        plugins: Plugins beside the installed ones: modules by name.
        kernels: What it is tried on: functions of the target's name, by name.
    """

    executor: ClassVar[str]
    target: ClassVar[str] = "generic"
    plugins: ClassVar[Mapping[str, object]] = {}
    kernels: ClassVar[Mapping[str, Callable[[str], KernelCase]]] = KERNELS

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test that takes a kernel on all of them."""
        if "kernel" in metafunc.fixturenames:
            metafunc.parametrize("kernel", list(self.kernels))

    @property
    def session(self) -> Session:
        """The compiler session that the tests share."""
        return _session(type(self))

    def lower(self, case: KernelCase) -> Graph:
        """The graph as the executor wants it."""
        need_executor(self.session, self.executor)
        spec = self.session.plugins.executors[self.executor].value
        return _lowered(self.session, case, spec.stop_after)

    def run(self, graph: Graph, arguments: Sequence[Any]) -> None:
        """Launch once; outputs are written in place."""
        plugins = self.session.plugins
        options = {
            "target": self.session.target(self.target),
            "lowerings": plugins.lowering_table(self.executor),
        }
        executor = plugins.load_executor(self.executor)
        check_reports(executor.run(graph, arguments, {}, options))

    def launched(self, kernel: str, arguments: Sequence[Any] | None = None) -> Launch:
        """A kernel that has run on its usual arguments, or on others."""
        case, graph = _prepared(type(self), kernel)
        given = arguments_of(case) if arguments is None else list(arguments)
        self.run(graph, given)
        return Launch(case, given)

    def test_results_are_right(self, kernel: str) -> None:
        """Outputs are what the reference says."""
        self.launched(kernel).check()

    def test_two_launches_agree(self, kernel: str) -> None:
        """Outputs are the same to the last bit."""
        first, second = self.launched(kernel), self.launched(kernel)
        for one, other in zip(first.outputs, second.outputs, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_inputs_stay_as_they_are(self, kernel: str) -> None:
        """Only outputs are written."""
        launch = self.launched(kernel)
        for before, now in zip(
            launch.inputs_of(arguments_of(launch.case)),
            launch.inputs_of(launch.arguments),
            strict=True,
        ):
            np.testing.assert_array_equal(now, before)

    def test_strided_arguments(self, kernel: str) -> None:
        """Views of larger arrays are read and written where their elements are."""
        case, _ = _prepared(type(self), kernel)
        views = [strided(array) for array in arguments_of(case)]
        self.launched(kernel, views).check()
        for view in views:
            assert (gaps(view) == GAP).all(), "an element beside the view is written"

    def test_empty_grid(self) -> None:
        """Without a workgroup nothing happens."""
        case = corpus_case("copy", self.target, Sizes(0, 70))
        self.run(self.lower(case), arguments_of(case))

    def test_empty_loop(self) -> None:
        """A loop without iterations gives what it starts with."""
        case = corpus_case("gemm", self.target, Sizes(5, 6, k=0))
        arguments = arguments_of(case)
        self.run(self.lower(case), arguments)
        assert (outputs_of(case, arguments)[0] == 0).all()


class Launch:
    """A kernel that has run, with its arguments."""

    def __init__(self, case: KernelCase, arguments: list[Any]) -> None:
        """Keep both."""
        self.case = case
        self.arguments = arguments

    @property
    def outputs(self) -> list[Array]:
        """The outputs."""
        return outputs_of(self.case, self.arguments)

    def inputs_of(self, arguments: Sequence[Any]) -> list[Any]:
        """The inputs among some arguments."""
        written = {position % len(arguments) for position in self.case.outputs}
        return [a for i, a in enumerate(arguments) if i not in written]

    def check(self) -> None:
        """See that the outputs are right.

        Raises:
            AssertionError: where they are not.
        """
        want = self.case.reference(arguments_of(self.case))
        check_outputs(self.case, self.outputs, want, "the output")


def strided(array: Array) -> Array:
    """The same elements as a view: axes stored in reverse, with gaps in between."""
    shape = tuple(2 * extent for extent in reversed(array.shape))
    wide = np.full(shape, GAP, array.dtype)
    view = wide.T[(slice(None, None, 2),) * array.ndim]
    view[...] = array
    return view


def gaps(view: Array) -> Array:
    """What lies between the elements of a view that `strided` made."""
    wide = cast("Array", view.base)
    beside = np.ones(wide.shape, bool)
    beside.T[(slice(None, None, 2),) * view.ndim] = False
    return wide[beside]


@cache
def _session(cls: type[ExecutorConformance]) -> Session:
    return Session(cls.plugins, announce=lambda _: None)


@lru_cache(maxsize=64)
def _prepared(cls: type[ExecutorConformance], kernel: str) -> tuple[KernelCase, Graph]:
    case = cls.kernels[kernel](cls.target)
    return case, cls().lower(case)


def _lowered(session: Session, case: KernelCase, stop_after: str | None) -> Graph:
    target = session.target(case.options.target)
    plan = plan_pipeline(
        session.plugins, PipelineRequest(target.name, case.kernel.name)
    )
    graph = case.kernel.trace(case.options.bindings, target=target.name)
    context = PassContext(target)
    plan.runner().run(cast("GraphLike", graph), context, stop_after)
    return graph
